#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fr {
namespace sim {

/// Which streams a task's iterations read and write during one frame. Control does not depend on
/// data, so every frame has the same pattern, and timing can be computed from it without the data.
class Pattern {
 public:
  /// One kind of iteration: its interval and the numbers of the streams it uses.
  struct Step {
    std::int64_t interval = 1;
    std::vector<std::uint32_t> reads, writes;
    bool operator<(const Step& other) const {
      if (interval != other.interval) return interval < other.interval;
      return reads != other.reads ? reads < other.reads : writes < other.writes;
    }
  };
  /// `count` iterations of kind `step` in a row.
  struct Run {
    std::size_t step;
    std::uint64_t count;
  };

  std::vector<Step> steps;
  std::vector<Run> runs;

  void begin_iteration(std::int64_t interval) {
    end_iteration();
    open_ = true;
    current_.interval = interval;
  }
  void read(std::uint32_t stream) { current_.reads.push_back(stream); }
  void write(std::uint32_t stream) { current_.writes.push_back(stream); }

  void end_iteration() {
    if (!open_) return;
    const auto kind = kinds_.try_emplace(current_, steps.size());
    if (kind.second) steps.push_back(current_);
    add(kind.first->second, 1);
    current_ = Step();
    open_ = false;
  }

  void add(std::size_t step, std::uint64_t count) {
    if (!runs.empty() && runs.back().step == step) {
      runs.back().count += count;
    } else {
      runs.push_back({step, count});
    }
  }

  std::uint64_t iterations() const {
    std::uint64_t total = 0;
    for (const Run& run : runs) total += run.count;
    return total;
  }

  /// "task NAME PIPELINE_DEPTH RESTART STEPS RUNS", a line per step (interval, reads, writes, both
  /// with their count first), a line of step and count pairs.
  std::string text(const std::string& name, std::int64_t pipeline_depth,
                   std::int64_t restart) const {
    std::string out = "task " + name + " " + std::to_string(pipeline_depth) + " " +
                      std::to_string(restart) + " " + std::to_string(steps.size()) + " " +
                      std::to_string(runs.size()) + "\n";
    for (const Step& step : steps) {
      out += std::to_string(step.interval) + numbers(step.reads) + numbers(step.writes) + "\n";
    }
    for (const Run& run : runs) {
      out += std::to_string(run.step) + " " + std::to_string(run.count) + " ";
    }
    return out + "\n";
  }

 private:
  static std::string numbers(const std::vector<std::uint32_t>& streams) {
    std::string out = " " + std::to_string(streams.size());
    for (const std::uint32_t stream : streams) out += " " + std::to_string(stream);
    return out;
  }

  std::map<Step, std::size_t> kinds_;
  Step current_;
  bool open_ = false;
};

}  // namespace sim
}  // namespace fr
