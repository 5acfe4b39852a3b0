#pragma once

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "simulation/measurements.hpp"
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

/// The memory side of an input port: one frame of beats.
template <class Beat>
void feed_frame(const Port& port, double rate, CodeReader& reader, stream<Beat>& in) {
  for (std::size_t i = 0; i < port.beats(); ++i) {
    Scheduler::instance().current().iteration(beat_interval(i, rate));
    Beat beat;
    pack_beat(reader.beat(i), i + 1 == port.beats(), &beat);
    in.write(beat);
  }
}

/// The memory side of an output port: one frame of beats.
template <class Beat>
void drain_frame(const Port& port, double rate, CodeWriter& writer, stream<Beat>& out) {
  for (std::size_t i = 0; i < port.beats(); ++i) {
    Scheduler::instance().current().iteration(beat_interval(i, rate));
    const bool last = unpack_beat(out.read(), writer.beat(i));
    writer.commit(i, last);
  }
}

inline volatile std::sig_atomic_t interrupt_signal = 0;

/// After an interrupt the run stops and the result holds what was measured until then.
inline void stop_on_interrupt() {
  std::signal(SIGINT, [](int) { interrupt_signal = 1; });
  Scheduler::instance().interrupted = [] { return interrupt_signal != 0; };
}

/// Opens the dump files and marks the traced streams; a name no stream has is a Fault.
inline void select_streams(const Options& options, const std::vector<Channel*>& channels) {
  const auto find = [&channels](const std::string& name) {
    for (Channel* channel : channels) {
      if (channel->name == name) return channel;
    }
    throw Fault("no stream is named '" + name + "': check the names against project.json");
  };
  for (const std::string& name : options.streams) {
    find(name)->dump = open_for_writing(options.dump_dir + "/" + name + ".bin");
  }
  for (const std::string& name : options.traces) find(name)->traced = true;
}

inline void close_dumps(const std::vector<Channel*>& channels) {
  for (Channel* channel : channels) close_written(channel->dump, "a stream dump");
}

inline void demand_empty(const std::vector<Channel*>& channels) {
  for (const Channel* channel : channels) {
    const std::uint64_t left = channel->committed - channel->released;
    if (left == 0) continue;
    throw Fault(
        "stream '" + channel->name + "' still holds " + std::to_string(left) +
        " tokens after the last frame: its reader takes fewer tokens than its writer makes");
  }
}

template <class Beat>
std::deque<stream<Beat>> make_ports(const std::vector<Port>& ports) {
  // A register slice: full rate, no storage to speak of.
  constexpr std::size_t kPortDepth = 2;
  std::deque<stream<Beat>> streams;
  for (const Port& port : ports) streams.emplace_back(port.name, kPortDepth);
  return streams;
}

/// Both memory sides of the ports as tasks beside those of the design; they have its ports' names.
template <class Beat>
void add_memory_tasks(const Options& options, const Testbench<Beat>& bench,
                      std::deque<CodeReader>& readers, std::deque<stream<Beat>>& in,
                      std::deque<CodeWriter>& writers, std::deque<stream<Beat>>& out) {
  Scheduler& scheduler = Scheduler::instance();
  for (std::size_t i = 0; i < in.size(); ++i) {
    scheduler.add_task(bench.inputs[i].name, [&, i] {
      feed_frame(bench.inputs[i], options.input_beats_per_cycle, readers[i], in[i]);
    });
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    scheduler.add_task(bench.outputs[i].name, [&, i] {
      drain_frame(bench.outputs[i], options.output_beats_per_cycle, writers[i], out[i]);
      if (i == 0) report_progress(options, ++scheduler.frames_done);
    });
  }
}

/// What is measured and checked at the start, in a deadlock and at the end.
inline void observe(const Options& options, Measurements& measured) {
  Scheduler& scheduler = Scheduler::instance();
  scheduler.on_start = [&] { select_streams(options, scheduler.channels); };
  scheduler.on_deadlock = [&] { measured.take(scheduler); };
  scheduler.on_end = [&] {
    if (scheduler.blocked.empty()) measured.take(scheduler);
    measured.conclude(scheduler);
    close_dumps(scheduler.channels);
    if (measured.finished()) demand_empty(scheduler.channels);
  };
}

/// Cycle-level run of all frames, overlapping as in hardware. Exit status 0, 3 after a deadlock,
/// 130 when interrupted.
template <class Beat>
int run(const Options& options, Testbench<Beat>& bench) {
  Scheduler& scheduler = Scheduler::instance();
  if (!options.settings.empty()) scheduler.settings.read(options.settings);
  scheduler.frames = options.frames;
  stop_on_interrupt();
  auto readers = open_inputs(options, bench.inputs);
  auto writers = open_outputs(options, bench.outputs);
  auto in = make_ports<Beat>(bench.inputs);
  auto out = make_ports<Beat>(bench.outputs);
#ifdef FR_PROBES
  Probes::instance().record_in(options.probe_dir);
#endif
  Measurements measured;
  observe(options, measured);
  add_memory_tasks(options, bench, readers, in, writers, out);
  bench.top(in, out);
  for (CodeWriter& writer : writers) writer.close();
#ifdef FR_PROBES
  Probes::instance().close();
#endif
  if (!options.result.empty()) measured.write_json(options.result);
  if (measured.deadlocked()) {
    std::fprintf(stderr, "deadlock: no task can go on\n%s", measured.deadlock_text().c_str());
    return 3;
  }
  return measured.finished() ? 0 : 130;
}

}  // namespace sim
}  // namespace fr
