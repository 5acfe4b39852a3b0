#pragma once

#include <cstddef>
#include <vector>

#include "simulation/channel.hpp"

namespace fr {
namespace sim {

/// The writes inside a pipeline, in the order they leave it: a queue in a ring.
class DueWrites {
 public:
  struct Write {
    Cycle due;  ///< on the task's clock
    Channel* channel;
  };

  bool empty() const { return head_ == tail_; }
  const Write& front() const { return ring_[head_ & mask()]; }
  const Write& operator[](std::size_t i) const { return ring_[(head_ + i) & mask()]; }

  /// How many leave at clock `at`; none is due earlier.
  std::size_t count_due(Cycle at) const {
    std::size_t count = 0;
    while (head_ + count != tail_ && (*this)[count].due == at) ++count;
    return count;
  }

  void push(const Write& write) {
    if (tail_ - head_ == ring_.size()) grow();
    ring_[tail_++ & mask()] = write;
  }

  void pop(std::size_t count) { head_ += count; }

 private:
  std::size_t mask() const { return ring_.size() - 1; }

  void grow() {
    std::vector<Write> larger(2 * ring_.size());
    for (std::size_t i = head_; i != tail_; ++i)
      larger[i & (larger.size() - 1)] = ring_[i & mask()];
    ring_.swap(larger);
  }

  std::vector<Write> ring_ = std::vector<Write>(16);
  std::size_t head_ = 0, tail_ = 0;
};

}  // namespace sim
}  // namespace fr
