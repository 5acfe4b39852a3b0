#pragma once

/// Stands for registers.hpp in the test: every access is a line to the device and one back.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace host {

inline std::ofstream& device() {
  static std::ofstream requests(std::getenv("HOST_REQUESTS"));
  return requests;
}

inline std::uint32_t answer() {
  static std::ifstream answers(std::getenv("HOST_ANSWERS"));
  std::uint32_t value = 0;
  if (!(answers >> value)) std::exit(3);
  return value;
}

class Registers {
 public:
  explicit Registers(std::uint64_t address, std::size_t = 0) : address_(address) {}
  std::uint32_t read(std::uint32_t offset) const {
    device() << "r " << address_ << ' ' << offset << " 0" << std::endl;
    return answer();
  }
  void write(std::uint32_t offset, std::uint32_t value) {
    device() << "w " << address_ << ' ' << offset << ' ' << value << std::endl;
    answer();
  }

 private:
  std::uint64_t address_;
};

struct DmaMemory {
  std::uint8_t* bytes;
  std::uint64_t physical;
  std::size_t size;
};

inline DmaMemory open_memory() {
  const int file = ::open(std::getenv("HOST_MEMORY"), O_RDWR);
  const std::size_t size = static_cast<std::size_t>(::lseek(file, 0, SEEK_END));
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory");
  return {static_cast<std::uint8_t*>(memory), 0x700000000ull, size};
}

}  // namespace host
