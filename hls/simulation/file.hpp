#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "simulation/fault.hpp"

namespace fr {
namespace sim {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

inline FileHandle open_for_writing(const std::string& path) {
  FileHandle file(std::fopen(path.c_str(), "wb"));
  if (!file) throw Fault("cannot write '" + path + "': does its folder exist?");
  return file;
}

inline void write_bytes(std::FILE* file, const void* data, std::size_t bytes,
                        const std::string& what) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes) {
    throw Fault("cannot write " + what + ": is the disk full?");
  }
}

/// Closing is when buffered bytes reach the disk, so its failure counts as well.
inline void close_written(FileHandle& file, const std::string& what) {
  if (file && std::fclose(file.release()) != 0) {
    throw Fault("cannot write " + what + ": is the disk full?");
  }
}

}  // namespace sim
}  // namespace fr
