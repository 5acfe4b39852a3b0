#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "simulation/network.hpp"
#include "simulation/testbench_ports.hpp"

#ifdef FR_PROBES
#  include "simulation/probe.hpp"
#endif

namespace fr {
namespace sim {

template <class Beat>
void feed_frame(const Port& port, CodeReader& reader, stream<Beat>& in) {
  for (std::size_t i = 0; i < port.beats(); ++i) {
    Beat beat;
    pack_beat(reader.beat(i), i + 1 == port.beats(), &beat);
    in.write(beat);
  }
}

template <class Beat>
void drain_frame(const Port& port, CodeWriter& writer, stream<Beat>& out) {
  for (std::size_t i = 0; i < port.beats(); ++i) {
    if (out.empty()) {
      throw Fault("output '" + std::string(port.name) + "' has " + std::to_string(i) +
                  " beats in a frame instead of " + std::to_string(port.beats()));
    }
    const bool last = unpack_beat(out.read(), writer.beat(i));
    writer.commit(i, last);
  }
}

template <class Beat>
void demand_drained(const char* kind, const Port& port, const stream<Beat>& s) {
  if (s.empty()) return;
  throw Fault(std::string(kind) + " '" + port.name + "' still holds " +
              std::to_string(s.pending()) + " beats after a frame");
}

/// Untimed run: per frame, feed the inputs, call the top once, drain the outputs.
template <class Beat>
int run(const Options& options, Testbench<Beat>& bench) {
  auto readers = open_inputs(options, bench.inputs);
  auto writers = open_outputs(options, bench.outputs);
  std::deque<stream<Beat>> in(bench.inputs.size());
  std::deque<stream<Beat>> out(bench.outputs.size());
  for (const std::string& name : options.streams) {
    Network::instance().dump_to(name, options.dump_dir + "/" + name + ".bin");
  }
#ifdef FR_PROBES
  Probes::instance().record_in(options.probe_dir);
#endif
  for (unsigned long frame = 0; frame < options.frames; ++frame) {
    for (std::size_t i = 0; i < in.size(); ++i) feed_frame(bench.inputs[i], readers[i], in[i]);
    bench.top(in, out);
    for (std::size_t i = 0; i < in.size(); ++i) demand_drained("input", bench.inputs[i], in[i]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      drain_frame(bench.outputs[i], writers[i], out[i]);
      demand_drained("output", bench.outputs[i], out[i]);
    }
    report_progress(options, frame + 1);
  }
  for (CodeWriter& writer : writers) writer.close();
  Network::instance().close_dumps();
#ifdef FR_PROBES
  Probes::instance().close();
#endif
  return 0;
}

}  // namespace sim
}  // namespace fr
