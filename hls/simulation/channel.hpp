#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulation/file.hpp"

namespace fr {
namespace sim {

using Cycle = std::int64_t;

class Task;

/// The timing half of a stream: who reads and writes it, and when each token came and went.
///
/// A token passes four counters: `issued` (it entered the writer's pipeline), `committed` (it is in
/// the FIFO, its time known), `taken` (read by an iteration still open), `released` (read, its
/// time known).
class Channel {
 public:
  Channel(std::string channel_name, std::uint64_t channel_depth)
      : name(std::move(channel_name)), depth(channel_depth) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  std::string name;
  std::uint32_t number = 0;  ///< among the streams of the network
  std::uint64_t depth;       ///< in tokens
  Task* writer = nullptr;
  Task* reader = nullptr;
  Task* waiting_writer = nullptr;
  Task* waiting_reader = nullptr;

  std::uint64_t issued = 0, committed = 0, taken = 0, released = 0;
  Cycle last_issue = -1;  ///< writer's clock at the last issue

  std::uint64_t max_occupancy = 0;  ///< tokens held after a clock edge
  /// The depth with which no write would have come later than it did.
  std::uint64_t needed_depth = 0;
  Cycle empty_stalls = 0;  ///< cycles its reader lost to it
  Cycle full_stalls = 0;   ///< cycles its writer lost to it

  FileHandle dump;  ///< every token goes here if open
  bool traced = false;
  std::vector<Cycle> write_trace, read_trace;

  Cycle write_time(std::uint64_t index) const { return write_times_[index & mask_]; }

  /// Whether it is known when the slot of the next token became free.
  bool slot_known() const { return committed < depth + released; }

  /// The first cycle in which the next token may be written.
  Cycle slot_time() const {
    // Reads already counted came before some earlier write: they delay nothing.
    if (committed < depth + reads_counted_) return 0;
    return read_times_[(committed - depth) & mask_] + 1;
  }

  void commit(Cycle time) {
    if (committed - reads_counted_ == write_times_.size()) grow();
    write_times_[committed & mask_] = time;
    if (traced) write_trace.push_back(time);
    if (dump) dump_token(committed);
    ++committed;
  }

  void release(Cycle time) {
    read_times_[released & mask_] = time;
    if (traced) read_trace.push_back(time);
    last_release_ = time;
    ++released;
    count_occupancy();
  }

  /// Counts the writes after the last known read as well; the run is over.
  void finish() {
    last_release_ = INT64_MAX;
    count_occupancy();
  }

 protected:
  virtual void dump_token(std::uint64_t index) = 0;

 private:
  // Occupancy after the clock edge of each write: writes until then less reads until then. It can
  // be told once a read at or after that edge is known, because reads only get later. A read at
  // that same edge comes too late to make room for the write.
  void count_occupancy() {
    while (writes_counted_ < committed && write_time(writes_counted_) <= last_release_) {
      const Cycle time = write_time(writes_counted_);
      while (reads_counted_ < released && read_times_[reads_counted_ & mask_] < time) {
        ++reads_counted_;
      }
      ++writes_counted_;
      const bool read_now =
          reads_counted_ < released && read_times_[reads_counted_ & mask_] == time;
      const std::uint64_t held = writes_counted_ - reads_counted_;
      needed_depth = std::max(needed_depth, held);
      max_occupancy = std::max(max_occupancy, held - (read_now ? 1 : 0));
    }
  }

  void grow() {
    const std::size_t capacity = std::max<std::size_t>(16, 2 * write_times_.size());
    std::vector<Cycle> writes(capacity), reads(capacity);
    for (std::uint64_t i = reads_counted_; i < committed; ++i) {
      writes[i & (capacity - 1)] = write_times_[i & mask_];
      reads[i & (capacity - 1)] = read_times_[i & mask_];
    }
    write_times_.swap(writes);
    read_times_.swap(reads);
    mask_ = capacity - 1;
  }

  std::vector<Cycle> write_times_, read_times_;  ///< rings over the tokens still to be counted
  std::uint64_t mask_ = 0;
  std::uint64_t writes_counted_ = 0;
  std::uint64_t reads_counted_ = 0;  ///< reads before the last counted write
  Cycle last_release_ = -1;
};

}  // namespace sim
}  // namespace fr
