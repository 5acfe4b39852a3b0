#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "simulation/measurements.hpp"
#include "simulation/options.hpp"
#include "simulation/pattern.hpp"
#include "simulation/scheduler.hpp"

namespace fr {
namespace sim {

/// After an interrupt the run stops and the result holds what was measured until then.
inline volatile std::sig_atomic_t interrupt_signal = 0;

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

inline void prepare(const Options& options, Scheduler& scheduler) {
  select_streams(options, scheduler.channels);
  for (std::size_t i = 0; i < scheduler.channels.size(); ++i) {
    scheduler.channels[i]->number = static_cast<std::uint32_t>(i);
  }
  if (options.pattern.empty()) return;
  for (Task& task : scheduler.tasks) task.pattern = std::make_unique<Pattern>();
}

/// What is measured and checked at the start, in a deadlock and at the end.
inline void observe(const Options& options, Measurements& measured) {
  Scheduler& scheduler = Scheduler::instance();
  std::signal(SIGINT, [](int) { interrupt_signal = 1; });
  scheduler.interrupted = [] { return interrupt_signal != 0; };
  scheduler.on_start = [&] { prepare(options, scheduler); };
  scheduler.on_deadlock = [&] { measured.take(scheduler); };
  scheduler.on_end = [&] {
    if (scheduler.blocked.empty()) measured.take(scheduler);
    measured.conclude(scheduler);
    close_dumps(scheduler.channels);
    if (measured.finished()) demand_empty(scheduler.channels);
    // After a deadlock the network ran on without limits, so the pattern is complete as well.
    if (!options.pattern.empty() && scheduler.finished()) {
      Measurements::write_pattern(options.pattern, scheduler);
    }
  };
}

/// Writes the result; exit status 0, 3 after a deadlock, 130 when interrupted.
inline int conclude(const Options& options, const Measurements& measured) {
  if (!options.result.empty()) measured.write_json(options.result);
  if (measured.deadlocked()) {
    std::fprintf(stderr, "deadlock: no task can go on\n%s", measured.deadlock_text().c_str());
    return 3;
  }
  return measured.finished() ? 0 : 130;
}

}  // namespace sim
}  // namespace fr
