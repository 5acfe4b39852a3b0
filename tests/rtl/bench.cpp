// Drives the streams of the modules in `bench.sv` and records every token they hand over.
//
//   bench FOLDER IDLE MODEL_SEED PLAN...
//
// PLAN is "seed:lane percentages" or "seed:full"; a run starts with a reset and ends when no token
// has moved for IDLE cycles. Input tokens come from FOLDER/<port>_<lane>.bin; run R writes
// FOLDER/R_<port>_<lane>.bin (tokens) and .cyc (cycle of every token, of inputs too), each token in
// whole bytes. A valid output that changes or disappears before it is taken stops the program. An
// output once ready stays so until it takes a token, as the FIFO behind a task does.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "Vbench.h"
#include "verilated.h"

using bytes = std::vector<std::uint8_t>;

/// A port of packed lanes: `valid` and `ready` have a bit for each lane, `data` `bits` for each. A
/// port without `ready` only shows what passes inside.
struct port {
  std::string name;
  bool input;
  int lanes;
  int bits;
  void* valid;
  void* ready;
  void* data;
};

#include "ports.hpp"

// Verilator keeps a vector as little-endian words; so does this machine.
static bool get_bit(const void* vector, int i) {
  return (static_cast<const std::uint8_t*>(vector)[i / 8] >> (i % 8) & 1) != 0;
}

static void set_bit(void* vector, int i, bool value) {
  std::uint8_t& byte = static_cast<std::uint8_t*>(vector)[i / 8];
  byte = static_cast<std::uint8_t>((byte & ~(1 << (i % 8))) | (int{value} << (i % 8)));
}

static bytes get_token(const port& p, int lane) {
  bytes token((p.bits + 7) / 8);
  const int first = lane * p.bits;
  if (first % 8 == 0 && p.bits % 8 == 0) {
    std::memcpy(token.data(), static_cast<const std::uint8_t*>(p.data) + first / 8, token.size());
  } else {
    for (int i = 0; i < p.bits; ++i) set_bit(token.data(), i, get_bit(p.data, first + i));
  }
  return token;
}

static void set_token(const port& p, int lane, const std::uint8_t* token) {
  const int first = lane * p.bits;
  if (first % 8 == 0 && p.bits % 8 == 0) {
    std::memcpy(static_cast<std::uint8_t*>(p.data) + first / 8, token, p.bits / 8);
  } else {
    for (int i = 0; i < p.bits; ++i) set_bit(p.data, first + i, get_bit(token, i));
  }
}

/// One lane of a port and what has passed it.
struct lane_stream {
  int port_index;
  int lane;
  int percent = 100;
  bool pending = false;    ///< input: offered; output: valid and not taken in the last cycle
  bool ready = false;      ///< output: has been ready and has not taken a token since
  bytes shown;             ///< output: what was valid then
  bytes tokens;            ///< input: all of them; output: those taken
  std::size_t passed = 0;  ///< bytes of `tokens`
  std::vector<std::int32_t> cycles;
};

static std::string file_of(const std::string& folder, const port& p, int lane) {
  return folder + "/" + p.name + "_" + std::to_string(lane);
}

static bytes read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return bytes(std::istreambuf_iterator<char>(file), {});
}

class run {
 public:
  run(const std::string& folder, const std::string& plan, VerilatedContext& context)
      : top_(&context), ports_(ports_of(top_)) {
    const auto colon = plan.find(':');
    random_.seed(static_cast<unsigned>(std::stoul(plan.substr(0, colon))));
    const bool full = plan.substr(colon + 1) == "full";
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      for (int lane = 0; lane < ports_[i].lanes; ++lane) {
        lane_stream& s = streams_.emplace_back();
        s.port_index = static_cast<int>(i);
        s.lane = lane;
        if (!full) s.percent = (const int[]){100, 85, 50, 20}[random_() % 4];
        if (ports_[i].input) s.tokens = read_all(file_of(folder, ports_[i], lane) + ".bin");
      }
    }
  }

  void simulate(int idle_limit) {
    reset();
    for (int idle = 0; idle < idle_limit; ++cycle_) {
      drive();
      top_.eval();
      idle = observe() ? 0 : idle + 1;
      clock();
    }
  }

  void write(const std::string& folder, int number) const {
    for (const lane_stream& s : streams_) {
      const port& p = ports_[s.port_index];
      const std::string path =
          folder + "/" + std::to_string(number) + file_of("", p, s.lane).replace(0, 1, "_");
      std::ofstream(path + ".bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(s.tokens.data()),
                 static_cast<std::streamsize>(s.passed));
      std::ofstream(path + ".cyc", std::ios::binary)
          .write(reinterpret_cast<const char*>(s.cycles.data()),
                 static_cast<std::streamsize>(4 * s.cycles.size()));
    }
  }

 private:
  void clock() {
    top_.clk = 1;
    top_.eval();
    top_.clk = 0;
    top_.eval();
  }

  // Random inputs during the reset, so that nothing can rely on them.
  void reset() {
    top_.rst = 1;
    for (int i = 0; i < 3; ++i) {
      drive();
      for (const lane_stream& s : streams_) {
        const port& p = ports_[s.port_index];
        void* driven = p.input ? p.valid : p.ready;
        if (driven != nullptr) set_bit(driven, s.lane, (random_() & 1) != 0);
      }
      clock();
    }
    top_.rst = 0;
    for (lane_stream& s : streams_) s.pending = s.ready = false;
  }

  void drive() {
    for (lane_stream& s : streams_) {
      const port& p = ports_[s.port_index];
      const bool willing = static_cast<int>(random_() % 100) < s.percent;
      if (!p.input) {
        s.ready = s.ready || willing || p.ready == nullptr;
        if (p.ready != nullptr) set_bit(p.ready, s.lane, s.ready);
        continue;
      }
      s.pending = s.passed < s.tokens.size() && (s.pending || willing);
      set_bit(p.valid, s.lane, s.pending);
      if (s.pending) {
        set_token(p, s.lane, s.tokens.data() + s.passed);
      } else {
        bytes garbage((p.bits + 7) / 8);
        for (auto& byte : garbage) byte = static_cast<std::uint8_t>(random_());
        set_token(p, s.lane, garbage.data());
      }
    }
  }

  bool observe() {
    bool moved = false;
    for (lane_stream& s : streams_) {
      const port& p = ports_[s.port_index];
      const bool valid = get_bit(p.valid, s.lane);
      const bool passes = valid && (p.ready == nullptr || get_bit(p.ready, s.lane));
      if (!p.input) check_output(s, p, valid, passes);
      if (!passes) continue;
      moved = true;
      s.passed += (p.bits + 7) / 8;
      s.cycles.push_back(cycle_);
      if (p.input) s.pending = false;
      s.ready = false;
    }
    return moved;
  }

  void check_output(lane_stream& s, const port& p, bool valid, bool passes) {
    const bytes token = valid ? get_token(p, s.lane) : bytes();
    if (s.pending && token != s.shown) {
      std::fprintf(stderr, "%s lane %d, cycle %d: a valid token changed before it was taken\n",
                   p.name.c_str(), s.lane, cycle_);
      std::exit(1);
    }
    s.pending = valid && !passes;
    s.shown = token;
    if (passes) s.tokens.insert(s.tokens.end(), token.begin(), token.end());
  }

  Vbench top_;
  std::vector<port> ports_;
  std::vector<lane_stream> streams_;
  std::mt19937 random_;
  std::int32_t cycle_ = 0;
};

int main(int argc, char** argv) {
  const std::string folder = argv[1];
  for (int i = 4; i < argc; ++i) {
    VerilatedContext context;
    context.randReset(2);  // registers start with random bits
    context.randSeed(std::atoi(argv[3]) + i);
    run one(folder, argv[i], context);
    one.simulate(std::atoi(argv[2]));
    one.write(folder, i - 4);
  }
  return 0;
}
