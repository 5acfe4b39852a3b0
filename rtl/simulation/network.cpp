// Runs frames through a generated RTL network in Verilator.
//
//   network FOLDER FRAMES [--progress]
//
// Input beats come from FOLDER/in_<port>.bin, 16 bytes each; output beats go to
// FOLDER/out_<port>.bin, the tokens of every shown stream to FOLDER/<stream>_<lane>.bin as
// `element_bytes` little-endian bytes a code. FOLDER/cycles.txt has a line for each port: its name,
// then the clocks in which the first and the last beat of every frame passed, counted from the
// first clock without reset. Memory gives and takes a beat in every clock. Exit status 1 with one
// line if the network stands still, a beat passes during the reset, or TLAST is anywhere but at a
// frame's end.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr int kBeatBytes = 16;
/// Clocks without any beat or shown token after which a network stands still.
constexpr std::int64_t kPatience = 1'000'000;

/// An AXI4-Stream port; `beats` of a frame.
struct port {
  std::string name;
  bool input;
  std::size_t beats;
  std::uint8_t* valid;
  std::uint8_t* ready;
  std::uint8_t* last;
  void* data;
};

/// A stream that shows its tokens: `lanes` of `entries` codes of `bits`.
struct shown_stream {
  std::string name;
  int lanes, entries, bits, element_bytes;
  bool is_signed;
  const void* valid;
  const void* data;
};

#include "ports.hpp"

// Verilator keeps a vector as little-endian words; so does this machine.
bool get_bit(const void* vector, int i) {
  return (static_cast<const std::uint8_t*>(vector)[i / 8] >> (i % 8) & 1) != 0;
}

std::uint64_t get_code(const void* vector, int first, int bits, bool is_signed) {
  std::uint64_t code = 0;
  for (int i = 0; i < bits; ++i) code |= std::uint64_t{get_bit(vector, first + i)} << i;
  if (is_signed && (code >> (bits - 1) & 1) != 0) code |= ~std::uint64_t{0} << bits;
  return code;
}

using bytes = std::vector<std::uint8_t>;

bytes read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  return bytes(std::istreambuf_iterator<char>(file), {});
}

void write_all(const std::string& path, const bytes& content) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
  if (!file) throw std::runtime_error("cannot write '" + path + "': is the disk full?");
}

class simulation {
 public:
  simulation(std::string folder, std::size_t frames, bool progress)
      : folder_(std::move(folder)),
        frames_(frames),
        progress_(progress),
        ports_(ports_of(top_)),
        shown_(shown_of(top_)),
        beats_(ports_.size()),
        times_(ports_.size()) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (ports_[i].input) beats_[i] = read_all(folder_ + "/in_" + ports_[i].name + ".bin");
    }
    for (const shown_stream& s : shown_) tokens_.emplace_back(static_cast<std::size_t>(s.lanes));
  }

  void run() {
    reset();
    std::int64_t idle = 0;
    for (; !finished(); ++cycle_) {
      drive();
      top_.eval();
      idle = observe() ? 0 : idle + 1;
      if (idle > kPatience) throw std::runtime_error("the network stands still");
      clock();
    }
    top_.final();
  }

  void write() const {
    std::string text;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (!ports_[i].input) write_all(folder_ + "/out_" + ports_[i].name + ".bin", beats_[i]);
      text += ports_[i].name;
      for (std::size_t f = 0; f < frames_; ++f) {
        for (const std::size_t at : {f * ports_[i].beats, (f + 1) * ports_[i].beats - 1}) {
          text += ' ' + std::to_string(times_[i].at(at));
        }
      }
      text += '\n';
    }
    write_all(folder_ + "/cycles.txt", bytes(text.begin(), text.end()));
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      for (int l = 0; l < shown_[i].lanes; ++l) {
        const std::string path = folder_ + '/' + shown_[i].name + '_' + std::to_string(l) + ".bin";
        write_all(path, tokens_[i][static_cast<std::size_t>(l)]);
      }
    }
  }

 private:
  void clock() {
    top_.ap_clk = 1;
    top_.eval();
    top_.ap_clk = 0;
    top_.eval();
  }

  // The wrapper registers the reset, so the network leaves it one clock after the port.
  void reset() {
    for (const port& p : ports_) *(p.input ? p.valid : p.ready) = 1;
    top_.ap_rst_n = 0;
    for (int i = 0; i < 4; ++i) clock();
    top_.ap_rst_n = 1;
    drive();
    top_.eval();
    if (observe()) throw std::runtime_error("a beat passes during the reset");
    clock();
  }

  void drive() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const port& p = ports_[i];
      if (!p.input) continue;
      const std::size_t at = times_[i].size() * kBeatBytes;
      *p.valid = at < beats_[i].size();
      if (*p.valid) std::memcpy(p.data, beats_[i].data() + at, kBeatBytes);
      *p.last = (times_[i].size() + 1) % p.beats == 0;
    }
  }

  bool observe() {
    bool moved = false;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const port& p = ports_[i];
      if (!*p.valid || !*p.ready) continue;
      moved = true;
      times_[i].push_back(cycle_);
      if (!p.input) take(i);
    }
    for (std::size_t i = 0; i < shown_.size(); ++i) moved = show(shown_[i], &tokens_[i]) || moved;
    return moved;
  }

  void take(std::size_t i) {
    const port& p = ports_[i];
    const bool ends = times_[i].size() % p.beats == 0;
    if ((*p.last != 0) != ends) throw std::runtime_error("TLAST of '" + p.name + "' is misplaced");
    const auto* data = static_cast<const std::uint8_t*>(p.data);
    beats_[i].insert(beats_[i].end(), data, data + kBeatBytes);
    if (ends && progress_) {
      std::printf("frame %zu\n", times_[i].size() / p.beats);
      std::fflush(stdout);
    }
  }

  static bool show(const shown_stream& s, std::vector<bytes>* lanes) {
    bool moved = false;
    for (int l = 0; l < s.lanes; ++l) {
      if (!get_bit(s.valid, l)) continue;
      moved = true;
      for (int e = 0; e < s.entries; ++e) {
        const std::uint64_t code =
            get_code(s.data, (l * s.entries + e) * s.bits, s.bits, s.is_signed);
        for (int b = 0; b < s.element_bytes; ++b) {
          (*lanes)[static_cast<std::size_t>(l)].push_back(
              static_cast<std::uint8_t>(code >> (8 * b)));
        }
      }
    }
    return moved;
  }

  bool finished() const {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (times_[i].size() < frames_ * ports_[i].beats) return false;
    }
    return true;
  }

  std::string folder_;
  std::size_t frames_;
  bool progress_;
  Vtop top_;
  std::vector<port> ports_;
  std::vector<shown_stream> shown_;
  std::vector<bytes> beats_;
  std::vector<std::vector<std::int64_t>> times_;
  std::vector<std::vector<bytes>> tokens_;
  std::int64_t cycle_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::runtime_error("usage: network FOLDER FRAMES [--progress]");
    simulation run(argv[1], std::stoul(argv[2]), argc > 3);
    run.run();
    run.write();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
