#pragma once

/// A task of the cycle-level simulation: a fiber with a clock.
///
/// A task is a pipeline that starts one iteration of its loop every II cycles and stalls as a whole
/// (Vitis HLS `pipeline style=stp`): while any read finds no token, or any write no room, every
/// stage waits, so iterations behind a missing input do not drain. The task's clock counts the
/// cycles in which the pipeline advances:
///
///   iteration k reads at u_k = u_{k-1} + II and writes at u_k + pipeline_depth
///   time(u) = u + stalls, with the least, never shrinking `stalls` such that
///     time(u) >= write time of every token read at u, + 1
///     time(u) >= read time of the token `depth` places earlier, + 1, for every token written at u
///
/// The "+ 1" are the FIFO's: a token is visible, and a slot free, one cycle after the clock edge
/// that made it so. A frame ends with the pipeline drained (a process of an ap_ctrl_none dataflow
/// region is called anew per frame, its loop does not rewind): the next frame's first iteration
/// comes pipeline_depth + 1 + restart cycles after this frame's last one. The equations have one
/// least solution, so the cycles do not depend on the order in which fibers run.
///
/// A task that `drains` (Vitis HLS `style=frp` and `flp`) lets its iterations go on while a read
/// finds no token: with R_k when iteration k reads and W_k when its writes leave,
///
///   R_k >= R_{k-1} + II, and write time of every token read, + 1
///   W_k >= R_k + pipeline_depth, W_{k-1} + 1, and read time of the token `depth` earlier, + 1
///   R_k >= W_{k-n}, n = pipeline_depth / II rounded up: as many iterations as it has stages
///
/// A stalling task's times meet all of these, so a task that drains is never later.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/channel.hpp"
#include "simulation/due_writes.hpp"
#include "simulation/fault.hpp"
#include "simulation/fiber.hpp"
#include "simulation/pattern.hpp"

namespace fr {
namespace sim {

enum class Wait { kNone, kEmpty, kFull };

/// Runs one frame of a task: `run(state)`. A plain pair, because a std::function per task doubles
/// the compilation time of a network of hundreds.
struct TaskBody {
  void (*run)(void* state);
  void* state;
};

/// What one frame cost a task, in cycles.
struct FrameRecord {
  Cycle begin = -1;  ///< time of the first iteration
  Cycle end = -1;    ///< time of the last read or write
  Cycle busy = 0;    ///< iterations times II
  Cycle stalled_on_input = 0;
  Cycle stalled_on_output = 0;
};

class Task {
 public:
  /// Stops the running fiber until its task is made ready.
  using Suspend = void (*)();
  /// Lets a stopped task run again.
  using Wake = void (*)(Task*);

  Task(std::string task_name, TaskBody task_body) : name(std::move(task_name)), body(task_body) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  const std::string name;
  const TaskBody body;
  Cycle pipeline_depth = 0;
  Cycle restart = 0;
  bool drains = false;
  bool queued = false;  ///< made ready, not running yet
  Suspend suspend = nullptr;
  Wake wake = nullptr;
  std::unique_ptr<Fiber> fiber;
  std::unique_ptr<Pattern> pattern;  ///< of the first frame, if it is to be recorded

  std::vector<FrameRecord> frames;
  bool finished = false;
  Channel* waiting_for = nullptr;
  Wait wait = Wait::kNone;

  /// The cycle this task has reached.
  Cycle now() const { return clock_ + stalls_; }

  /// Runs `count` frames, one after the other.
  void run(unsigned long count) {
    recording_ = pattern.get();
    for (unsigned long f = 0; f < count; ++f) {
      frames.emplace_back();
      body.run(body.state);
      end_frame();
      recording_ = nullptr;
    }
    finished = true;
  }

  /// Starts the next iteration: first everything due before it happens. The one after it starts
  /// `interval` (II) cycles later.
  [[gnu::noinline]] void iteration(Cycle interval) {
    if (open_) {
      if (drains_now()) {
        start();
      } else {
        step(clock_);
      }
      clock_ += interval_;
    }
    while (!drains_now() && !writes_.empty() && writes_.front().due < clock_) {
      step(writes_.front().due);
    }
    open_ = true;
    interval_ = interval;
    if (recording_ != nullptr) recording_->begin_iteration(interval);
    frames.back().busy += interval;
  }

  /// The open iteration reads the next token of `channel`; waits for it.
  [[gnu::noinline]] void note_read(Channel& channel) {
    if (channel.reader != this) bind(channel, channel.reader, "read");
    if (!open_ || channel.taken != channel.released) bad_access(channel, "reads");
    while (channel.taken == channel.committed) {
      Channel* const full = drains_now() ? drain() : nullptr;
      if (full != nullptr) full->waiting_writer = this;
      channel.waiting_reader = this;
      wait_for(channel, Wait::kEmpty);
      // Whichever came first has taken its mark away.
      channel.waiting_reader = nullptr;
      if (full != nullptr) full->waiting_writer = nullptr;
    }
    require(channel.write_time(channel.taken) + 1, channel, Wait::kEmpty);
    ++channel.taken;
    if (recording_ != nullptr) recording_->read(channel.number);
    reads_.push_back(&channel);
  }

  /// The open iteration writes a token to `channel`; it leaves the pipeline later.
  [[gnu::noinline]] void note_write(Channel& channel) {
    if (channel.writer != this) bind(channel, channel.writer, "written");
    if (!open_ || channel.last_issue == clock_) bad_access(channel, "writes");
    channel.last_issue = clock_;
    ++channel.issued;
    if (recording_ != nullptr) recording_->write(channel.number);
    writes_.push({clock_ + pipeline_depth, &channel});
    ++open_writes_;
  }

 private:
  void bind(Channel& channel, Task*& end, const char* what) {
    if (end != nullptr) {
      throw Fault("stream '" + channel.name + "' is " + what + " by two tasks, '" + end->name +
                  "' and '" + name + "': a stream has one writer and one reader");
    }
    end = this;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void bad_access(const Channel& channel,
                                                         const char* verb) const {
    throw Fault("task '" + name + "' " + verb + " stream '" + channel.name +
                (open_ ? "' twice in one iteration: a FIFO has one port, so the pipeline could not "
                         "keep its interval"
                       : "' outside a pipelined loop: put fr::iteration() first in the loop body"));
  }

  /// All that happens at clock `at`: waits until every slot is known, then gives it all one time.
  void step(Cycle at) {
    const std::size_t count = writes_.count_due(at);
    for (std::size_t i = 0; i < count; ++i) {
      Channel& channel = *writes_[i].channel;
      while (!channel.slot_known()) {
        channel.waiting_writer = this;
        wait_for(channel, Wait::kFull);
      }
      require(channel.slot_time(), channel, Wait::kFull);
    }
    const Cycle time = settle(at);
    for (Channel* channel : reads_) {
      channel->release(time);
      if (channel->waiting_writer != nullptr) wake_up(channel->waiting_writer);
    }
    reads_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Channel* channel = writes_[i].channel;
      channel->commit(time);
      if (channel->waiting_reader != nullptr) wake_up(channel->waiting_reader);
    }
    writes_.pop(count);
  }

  /// Stalls the pipeline until all that was required holds; the resulting time.
  Cycle settle(Cycle at) {
    FrameRecord& frame = frames.back();
    const Cycle stall = needed_ - (at + stalls_);
    if (stall > 0) {
      stalls_ += stall;
      const bool on_input = needed_kind_ == Wait::kEmpty;
      (on_input ? frame.stalled_on_input : frame.stalled_on_output) += stall;
      (on_input ? needed_by_->empty_stalls : needed_by_->full_stalls) += stall;
    }
    const Cycle time = at + stalls_;
    if (frame.begin < 0) frame.begin = time;
    frame.end = time;
    return time;
  }

  void require(Cycle time, Channel& channel, Wait kind) {
    if (time <= needed_) return;
    needed_ = time;
    needed_by_ = &channel;
    needed_kind_ = kind;
  }

  // Without stages there is nothing to drain: such a task stalls either way.
  bool drains_now() const { return drains && pipeline_depth > 0; }

  /// The open iteration of a task that drains reads, when it can.
  void start() {
    FrameRecord& frame = frames.back();
    const std::size_t room = static_cast<std::size_t>((pipeline_depth + interval_ - 1) / interval_);
    Cycle time = std::max(next_start_, needed_);
    if (needed_ > next_start_) {
      frame.stalled_on_input += needed_ - next_start_;
      needed_by_->empty_stalls += needed_ - next_start_;
    }
    while (inside_.size() >= room) leave();
    if (left_.size() >= room) time = std::max(time, left_[left_.size() - room]);
    while (left_.size() > room) left_.pop_front();
    for (Channel* channel : reads_) {
      channel->release(time);
      if (channel->waiting_writer != nullptr) wake_up(channel->waiting_writer);
    }
    reads_.clear();
    inside_.push_back({time + pipeline_depth, open_writes_});
    open_writes_ = 0;
    next_start_ = time + interval_;
    stalls_ = time - clock_;
    if (frame.begin < 0) frame.begin = time;
    frame.end = std::max(frame.end, time);
  }

  /// Lets iterations out as far as their slots are known; the stream whose slot is not, if any.
  Channel* drain() {
    while (!inside_.empty()) {
      for (std::size_t i = 0; i < inside_.front().writes; ++i) {
        if (!writes_[i].channel->slot_known()) return writes_[i].channel;
      }
      leave();
    }
    return nullptr;
  }

  /// The oldest iteration inside leaves, when it can.
  void leave() {
    const Inside oldest = inside_.front();
    Cycle time = std::max(oldest.leaves, last_left_ + 1);
    for (std::size_t i = 0; i < oldest.writes; ++i) {
      Channel& channel = *writes_[i].channel;
      while (!channel.slot_known()) {
        channel.waiting_writer = this;
        wait_for(channel, Wait::kFull);
      }
      const Cycle stall = channel.slot_time() - time;
      if (stall > 0) {
        time += stall;
        channel.full_stalls += stall;
        frames.back().stalled_on_output += stall;
      }
    }
    for (std::size_t i = 0; i < oldest.writes; ++i) {
      Channel* channel = writes_[i].channel;
      channel->commit(time);
      if (channel->waiting_reader != nullptr) wake_up(channel->waiting_reader);
    }
    writes_.pop(oldest.writes);
    inside_.pop_front();
    left_.push_back(time);
    last_left_ = time;
    if (oldest.writes > 0) frames.back().end = std::max(frames.back().end, time);
  }

  // The loop ends when its last iteration has passed every stage.
  void end_frame() {
    if (!open_) return;
    if (recording_ != nullptr) recording_->end_iteration();
    if (drains_now()) {
      start();
      while (!inside_.empty()) leave();
      left_.clear();
      next_start_ = std::max(next_start_, last_left_ + 1 + restart);
      clock_ += interval_;
      open_ = false;
      return;
    }
    step(clock_);
    while (!writes_.empty()) step(writes_.front().due);
    clock_ += std::max(pipeline_depth + 1 + restart, interval_);
    open_ = false;
  }

  void wait_for(Channel& channel, Wait kind) {
    waiting_for = &channel;
    wait = kind;
    suspend();
    wait = Wait::kNone;
  }

  void wake_up(Task*& waiting) {
    wake(waiting);
    waiting = nullptr;
  }

  /// An iteration in the pipeline of a task that drains: when it may leave, and its writes.
  struct Inside {
    Cycle leaves;
    std::size_t writes;
  };

  Pattern* recording_ = nullptr;
  Cycle clock_ = 0;
  Cycle stalls_ = 0;
  Cycle interval_ = 1;
  bool open_ = false;
  std::vector<Channel*> reads_;  ///< of the open iteration
  DueWrites writes_;             ///< on their way through the pipeline
  std::size_t open_writes_ = 0;  ///< of the open iteration, in a task that drains
  std::deque<Inside> inside_;
  std::deque<Cycle> left_;  ///< when the last iterations of this frame left
  Cycle next_start_ = 0, last_left_ = -1;
  Cycle needed_ = 0;
  Channel* needed_by_ = nullptr;
  Wait needed_kind_ = Wait::kNone;
};

}  // namespace sim
}  // namespace fr
