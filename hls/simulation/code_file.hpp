#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "simulation/fault.hpp"
#include "simulation/file.hpp"

namespace fr {
namespace sim {

/// Bytes of one AXI4-Stream beat.
constexpr std::size_t kBeatBytes = 16;

/// One AXI4-Stream port of the top function.
struct Port {
  const char* name;             ///< of the graph input or output
  std::size_t codes_per_frame;  ///< H * W * C
  std::size_t code_bytes;       ///< 1, 2 or 4, little-endian

  std::size_t frame_bytes() const { return codes_per_frame * code_bytes; }
  std::size_t beats() const { return (frame_bytes() + kBeatBytes - 1) / kBeatBytes; }
};

/// Reads the frames of a code file as beats, one frame in memory at a time.
class CodeReader {
 public:
  CodeReader(const std::string& path, const Port& port, unsigned long frames)
      : path_(path), port_(port), frame_(port.beats() * kBeatBytes, 0) {
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) throw Fault("cannot read input '" + path + "'");
    std::fseek(file_.get(), 0, SEEK_END);
    const unsigned long long size = static_cast<unsigned long long>(std::ftell(file_.get()));
    std::rewind(file_.get());
    const unsigned long long needed = 1ULL * port.frame_bytes() * frames;
    if (size < needed) {
      throw Fault("input '" + path + "' has " + std::to_string(size) + " bytes, " +
                  std::to_string(frames) + " frames of port '" + port.name + "' need " +
                  std::to_string(needed));
    }
  }

  /// The bytes of beat `index` of the current frame; index 0 fetches the next frame. Bytes after
  /// the frame's last code are 0.
  const std::uint8_t* beat(std::size_t index) {
    if (index == 0 &&
        std::fread(frame_.data(), 1, port_.frame_bytes(), file_.get()) != port_.frame_bytes()) {
      throw Fault("cannot read input '" + path_ + "' to its end");
    }
    return frame_.data() + index * kBeatBytes;
  }

 private:
  std::string path_;
  Port port_;
  std::vector<std::uint8_t> frame_;
  FileHandle file_;
};

/// Writes the beats of an output port as bare codes and checks TLAST.
class CodeWriter {
 public:
  CodeWriter(const std::string& path, const Port& port)
      : path_(path),
        port_(port),
        frame_(port.beats() * kBeatBytes),
        file_(open_for_writing(path)) {}

  /// Where the bytes of beat `index` of the current frame go.
  std::uint8_t* beat(std::size_t index) { return frame_.data() + index * kBeatBytes; }

  /// Takes beat `index`, already stored through beat(); the last one writes the frame.
  void commit(std::size_t index, bool tlast) {
    const bool is_last = index + 1 == port_.beats();
    if (tlast != is_last) {
      throw Fault("output '" + std::string(port_.name) + "': TLAST is " +
                  (tlast ? "set" : "clear") + " on beat " + std::to_string(index) + " of " +
                  std::to_string(port_.beats()));
    }
    if (!is_last) return;
    for (std::size_t i = port_.frame_bytes(); i < frame_.size(); ++i) {
      if (frame_[i] != 0) {
        throw Fault("output '" + std::string(port_.name) + "': the last beat is not zero-padded");
      }
    }
    write_bytes(file_.get(), frame_.data(), port_.frame_bytes(), "output '" + path_ + "'");
  }

  void close() { close_written(file_, "output '" + path_ + "'"); }

 private:
  std::string path_;
  Port port_;
  std::vector<std::uint8_t> frame_;
  FileHandle file_;
};

}  // namespace sim
}  // namespace fr
