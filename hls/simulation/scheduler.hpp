#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "simulation/channel.hpp"
#include "simulation/fault.hpp"
#include "simulation/fiber.hpp"
#include "simulation/settings.hpp"
#include "simulation/timed_task.hpp"

namespace fr {
namespace sim {

/// A task that waits in a network that stands still.
struct Blocked {
  const Task* task;
  const Channel* channel;
  Wait wait;
  unsigned long frame;
  Cycle cycle;
};

/// Runs the tasks of the network as fibers; knows every stream and task.
class Scheduler {
 public:
  static Scheduler& instance() {
    static Scheduler scheduler;
    return scheduler;
  }

  Settings settings;
  unsigned long frames = 1;
  std::deque<Task> tasks;
  std::vector<Channel*> channels;

  /// Called when all streams and tasks are known.
  std::function<void()> on_start = [] {};
  /// Called once when the network first stands still, before anything is changed.
  std::function<void()> on_deadlock = [] {};
  /// Called at the end, while the streams still exist.
  std::function<void()> on_end = [] {};
  /// Asked now and then whether to stop early.
  bool (*interrupted)() = [] { return false; };

  /// The tasks that wait in a deadlock; empty if there was none.
  std::vector<Blocked> blocked;
  /// The waits that close a circle among them, each waiting for the next one's task.
  std::vector<Blocked> circle;

  void add_channel(Channel* channel) { channels.push_back(channel); }

  void remove_channel(Channel* channel) {
    channels.erase(std::remove(channels.begin(), channels.end(), channel), channels.end());
  }

  /// `body` outlives the run.
  template <class Callable>
  void add_task(const char* name, Callable& body) {
    using Plain = std::remove_const_t<Callable>;
    add_body(name,
             {[](void* state) { (*static_cast<Plain*>(state))(); }, const_cast<Plain*>(&body)});
  }

  [[gnu::noinline]] void add_body(const char* name, const TaskBody& body) {
    Task& task = tasks.emplace_back(name, body);
    task.pipeline_depth = settings.pipeline_depth(task.name);
    task.restart = settings.restart;
    task.drains = settings.drains(task.name);
    task.suspend = [] { instance().suspend(); };
    task.wake = [](Task* woken) { instance().make_ready(woken); };
  }

  Task& current() {
    if (current_ == nullptr) {
      throw Fault(
          "a stream is used outside every task: the top function only declares streams and "
          "calls tasks");
    }
    return *current_;
  }

  /// Runs every task for all frames and forgets them; ends early in a deadlock or when interrupted.
  void run() {
    on_start();
    bind_ends();
    blocked.clear();
    circle.clear();
    for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
      task->fiber = std::make_unique<Fiber>(&Scheduler::enter, &*task);
      make_ready(&*task);
    }
    resume();
    while (!finished() && !interrupted()) {
      if (!grow_one()) {
        if (!blocked.empty()) break;
        record_deadlock();
        if (!settings.ends.empty()) break;  // the circle is known already
        unbind_depths();
      }
      resume();
    }
    if (blocked.empty()) {
      for (Channel* channel : channels) channel->finish();
    } else {
      circle = find_circle(blocked);
    }
    on_end();
    tasks.clear();
    ready_.clear();
  }

  bool finished() const {
    return std::all_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.finished; });
  }

 private:
  static void enter(void* argument) {
    Task* task = static_cast<Task*>(argument);
    try {
      task->run(instance().frames);
    } catch (...) {
      instance().fault_ = std::current_exception();
    }
    for (;;) instance().suspend();
  }

  void suspend() {
    Fiber& self = *current_->fiber;
    Fiber* next = &main_;
    current_ = nullptr;
    if (!ready_.empty() && !fault_ && !interrupted()) {
      next = &take_ready();
    }
    Fiber::switch_to(self, *next);
  }

  void make_ready(Task* task) {
    if (task->queued) return;
    task->queued = true;
    ready_.push_back(task);
  }

  // The task made ready last goes on first: what woke it is still in the processor's cache.
  Fiber& take_ready() {
    current_ = ready_.back();
    ready_.pop_back();
    current_->queued = false;
    return *current_->fiber;
  }

  void resume() {
    if (ready_.empty()) return;
    Fiber::switch_to(main_, take_ready());
    if (fault_) std::rethrow_exception(fault_);
  }

  static Blocked blocked_state(const Task& task) {
    return {&task, task.waiting_for, task.wait, static_cast<unsigned long>(task.frames.size() - 1),
            task.now()};
  }

  std::vector<Blocked> blocked_now() const {
    std::vector<Blocked> all;
    for (const Task& task : tasks) {
      if (!task.finished) all.push_back(blocked_state(task));
    }
    return all;
  }

  void record_deadlock() {
    blocked = blocked_now();
    for (Channel* channel : channels) channel->finish();
    on_deadlock();
  }

  // Lets the network run on without limits. A stream's ends become known when they are first used,
  // so afterwards the circle of waits can be closed; and a network that still stops lacks tokens.
  void unbind_depths() {
    for (Channel* channel : channels) {
      channel->depth = kUnlimited;
      if (channel->waiting_writer != nullptr) wake_writer(*channel);
    }
  }

  void wake_writer(Channel& channel) {
    make_ready(channel.waiting_writer);
    channel.waiting_writer = nullptr;
  }

  // Gives one slot to a full stream of the circle that the settings allow to grow.
  bool grow_one() {
    if (settings.growable.empty() || !blocked.empty()) return false;
    for (const Blocked& wait : find_circle(blocked_now())) {
      if (wait.wait != Wait::kFull || settings.growable.count(wait.channel->name) == 0) continue;
      ++wait.task->waiting_for->depth;
      wake_writer(*wait.task->waiting_for);
      return true;
    }
    return false;
  }

  // Each blocked task waits for the task at the other end of its stream. Following that from any
  // of them ends in a circle, or at a task that has finished or is not known.
  static std::vector<Blocked> find_circle(const std::vector<Blocked>& waits) {
    const auto wait_of = [&waits](const Task* task) {
      return std::find_if(waits.begin(), waits.end(),
                          [task](const Blocked& wait) { return wait.task == task; });
    };
    std::vector<Blocked> path;
    auto at = waits.begin();
    while (at != waits.end()) {
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i].task != at->task) continue;
        path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i));
        return path;
      }
      path.push_back(*at);
      at = wait_of(at->wait == Wait::kEmpty ? at->channel->writer : at->channel->reader);
    }
    return {};
  }

  void bind_ends() {
    for (Channel* channel : channels) {
      const auto found = settings.ends.find(channel->name);
      if (found == settings.ends.end()) continue;
      for (Task& task : tasks) {
        if (task.name == found->second.writer) channel->writer = &task;
        if (task.name == found->second.reader) channel->reader = &task;
      }
    }
  }

  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

  Fiber main_;
  Task* current_ = nullptr;
  std::vector<Task*> ready_;  ///< a stack; the first task of the network starts on top
  std::exception_ptr fault_;
};

}  // namespace sim
}  // namespace fr
