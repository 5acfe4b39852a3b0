#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "simulation/observe.hpp"
#include "simulation/scheduler.hpp"
#include "simulation/testbench_ports.hpp"

#ifdef FR_PROBES
#  include "simulation/probe.hpp"
#endif

namespace fr {
namespace sim {

/// Cycles from beat `index` to the next one at `rate` beats per cycle, rounded so that the rate
/// holds over a frame.
inline Cycle beat_interval(std::size_t index, double rate) {
  const double begin = std::floor(static_cast<double>(index) / rate);
  const double end = std::floor(static_cast<double>(index + 1) / rate);
  return static_cast<Cycle>(end - begin);
}

/// The memory side of an input port: a task that sends one frame of beats.
template <class Beat>
struct Feeder {
  const Port& port;
  double rate;
  CodeReader& reader;
  stream<Beat>& in;

  void operator()() {
    for (std::size_t i = 0; i < port.beats(); ++i) {
      Scheduler::instance().current().iteration(beat_interval(i, rate));
      Beat beat;
      pack_beat(reader.beat(i), i + 1 == port.beats(), &beat);
      in.write(beat);
    }
  }
};

/// The memory side of an output port: a task that takes one frame of beats; the first one reports
/// the progress.
template <class Beat>
struct Drainer {
  const Port& port;
  const Options& options;
  bool reports;
  CodeWriter& writer;
  stream<Beat>& out;
  unsigned long frames_done = 0;

  void operator()() {
    for (std::size_t i = 0; i < port.beats(); ++i) {
      Scheduler::instance().current().iteration(beat_interval(i, options.output_beats_per_cycle));
      const bool last = unpack_beat(out.read(), writer.beat(i));
      writer.commit(i, last);
    }
    ++frames_done;
    if (reports) report_progress(options, frames_done);
  }
};

/// Adds a memory side as a task of its port's name; memory starts the next frame at once.
template <class Side>
void add_memory_task(Side& side) {
  Scheduler::instance().add_task(side.port.name, side);
  Scheduler::instance().tasks.back().restart = 0;
}

template <class Beat>
std::deque<stream<Beat>> make_ports(const std::vector<Port>& ports) {
  // A register slice: full rate, no storage to speak of.
  constexpr std::size_t kPortDepth = 2;
  std::deque<stream<Beat>> streams;
  for (const Port& port : ports) streams.emplace_back().set_name(port.name, kPortDepth);
  return streams;
}

/// Cycle-level run of all frames, overlapping as in hardware. Exit status 0, 3 after a deadlock,
/// 130 when interrupted.
template <class Beat>
int run(const Options& options, Testbench<Beat>& bench) {
  Scheduler& scheduler = Scheduler::instance();
  if (!options.settings.empty()) scheduler.settings.read(options.settings);
  scheduler.frames = options.frames;
  auto readers = open_inputs(options, bench.inputs);
  auto writers = open_outputs(options, bench.outputs);
  auto in = make_ports<Beat>(bench.inputs);
  auto out = make_ports<Beat>(bench.outputs);
#ifdef FR_PROBES
  Probes::instance().record_in(options.probe_dir);
#endif
  Measurements measured;
  observe(options, measured);
  std::deque<Feeder<Beat>> feeders;
  for (std::size_t i = 0; i < in.size(); ++i) {
    feeders.push_back({bench.inputs[i], options.input_beats_per_cycle, readers[i], in[i]});
    add_memory_task(feeders.back());
  }
  std::deque<Drainer<Beat>> drainers;
  for (std::size_t i = 0; i < out.size(); ++i) {
    drainers.push_back({bench.outputs[i], options, i == 0, writers[i], out[i]});
    add_memory_task(drainers.back());
  }
  bench.top(in, out);
  for (CodeWriter& writer : writers) writer.close();
#ifdef FR_PROBES
  Probes::instance().close();
#endif
  return conclude(options, measured);
}

}  // namespace sim
}  // namespace fr
