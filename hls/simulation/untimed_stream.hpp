#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "simulation/network.hpp"

namespace fr {

/// FIFO of the untimed native simulation: unbounded, because tasks run one after the other, each
/// to its end, so a stream holds all tokens of a frame at once.
///
/// A named stream takes part in the end-of-frame checks and dumps and keeps its memory from frame
/// to frame; an unnamed one (a port, a unit test) is private to its owner.
template <class T>
class stream final : public sim::StreamBase {
 public:
  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// `depth` bounds the stream in hardware and in the cycle-level simulation only.
  void set_name(std::string stream_name, std::size_t /*depth*/) {
    registered_ = true;
    name = std::move(stream_name);
    sim::RetainedBuffer& kept = sim::Network::instance().retained(name);
    storage_ = std::move(kept.memory);
    adopt(kept.capacity, 0);
    kept.capacity = 0;
    sim::Network::instance().add(this);
  }

  ~stream() override {
    if (!registered_) return;
    sim::Network::instance().remove(this);
    sim::RetainedBuffer& kept = sim::Network::instance().retained(name);
    kept.capacity = static_cast<std::size_t>(end_ - begin_);
    kept.memory = std::move(storage_);
  }

  bool empty() const { return head_ == tail_; }

  T read() { return read_ref(); }

  /// The next token without a copy; valid until the next write to this stream.
  const T& read_ref() {
    if (head_ == tail_) fail_empty();
    return *head_++;
  }

  void write(const T& value) {
    if (tail_ == end_) make_room();
    *tail_++ = value;
  }

  std::size_t pending() const override { return static_cast<std::size_t>(tail_ - head_); }

  void dump(std::FILE* file) const override {
    sim::write_bytes(file, begin_, static_cast<std::size_t>(tail_ - begin_) * sizeof(T),
                     "the dump of stream '" + name + "'");
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail_empty() const {
    sim::Network& network = sim::Network::instance();
    throw sim::Fault("task '" + std::string(network.task()) + "' reads stream '" +
                     (name.empty() ? std::string("(unnamed)") : name) +
                     "' while it is empty, frame " + std::to_string(network.frame()) +
                     ": its writer makes fewer tokens than the task takes, or runs after it");
  }

  [[gnu::noinline]] void make_room() {
    // An unnamed stream outlives frames; once drained it starts over instead of growing.
    if (!registered_ && head_ == tail_ && head_ != begin_) {
      head_ = tail_ = begin_;
      return;
    }
    const std::size_t used = static_cast<std::size_t>(tail_ - begin_);
    const std::size_t read = static_cast<std::size_t>(head_ - begin_);
    const std::size_t capacity = std::max<std::size_t>(64, 2 * used);
    std::shared_ptr<void> larger(new T[capacity], std::default_delete<T[]>());
    std::copy(begin_, tail_, static_cast<T*>(larger.get()));
    storage_ = std::move(larger);
    adopt(capacity, used);
    head_ = begin_ + read;
  }

  void adopt(std::size_t capacity, std::size_t used) {
    begin_ = static_cast<T*>(storage_.get());
    end_ = begin_ + capacity;
    head_ = begin_;
    tail_ = begin_ + used;
  }

  std::shared_ptr<void> storage_;
  T* begin_ = nullptr;
  T* end_ = nullptr;
  T* head_ = nullptr;  ///< next token to read
  T* tail_ = nullptr;  ///< next free slot
  bool registered_ = false;
};

}  // namespace fr
