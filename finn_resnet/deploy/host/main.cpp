/// Runs the accelerator from C++, without Python: codes in a file in, codes in files out.
///
///     make && ./host input.bin result_
///
/// `input.bin` holds integer codes of whole frames, [H, W, C] little-endian, one frame after the
/// other (`driver.py` has `quantise`). For each output a file `result_<name>.bin` is written the
/// same way. The bitstream must be loaded. Register numbers: AXI DMA, direct register mode.

#ifndef HOST_REGISTERS
#  define HOST_REGISTERS "registers.hpp"
#endif
#include HOST_REGISTERS

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <vector>

#include "design.hpp"

namespace {

using host::DmaMemory;
using host::Registers;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t kRun = 1, kReset = 4, kHalted = 1, kErrors = 0x70, kDone = 0x1000;
constexpr auto kPatience = std::chrono::seconds(5);

/// One direction of an AXI DMA: memory to stream (registers from 0x00) or back (from 0x30).
class Channel {
 public:
  Channel(const char* name, std::uint64_t address, bool to_memory)
      : name_(name), registers_(address), base_(to_memory ? 0x30 : 0x00) {
    registers_.write(base_, kReset);
    wait([&] { return (registers_.read(base_) & kReset) == 0; }, "reset");
    registers_.write(base_, kRun);
    wait([&] { return (registers_.read(base_ + 4) & kHalted) == 0; }, "start");
  }

  void start(std::uint64_t physical, std::size_t bytes) {
    registers_.write(base_ + 4, kDone);  // writing the bit clears it
    registers_.write(base_ + 0x18, static_cast<std::uint32_t>(physical));
    registers_.write(base_ + 0x1c, static_cast<std::uint32_t>(physical >> 32));
    registers_.write(base_ + 0x28, static_cast<std::uint32_t>(bytes));
  }

  void finish() {
    wait([&] { return (status() & kDone) != 0; }, "finish");
  }

 private:
  std::uint32_t status() {
    const std::uint32_t status = registers_.read(base_ + 4);
    if (status & kErrors)
      throw std::runtime_error(name_ + " reports an error: status " + std::to_string(status));
    return status;
  }

  template <class Condition>
  void wait(Condition condition, const char* what) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {
        throw std::runtime_error(name_ + " does not " + what +
                                 ": is this design's bitstream loaded?");
      }
    }
  }

  std::string name_;
  Registers registers_;
  std::uint32_t base_;
};

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void send_parameters(const DmaMemory& memory) {
  if (design::kParameters.file[0] == '\0') return;
  const Bytes content = read_file(design::kParameters.file);
  if (content.size() != design::kParameters.bytes || content.size() > memory.size) {
    throw std::runtime_error(std::string(design::kParameters.file) +
                             " is not this design's, or the buffer is too small");
  }
  std::memcpy(memory.bytes, content.data(), content.size());
  Channel channel("dma_parameters", design::kParameters.address, false);
  channel.start(memory.physical, content.size());
  channel.finish();
}

/// Frames in the order of the file, each padded to whole beats.
void run_batch(const DmaMemory& memory, std::vector<Channel>& to, std::vector<Channel>& from,
               Registers& counter, const Bytes& codes, std::size_t first, std::size_t frames,
               std::vector<Bytes>& results) {
  const design::Port& input = design::kInput;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    std::uint8_t* row = memory.bytes + frame * input.padded;
    std::memcpy(row, codes.data() + (first + frame) * input.bytes, input.bytes);
    std::memset(row + input.bytes, 0, input.padded - input.bytes);
  }
  counter.write(0, static_cast<std::uint32_t>(frames));
  std::size_t offset = frames * input.padded;
  std::vector<std::size_t> offsets;
  for (std::size_t port = 0; port < from.size(); ++port) {
    offsets.push_back(offset);
    from[port].start(memory.physical + offset, frames * design::kOutputs[port].padded);
    offset += frames * design::kOutputs[port].padded;
  }
  to[0].start(memory.physical, frames * input.padded);
  to[0].finish();
  for (std::size_t port = 0; port < from.size(); ++port) {
    from[port].finish();
    const design::Port& output = design::kOutputs[port];
    for (std::size_t frame = 0; frame < frames; ++frame) {
      const std::uint8_t* row = memory.bytes + offsets[port] + frame * output.padded;
      results[port].insert(results[port].end(), row, row + output.bytes);
    }
  }
}

std::size_t largest_batch(const DmaMemory& memory) {
  std::size_t frame = design::kInput.padded, widest = frame;
  for (const design::Port& output : design::kOutputs) {
    frame += output.padded;
    widest = std::max(widest, output.padded);
  }
  return std::min(memory.size / frame, design::kLargestTransfer / widest);
}

void run(const std::string& source, const std::string& prefix) {
  const Bytes codes = read_file(source);
  if (codes.empty() || codes.size() % design::kInput.bytes) {
    throw std::runtime_error(source + " holds no whole frames of " +
                             std::to_string(design::kInput.bytes) + " bytes");
  }
  const DmaMemory memory = host::open_memory();
  const std::size_t batch = largest_batch(memory), frames = codes.size() / design::kInput.bytes;
  if (batch == 0) throw std::runtime_error("the DMA buffer is smaller than a frame");
  send_parameters(memory);
  std::vector<Channel> to, from;
  to.emplace_back(design::kInput.name, design::kInput.address, false);
  for (const design::Port& port : design::kOutputs)
    from.emplace_back(port.name, port.address, true);
  Registers counter(design::kCounterAddress);
  std::vector<Bytes> results(from.size());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t first = 0; first < frames; first += batch) {
    run_batch(memory, to, from, counter, codes, first, std::min(batch, frames - first), results);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  for (std::size_t port = 0; port < from.size(); ++port) {
    std::ofstream file(prefix + design::kOutputs[port].name + ".bin", std::ios::binary);
    file.write(reinterpret_cast<const char*>(results[port].data()),
               static_cast<std::streamsize>(results[port].size()));
  }
  std::printf("%zu frames in %.6f s, copies included\n", frames, spent.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s INPUT.bin RESULT_PREFIX\n", argv[0]);
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "error: %s\n", fault.what());
    return 2;
  }
  return 0;
}
