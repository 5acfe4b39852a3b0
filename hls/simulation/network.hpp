#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/fault.hpp"
#include "simulation/file.hpp"

namespace fr {
namespace sim {

/// What the untimed network knows of a stream without its token type.
class StreamBase {
 public:
  virtual ~StreamBase() = default;
  /// Tokens written and not yet read.
  virtual std::size_t pending() const = 0;
  /// Appends every token of this frame, read or not, to `file` as raw structs.
  virtual void dump(std::FILE* file) const = 0;

  std::string name;
};

/// Memory of a named stream, kept between frames so that a frame allocates nothing.
struct RetainedBuffer {
  std::shared_ptr<void> memory;
  std::size_t capacity = 0;
};

/// The streams that exist now, the task that runs, the frame number and where tokens are dumped.
class Network {
 public:
  static Network& instance() {
    static Network network;
    return network;
  }

  void add(StreamBase* stream) { streams_.push_back(stream); }

  void remove(StreamBase* stream) {
    // Streams are locals of the top function, so the last one made is the first to go.
    for (std::size_t i = streams_.size(); i-- > 0;) {
      if (streams_[i] != stream) continue;
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  RetainedBuffer& retained(const std::string& name) { return retained_[name]; }

  void begin_task(const char* name) { task_ = name; }
  const char* task() const { return task_; }
  unsigned long frame() const { return frame_; }

  /// Dumps the requested streams, then demands that every named stream is empty.
  void end_frame() {
    task_ = "test bench";
    for (StreamBase* stream : streams_) {
      auto found = dumps_.find(stream->name);
      if (found == dumps_.end()) continue;
      stream->dump(found->second.file.get());
      found->second.used = true;
    }
    for (StreamBase* stream : streams_) {
      if (stream->pending() == 0) continue;
      throw Fault("stream '" + stream->name + "' still holds " + std::to_string(stream->pending()) +
                  " tokens at the end of frame " + std::to_string(frame_) +
                  ": its reader takes fewer tokens than its writer makes");
    }
    ++frame_;
  }

  /// Every frame's tokens of stream `name` are appended to `path`.
  void dump_to(const std::string& name, const std::string& path) {
    dumps_[name].file = open_for_writing(path);
  }

  /// Closes the dump files; a name that no stream of the design has is a Fault.
  void close_dumps() {
    for (auto& dump : dumps_) {
      if (!dump.second.used) {
        throw Fault("no stream is named '" + dump.first +
                    "': check --streams against project.json");
      }
      close_written(dump.second.file, "the dump of stream '" + dump.first + "'");
    }
    dumps_.clear();
  }

 private:
  struct Dump {
    FileHandle file;
    bool used = false;
  };

  std::vector<StreamBase*> streams_;
  std::map<std::string, RetainedBuffer> retained_;
  std::map<std::string, Dump> dumps_;
  const char* task_ = "test bench";
  unsigned long frame_ = 0;
};

}  // namespace sim
}  // namespace fr
