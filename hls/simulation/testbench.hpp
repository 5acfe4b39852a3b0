#pragma once

/// The test bench of a generated project. testbench.cpp is only:
///
///   #include "resnet8.hpp"
///   #include "simulation/testbench.hpp"
///   int main(int argc, char** argv) {
///     fr::sim::Testbench<fr::axi_beat> bench;
///     bench.inputs = {{"global_in", 32 * 32 * 3, 1}};
///     bench.outputs = {{"global_out", 10, 1}};
///     bench.top = [](auto& in, auto& out) { resnet8(in[0], out[0]); };
///     return fr::sim::run_main(argc, argv, bench);
///   }
///
/// The beat type comes with two functions found by argument-dependent lookup or in namespace fr:
///   void pack_beat(const std::uint8_t* bytes, bool last, Beat* beat);    16 bytes -> beat
///   bool unpack_beat(const Beat& beat, std::uint8_t* bytes);             beat -> bytes, TLAST

#include <cstdio>
#include <exception>

#ifdef FR_TIMED
#  include "simulation/timed_run.hpp"
#else
#  include "simulation/untimed_run.hpp"
#endif

namespace fr {
namespace sim {

/// Runs the whole simulation; the exit status: 0 done, 1 a fault (one line on stderr), 3 deadlock.
template <class Beat>
int run_main(int argc, char** argv, Testbench<Beat>& bench) {
  try {
    const Options options = parse_options(argc, argv);
    check_file_counts(options, bench.inputs.size(), bench.outputs.size());
    bench.parameters.path = options.parameters;
    return run(options, bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace sim
}  // namespace fr
