#pragma once

/// What the host program needs of the operating system: device registers and memory for the DMAs.
///
/// Registers are mapped from /dev/mem. Memory comes from u-dma-buf (one contiguous buffer, its
/// physical address in sysfs), opened with O_SYNC so that no cache lies between us and the DMAs.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace host {

/// Maps `bytes` bytes of a file from `offset` on; throws std::runtime_error.
inline void* map_file(const std::string& path, std::size_t bytes, std::uint64_t offset) {
  const int file = ::open(path.c_str(), O_RDWR | O_SYNC);
  if (file < 0) throw std::runtime_error("cannot open " + path + " (root is needed)");
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  ::close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  return memory;
}

/// The 32-bit registers of one block at a physical address.
class Registers {
 public:
  explicit Registers(std::uint64_t address, std::size_t bytes = 0x10000)
      : words_(static_cast<volatile std::uint32_t*>(map_file("/dev/mem", bytes, address))) {}
  std::uint32_t read(std::uint32_t offset) const { return words_[offset / 4]; }
  void write(std::uint32_t offset, std::uint32_t value) { words_[offset / 4] = value; }

 private:
  volatile std::uint32_t* words_;
};

/// The memory the DMAs reach.
struct DmaMemory {
  std::uint8_t* bytes;
  std::uint64_t physical;
  std::size_t size;
};

inline std::uint64_t sysfs_number(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) throw std::runtime_error("cannot read " + path + ": load u-dma-buf");
  return std::stoull(text, nullptr, 0);
}

inline DmaMemory open_memory(const std::string& name = "udmabuf0") {
  const std::string folder = "/sys/class/u-dma-buf/" + name;
  const std::size_t size = sysfs_number(folder + "/size");
  return {static_cast<std::uint8_t*>(map_file("/dev/" + name, size, 0)),
          sysfs_number(folder + "/phys_addr"), size};
}

}  // namespace host
