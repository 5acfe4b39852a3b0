#pragma once

#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "simulation/code_file.hpp"
#include "simulation/options.hpp"
#include "simulation/parameter_port.hpp"
#include "stream.hpp"

namespace fr {
namespace sim {

/// Ports in the order of the top function's arguments, and the call itself.
template <class Beat>
struct Testbench {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  ParameterFile parameters;  ///< of designs with a parameter port, which `top` declares
  std::function<void(std::deque<stream<Beat>>& in, std::deque<stream<Beat>>& out)> top;
};

inline void check_file_counts(const Options& options, std::size_t inputs, std::size_t outputs) {
  if (options.inputs.size() != inputs || options.outputs.size() != outputs) {
    throw Fault("the design has " + std::to_string(inputs) + " inputs and " +
                std::to_string(outputs) + " outputs; --input names " +
                std::to_string(options.inputs.size()) + " files, --output " +
                std::to_string(options.outputs.size()));
  }
}

inline std::deque<CodeReader> open_inputs(const Options& options, const std::vector<Port>& ports) {
  std::deque<CodeReader> readers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    readers.emplace_back(options.inputs[i], ports[i], options.frames);
  }
  return readers;
}

inline std::deque<CodeWriter> open_outputs(const Options& options, const std::vector<Port>& ports) {
  std::deque<CodeWriter> writers;
  for (std::size_t i = 0; i < ports.size(); ++i) writers.emplace_back(options.outputs[i], ports[i]);
  return writers;
}

inline void report_progress(const Options& options, unsigned long frames_done) {
  if (!options.progress) return;
  std::printf("frame %lu\n", frames_done);
  std::fflush(stdout);
}

}  // namespace sim
}  // namespace fr
