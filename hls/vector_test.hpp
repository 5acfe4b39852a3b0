#pragma once

/// Test bench support for the vendor's C simulation and co-simulation: files of bare codes in,
/// every code and every TLAST of the results compared. Works with both kinds of streams.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "axi.hpp"
#include "stream.hpp"

namespace fr {

/// Feeds and checks the ports of a top function; counts what differs.
class VectorTest {
 public:
  /// Writes frame `frame` of `file` (frames of `bytes` bytes, back to back) to `port`.
  void feed(const std::string& file, int frame, std::size_t bytes, stream<axi_beat>& port) {
    write(read(file, frame, bytes), port);
  }

  /// Writes the whole of `file` to `port`.
  void feed_once(const std::string& file, stream<axi_beat>& port) {
    write(read(file, 0, size(file)), port);
  }

  /// Reads a frame from `port` and compares it with frame `frame` of `file`.
  void check(const std::string& file, int frame, std::size_t bytes, stream<axi_beat>& port) {
    const std::vector<std::uint8_t> expected = read(file, frame, bytes);
    for (std::size_t begin = 0; begin < bytes; begin += kBeatBytes) {
      if (port.empty()) {
        report(file, frame, begin, "the design wrote no beat");
        return;
      }
      const axi_beat beat = port.read();
      const bool is_last = begin + kBeatBytes >= bytes;
      if (static_cast<bool>(beat.last) != is_last) report(file, frame, begin, "TLAST is wrong");
      for (int i = 0; i < kBeatBytes; ++i) {
        const std::size_t at = begin + static_cast<std::size_t>(i);
        const std::uint8_t wanted = at < bytes ? expected[at] : std::uint8_t{0};
        if (beat_byte(beat, i) != wanted) report(file, frame, at, "the code differs");
      }
    }
    if (!port.empty()) report(file, frame, bytes, "the design wrote too many beats");
  }

  /// Exit status of the test bench: 0 when nothing differed.
  int result() const {
    std::printf("%s: %ld differences\n", differences_ == 0 ? "passed" : "FAILED", differences_);
    return differences_ == 0 ? 0 : 1;
  }

 private:
  static constexpr long kReported = 10;

  static void fail(const std::string& reason) {
    std::fprintf(stderr, "error: %s\n", reason.c_str());
    std::exit(1);
  }

  static std::FILE* open(const std::string& file) {
    std::FILE* handle = std::fopen(file.c_str(), "rb");
    if (handle == nullptr) fail("cannot read '" + file + "' beside the test bench");
    return handle;
  }

  static std::size_t size(const std::string& file) {
    std::FILE* handle = open(file);
    std::fseek(handle, 0, SEEK_END);
    const long bytes = std::ftell(handle);
    std::fclose(handle);
    return static_cast<std::size_t>(bytes);
  }

  static std::vector<std::uint8_t> read(const std::string& file, int frame, std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::FILE* handle = open(file);
    std::fseek(handle, static_cast<long>(bytes) * frame, SEEK_SET);
    const std::size_t found = std::fread(data.data(), 1, bytes, handle);
    std::fclose(handle);
    if (found != bytes) fail("'" + file + "' has no frame " + std::to_string(frame));
    return data;
  }

  static void write(const std::vector<std::uint8_t>& data, stream<axi_beat>& port) {
    for (std::size_t begin = 0; begin < data.size(); begin += kBeatBytes) {
      axi_beat beat;
      for (int i = 0; i < kBeatBytes; ++i) {
        const std::size_t at = begin + static_cast<std::size_t>(i);
        set_beat_byte(&beat, i, at < data.size() ? data[at] : std::uint8_t{0});
      }
      finish_beat(&beat, begin + kBeatBytes >= data.size());
      port.write(beat);
    }
  }

  void report(const std::string& file, int frame, std::size_t byte, const char* what) {
    if (++differences_ > kReported) return;
    std::printf("%s, frame %d, byte %lu: %s\n", file.c_str(), frame,
                static_cast<unsigned long>(byte), what);
  }

  long differences_ = 0;
};

}  // namespace fr
