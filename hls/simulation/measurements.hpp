#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "simulation/file.hpp"
#include "simulation/scheduler.hpp"

namespace fr {
namespace sim {

/// What a cycle-level run found, copied out of the network so that it outlives the streams.
class Measurements {
 public:
  /// Copies the state of all tasks and streams.
  void take(const Scheduler& scheduler) {
    tasks_.clear();
    streams_.clear();
    for (const Task& task : scheduler.tasks) {
      tasks_.push_back({task.name, task.pipeline_depth, task.frames});
    }
    for (const Channel* channel : scheduler.channels) {
      streams_.push_back({channel, channel->name, channel->depth, channel->released,
                          channel->max_occupancy, channel->needed_depth, channel->empty_stalls,
                          channel->full_stalls, "", "", channel->traced, channel->write_trace,
                          channel->read_trace});
    }
  }

  /// Completes the ends of the streams and the deadlock, known only when the network has run out.
  void conclude(const Scheduler& scheduler) {
    for (StreamMeasure& stream : streams_) {
      const Channel& channel = *stream.channel;
      if (channel.writer != nullptr) stream.writer = channel.writer->name;
      if (channel.reader != nullptr) stream.reader = channel.reader->name;
    }
    finished_ = scheduler.blocked.empty() && scheduler.finished();
    copy_waits(scheduler.blocked, &blocked_);
    copy_waits(scheduler.circle, &circle_);
  }

  /// Writes the recorded stream accesses of one frame.
  static void write_pattern(const std::string& path, const Scheduler& scheduler) {
    std::string text;
    for (const Channel* channel : scheduler.channels) {
      text += "stream " + channel->name + " " + std::to_string(channel->depth) + "\n";
    }
    for (const Task& task : scheduler.tasks) {
      text += task.pattern->text(task.name, task.pipeline_depth, task.restart);
    }
    FileHandle file = open_for_writing(path);
    write_bytes(file.get(), text.data(), text.size(), "pattern '" + path + "'");
    close_written(file, "pattern '" + path + "'");
  }

  bool deadlocked() const { return !blocked_.empty(); }
  bool finished() const { return finished_; }

  /// Every task that waits, one line each.
  std::string deadlock_text() const {
    std::string text;
    for (const Wait& wait : blocked_) {
      text += "  task '" + wait.task + "' waits for stream '" + wait.stream + "', which is " +
              wait.state + ", in frame " + std::to_string(wait.frame) + " at cycle " +
              std::to_string(wait.cycle) + "\n";
    }
    return text;
  }

  void write_json(const std::string& path) const {
    FileHandle file = open_for_writing(path);
    const std::string text = json();
    write_bytes(file.get(), text.data(), text.size(), "result '" + path + "'");
    close_written(file, "result '" + path + "'");
  }

 private:
  struct TaskMeasure {
    std::string name;
    Cycle pipeline_depth;
    std::vector<FrameRecord> frames;
  };
  struct StreamMeasure {
    const Channel* channel;  ///< only while the network exists
    std::string name;
    std::uint64_t depth, tokens, max_occupancy, needed_depth;
    Cycle empty_stalls, full_stalls;
    std::string writer, reader;
    bool traced;
    std::vector<Cycle> write_trace, read_trace;
  };
  struct Wait {
    std::string task, stream;
    const char* state;
    unsigned long frame;
    Cycle cycle;
  };

  static void copy_waits(const std::vector<Blocked>& from, std::vector<Wait>* to) {
    to->clear();
    for (const Blocked& wait : from) {
      to->push_back({wait.task->name, wait.channel->name,
                     wait.wait == sim::Wait::kFull ? "full" : "empty", wait.frame, wait.cycle});
    }
  }

  std::string json() const {
    std::string text = "{\"finished\": " + std::string(finished_ ? "true" : "false");
    text += ",\n\"blocked\": " + list(blocked_, wait_json);
    text += ",\n\"circle\": " + list(circle_, wait_json);
    text += ",\n\"tasks\": " + list(tasks_, task_json);
    text += ",\n\"streams\": " + list(streams_, stream_json);
    return text + "}\n";
  }

  template <class Item>
  static std::string list(const std::vector<Item>& items, std::string (*write)(const Item&)) {
    std::string text = "[";
    for (const Item& item : items) text += (text.size() > 1 ? ",\n " : "") + write(item);
    return text + "]";
  }

  // Names are C identifiers of the design, so they need no escapes.
  static std::string field(const char* key, const std::string& value) {
    return "\"" + std::string(key) + "\": \"" + value + "\"";
  }
  template <class Number>
  static std::string field(const char* key, Number value) {
    return "\"" + std::string(key) + "\": " + std::to_string(value);
  }

  static std::string wait_json(const Wait& wait) {
    return "{" + field("task", wait.task) + ", " + field("stream", wait.stream) + ", " +
           field("state", std::string(wait.state)) + ", " + field("frame", wait.frame) + ", " +
           field("cycle", wait.cycle) + "}";
  }

  static std::string frame_json(const FrameRecord& frame) {
    return "{" + field("begin", frame.begin) + ", " + field("end", frame.end) + ", " +
           field("busy", frame.busy) + ", " + field("stalled_on_input", frame.stalled_on_input) +
           ", " + field("stalled_on_output", frame.stalled_on_output) + "}";
  }

  static std::string task_json(const TaskMeasure& task) {
    return "{" + field("name", task.name) + ", " + field("pipeline_depth", task.pipeline_depth) +
           ", \"frames\": " + list(task.frames, frame_json) + "}";
  }

  static std::string cycle_json(const Cycle& cycle) { return std::to_string(cycle); }

  static std::string stream_json(const StreamMeasure& stream) {
    std::string text = "{" + field("name", stream.name) + ", " + field("depth", stream.depth) +
                       ", " + field("tokens", stream.tokens) + ", " +
                       field("max_occupancy", stream.max_occupancy) + ", " +
                       field("needed_depth", stream.needed_depth) + ", " +
                       field("empty_stalls", stream.empty_stalls) + ", " +
                       field("full_stalls", stream.full_stalls) + ", " +
                       field("writer", stream.writer) + ", " + field("reader", stream.reader);
    if (stream.traced) {
      text += ", \"writes\": " + list(stream.write_trace, cycle_json) +
              ", \"reads\": " + list(stream.read_trace, cycle_json);
    }
    return text + "}";
  }

  bool finished_ = false;
  std::vector<TaskMeasure> tasks_;
  std::vector<StreamMeasure> streams_;
  std::vector<Wait> blocked_, circle_;
};

}  // namespace sim
}  // namespace fr
