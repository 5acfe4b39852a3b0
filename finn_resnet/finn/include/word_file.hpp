#pragma once

/// Test bench of one node's IP: words from files to its input streams, and back.
///
/// A word takes the whole bytes that hold it, little-endian; frames follow each other.

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "packed_stream.hpp"

namespace fr {
namespace sim {

/// A file that is closed at the end of its scope.
class WordFile {
 public:
  WordFile(const std::string& path, const char* mode)
      : path_(path), file_(fopen(path.c_str(), mode)) {
    if (file_ == nullptr) throw std::runtime_error("cannot open " + path);
  }
  WordFile(const WordFile&) = delete;
  WordFile& operator=(const WordFile&) = delete;
  ~WordFile() { std::fclose(file_); }

  /// Reads `words` words into the stream.
  template <int W>
  void feed(int words, stream<ap_uint<W>>& out) {
    std::vector<std::uint8_t> bytes((W + 7) / 8);
    for (int i = 0; i < words; ++i) {
      if (std::fread(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
        throw std::runtime_error(path_ + " is too short");
      }
      ap_uint<8 * ((W + 7) / 8)> word = 0;
      for (std::size_t b = 0; b < bytes.size(); ++b) {
        word.range(8 * static_cast<int>(b) + 7, 8 * static_cast<int>(b)) = ap_uint<8>(bytes[b]);
      }
      out.write(ap_uint<W>(word));
    }
  }

  /// Writes `words` words of the stream, which must then be empty.
  template <int W>
  void drain(int words, stream<ap_uint<W>>& in) {
    std::vector<std::uint8_t> bytes((W + 7) / 8);
    for (int i = 0; i < words; ++i) {
      if (in.empty()) {
        throw std::runtime_error(path_ + ": the node wrote " + std::to_string(i) + " of " +
                                 std::to_string(words) + " words");
      }
      const ap_uint<8 * ((W + 7) / 8)> word = in.read();
      for (std::size_t b = 0; b < bytes.size(); ++b) {
        const ap_uint<8> byte = word.range(8 * static_cast<int>(b) + 7, 8 * static_cast<int>(b));
        bytes[b] = static_cast<std::uint8_t>(byte.to_uint());
      }
      if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
        throw std::runtime_error("cannot write " + path_);
      }
    }
    demand_empty(in);
  }

  /// Throws when words are left in the stream.
  template <int W>
  void demand_empty(stream<ap_uint<W>>& s) {
    if (!s.empty()) throw std::runtime_error(path_ + ": words are left in the node's stream");
  }

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace sim
}  // namespace fr
