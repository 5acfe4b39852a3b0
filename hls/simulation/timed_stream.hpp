#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/channel.hpp"
#include "simulation/scheduler.hpp"

namespace fr {

/// FIFO of the cycle-level simulation: bounded, its tokens timed.
///
/// Holds the tokens in the FIFO and those still in its writer's pipeline. There is no empty():
/// a task whose behaviour depends on when a token comes cannot be simulated exactly.
template <class T>
class stream final : public sim::Channel {
 public:
  /// Vitis HLS's depth for a stream without a pragma.
  [[gnu::noinline]] stream() : Channel("(unnamed)", 2) {
    sim::Scheduler::instance().add_channel(this);
  }

  [[gnu::noinline]] ~stream() override { sim::Scheduler::instance().remove_channel(this); }

  /// Before the first token; the run's settings may name another depth than the built one.
  void set_name(std::string stream_name, std::uint64_t built) {
    depth = sim::Scheduler::instance().settings.depth(stream_name, built);
    name = std::move(stream_name);
  }

  T read() { return read_ref(); }

  /// The next token without a copy; valid until the next read of this stream.
  const T& read_ref() {
    sim::Scheduler::instance().current().note_read(*this);
    return tokens_[(taken - 1) & (capacity_ - 1)];
  }

  void write(const T& value) {
    sim::Scheduler::instance().current().note_write(*this);
    // The last token read stays in place, its reader may still look at it.
    const std::uint64_t oldest = released > 0 ? released - 1 : 0;
    if (issued - oldest > capacity_) grow(oldest);
    tokens_[(issued - 1) & (capacity_ - 1)] = value;
  }

 private:
  void dump_token(std::uint64_t index) override {
    sim::write_bytes(dump.get(), &tokens_[index & (capacity_ - 1)], sizeof(T), "a stream dump");
  }

  [[gnu::noinline]] void grow(std::uint64_t oldest) {
    const std::size_t capacity = std::max<std::size_t>(8, 2 * capacity_);
    std::unique_ptr<T[]> larger(new T[capacity]);
    for (std::uint64_t i = oldest; i + 1 < issued; ++i) {
      larger[i & (capacity - 1)] = tokens_[i & (capacity_ - 1)];
    }
    // References into the smaller ring stay valid.
    if (tokens_) outgrown_.push_back(std::move(tokens_));
    tokens_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<T[]> tokens_;  ///< ring
  std::size_t capacity_ = 0;     ///< a power of two
  std::vector<std::unique_ptr<T[]>> outgrown_;
};

}  // namespace fr
