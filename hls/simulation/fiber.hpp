#pragma once

/// Fibers: functions with their own stack that hand control to each other by name.
///
/// The switch is hand-written for x86-64 and aarch64 ELF targets (about 10 ns). Elsewhere, or with
/// FR_FIBER_UCONTEXT, it is POSIX swapcontext (about 350 ns, it makes system calls).

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#if !defined(FR_FIBER_UCONTEXT) && \
    !(defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)))
#  define FR_FIBER_UCONTEXT
#endif

#ifdef FR_FIBER_UCONTEXT
#  include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#  define FR_FIBER_ASAN
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define FR_FIBER_ASAN
#  endif
#endif

#ifdef FR_FIBER_ASAN
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif

#ifndef FR_FIBER_UCONTEXT

// void fr_fiber_switch(void** save, void* load): pushes the callee-saved registers, stores the
// stack pointer in *save, takes `load` as stack pointer and pops the same registers from it. Weak,
// because every translation unit that includes this header emits it.
extern "C" void fr_fiber_switch(void** save, void* load);

#  if defined(__x86_64__)
__asm__(
    ".text\n"
    ".weak fr_fiber_switch\n"
    ".type fr_fiber_switch,@function\n"
    "fr_fiber_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size fr_fiber_switch,.-fr_fiber_switch\n");
#  else
__asm__(
    ".text\n"
    ".weak fr_fiber_switch\n"
    ".type fr_fiber_switch,%function\n"
    "fr_fiber_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n"
    ".size fr_fiber_switch,.-fr_fiber_switch\n");
#  endif

#endif  // FR_FIBER_UCONTEXT

namespace fr {
namespace sim {

/// One fiber, or (default constructed) the thread's own stack.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;

  /// `entry(argument)` runs at the first switch here; it must never return.
  Fiber(Entry entry, void* argument) : entry_(entry), argument_(argument) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = kStackBytes + page;
    // Pages are committed when touched; the lowest page is a guard that turns an overflow into a
    // fault instead of silent corruption.
    void* memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    mprotect(memory_, page, PROT_NONE);
    stack_ = memory_ + page;
    stack_bytes_ = kStackBytes;
    prepare();
  }

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  ~Fiber() {
    if (memory_ == nullptr) return;
#ifdef FR_FIBER_ASAN
    // An abandoned fiber never left its scopes; the next mapping here must not inherit them.
    __asan_unpoison_memory_region(memory_, mapped_);
#endif
    munmap(memory_, mapped_);
  }

  /// Leaves `from`, continues `to`; returns when something switches back to `from`.
  static void switch_to(Fiber& from, Fiber& to) {
    arriving() = &to;
#ifdef FR_FIBER_ASAN
    leaving() = &from;
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_bytes_);
#endif
#ifdef FR_FIBER_UCONTEXT
    swapcontext(&from.context_, &to.context_);
#else
    fr_fiber_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
    from.arrive();
  }

 private:
  static constexpr std::size_t kStackBytes = 1 << 20;

  // The fiber of the switch under way: a new fiber starts without arguments and finds itself here.
  static Fiber*& arriving() {
    static Fiber* fiber = nullptr;
    return fiber;
  }

  [[noreturn]] static void enter() {
    arriving()->arrive();
    arriving()->run();
  }

  [[noreturn]] void run() {
    entry_(argument_);
    std::abort();
  }

#ifdef FR_FIBER_ASAN
  static Fiber*& leaving() {
    static Fiber* fiber = nullptr;
    return fiber;
  }

  // Tells the sanitizer which stack is in use, and learns the bounds of the thread's own stack.
  void arrive() {
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
    if (leaving()->memory_ != nullptr) return;
    leaving()->stack_ = static_cast<char*>(const_cast<void*>(bottom));
    leaving()->stack_bytes_ = bytes;
  }

  void* fake_stack_ = nullptr;
#else
  void arrive() {}
#endif

#ifdef FR_FIBER_UCONTEXT
  void prepare() {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = stack_bytes_;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fiber::enter, 0);
  }

  ucontext_t context_;
#else
  // The frame that fr_fiber_switch pops: zero registers and `enter` as the return address.
  void prepare() {
    void** top = reinterpret_cast<void**>(stack_ + stack_bytes_);
    void* const entry = reinterpret_cast<void*>(&Fiber::enter);
#  if defined(__x86_64__)
    // A function expects its stack pointer 8 below a multiple of 16: one empty slot stays above.
    constexpr std::ptrdiff_t kWords = 8;
    constexpr std::ptrdiff_t kReturn = 6;
#  else
    constexpr std::ptrdiff_t kWords = 20;
    constexpr std::ptrdiff_t kReturn = 11;
#  endif
    void** frame = top - kWords;
    for (std::ptrdiff_t i = 0; i < kWords; ++i) frame[i] = nullptr;
    frame[kReturn] = entry;
    stack_pointer_ = frame;
  }

  void* stack_pointer_ = nullptr;
#endif

  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  char* memory_ = nullptr;
  char* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace sim
}  // namespace fr
