// Timing of a recorded design without its data: replays the stream accesses of every task on the
// cycle-level runtime. Takes --pattern FILE (written by a simulation with the same option) and the
// options --settings, --frames, --trace and --result of a simulation. Exit status as there.

#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "simulation/observe.hpp"
#include "simulation/pattern.hpp"
#include "simulation/scheduler.hpp"

namespace {

using fr::sim::Channel;
using fr::sim::Fault;
using fr::sim::Pattern;
using fr::sim::Scheduler;
using fr::sim::Task;

/// A stream without tokens.
class BareChannel final : public Channel {
 public:
  using Channel::Channel;

 private:
  void dump_token(std::uint64_t) override {}
};

struct RecordedTask {
  std::string name;
  std::int64_t pipeline_depth, restart;
  Pattern pattern;
};

struct Recording {
  std::vector<std::pair<std::string, std::uint64_t>> streams;
  std::deque<RecordedTask> tasks;
};

RecordedTask read_task(std::istream& in) {
  RecordedTask task;
  std::size_t steps = 0, runs = 0;
  in >> task.name >> task.pipeline_depth >> task.restart >> steps >> runs;
  for (std::size_t i = 0; i < steps; ++i) {
    Pattern::Step step;
    in >> step.interval;
    for (auto* streams : {&step.reads, &step.writes}) {
      std::size_t count = 0;
      in >> count;
      streams->resize(count);
      for (std::uint32_t& stream : *streams) in >> stream;
    }
    task.pattern.steps.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < runs; ++i) {
    Pattern::Run run{0, 0};
    in >> run.step >> run.count;
    task.pattern.runs.push_back(run);
  }
  return task;
}

Recording read_recording(const std::string& path) {
  std::ifstream in(path);
  Recording recording;
  std::string key;
  while (in >> key) {
    if (key == "stream") {
      std::pair<std::string, std::uint64_t> stream;
      in >> stream.first >> stream.second;
      recording.streams.push_back(stream);
    } else {
      recording.tasks.push_back(read_task(in));
    }
  }
  if (recording.tasks.empty()) throw Fault("'" + path + "' is no recorded pattern");
  return recording;
}

/// Replays one frame of a task. With `spread` its iterations are spaced evenly over that many
/// cycles, otherwise as recorded.
class Replay {
 public:
  Replay(const Pattern& pattern, std::deque<BareChannel>& channels, std::int64_t spread)
      : pattern_(pattern), spread_(spread) {
    for (const Pattern::Step& step : pattern.steps) {
      BoundStep& bound = steps_.emplace_back();
      bound.interval = step.interval;
      for (const std::uint32_t stream : step.reads) bound.reads.push_back(&channels[stream]);
      for (const std::uint32_t stream : step.writes) bound.writes.push_back(&channels[stream]);
    }
  }

  void operator()() {
    Task& self = Scheduler::instance().current();
    const std::int64_t total = spread_ > 0 ? static_cast<std::int64_t>(pattern_.iterations()) : 1;
    std::int64_t done = 0;
    for (const Pattern::Run& run : pattern_.runs) {
      const BoundStep& step = steps_[run.step];
      for (std::uint64_t i = 0; i < run.count; ++i, ++done) {
        self.iteration(spread_ > 0 ? (done + 1) * spread_ / total - done * spread_ / total
                                   : step.interval);
        for (Channel* channel : step.reads) self.note_read(*channel);
        for (Channel* channel : step.writes) self.note_write(*channel);
      }
    }
  }

 private:
  // A step of the pattern with its streams looked up.
  struct BoundStep {
    std::int64_t interval;
    std::vector<Channel*> reads, writes;
  };

  const Pattern& pattern_;
  std::int64_t spread_;
  std::vector<BoundStep> steps_;
};

int run(fr::sim::Options options) {
  Scheduler& scheduler = Scheduler::instance();
  if (!options.settings.empty()) scheduler.settings.read(options.settings);
  scheduler.frames = options.frames;
  const Recording recording = read_recording(options.pattern);
  options.pattern.clear();  // replayed, not recorded
  std::deque<BareChannel> channels;
  for (const auto& stream : recording.streams) {
    scheduler.add_channel(&channels.emplace_back(
        stream.first, scheduler.settings.depth(stream.first, stream.second)));
  }
  std::deque<Replay> replays;
  for (const RecordedTask& task : recording.tasks) {
    replays.emplace_back(task.pattern, channels, scheduler.settings.spread(task.name));
    scheduler.add_task(task.name.c_str(), replays.back());
    scheduler.tasks.back().pipeline_depth =
        scheduler.settings.pipeline_depth(task.name, task.pipeline_depth);
    scheduler.tasks.back().restart = task.restart;
  }
  fr::sim::Measurements measured;
  fr::sim::observe(options, measured);
  scheduler.run();
  return fr::sim::conclude(options, measured);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(fr::sim::parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
