// Runs the graphs of a file (network.sv gives the format) on the cycle-level runtime and prints
// what network.sv prints, except that "B" names the one stream a task waits for and its state.

#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "stream.hpp"
#include "task.hpp"

namespace {

struct TaskShape {
  int iterations, interval, latency, restart;
};

struct StreamShape {
  int writer, reader, depth, tokens, write_phase, write_period, read_phase, read_period;
};

struct Graph {
  int frames;
  std::vector<TaskShape> tasks;
  std::vector<StreamShape> streams;
};

bool hits(int k, int phase, int period, int tokens) {
  return k >= phase && (k - phase) % period == 0 && (k - phase) / period < tokens;
}

bool read_graph(std::istream& in, Graph* graph) {
  int tasks, streams;
  if (!(in >> tasks >> streams >> graph->frames)) return false;
  graph->tasks.resize(static_cast<std::size_t>(tasks));
  graph->streams.resize(static_cast<std::size_t>(streams));
  for (TaskShape& t : graph->tasks) in >> t.iterations >> t.interval >> t.latency >> t.restart;
  for (StreamShape& s : graph->streams) {
    in >> s.writer >> s.reader >> s.depth >> s.tokens >> s.write_phase >> s.write_period >>
        s.read_phase >> s.read_period;
  }
  return true;
}

void task(const Graph& graph, int self, std::deque<fr::stream<int>>& streams) {
  for (int k = 0; k < graph.tasks[static_cast<std::size_t>(self)].iterations; ++k) {
    fr::iteration(graph.tasks[static_cast<std::size_t>(self)].interval);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const StreamShape& shape = graph.streams[s];
      if (shape.reader == self && hits(k, shape.read_phase, shape.read_period, shape.tokens)) {
        const int expected = (k - shape.read_phase) / shape.read_period;
        if (streams[s].read() != expected) throw fr::sim::Fault("tokens out of order");
      }
    }
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const StreamShape& shape = graph.streams[s];
      if (shape.writer == self && hits(k, shape.write_phase, shape.write_period, shape.tokens)) {
        streams[s].write((k - shape.write_phase) / shape.write_period);
      }
    }
  }
}

// Copied at a standstill, before the scheduler lifts the depths.
struct Snapshot {
  std::vector<std::string> lines;

  void take(const fr::sim::Scheduler& scheduler) {
    char line[128];
    for (std::size_t t = 0; t < scheduler.tasks.size(); ++t) {
      const auto& frames = scheduler.tasks[t].frames;
      for (std::size_t f = 0; f < frames.size(); ++f) {
        if (frames[f].begin < 0) continue;
        std::snprintf(line, sizeof line, "T %zu %zu %lld %lld", t, f,
                      static_cast<long long>(frames[f].begin),
                      static_cast<long long>(frames[f].end));
        lines.push_back(line);
      }
    }
    for (std::size_t s = 0; s < scheduler.channels.size(); ++s) {
      const fr::sim::Channel& channel = *scheduler.channels[s];
      std::snprintf(line, sizeof line, "S %zu %llu %llu %llu", s,
                    static_cast<unsigned long long>(channel.committed),
                    static_cast<unsigned long long>(channel.released),
                    static_cast<unsigned long long>(channel.max_occupancy));
      lines.push_back(line);
    }
    for (const fr::sim::Blocked& wait : scheduler.blocked) {
      lines.push_back("B " + wait.task->name + " " + wait.channel->name +
                      (wait.wait == fr::sim::Wait::kFull ? " full" : " empty"));
    }
  }
};

void run_graph(const Graph& graph) {
  fr::sim::Scheduler& scheduler = fr::sim::Scheduler::instance();
  scheduler.frames = static_cast<unsigned long>(graph.frames);
  std::deque<std::string> names;
  std::deque<fr::stream<int>> streams;
  for (const StreamShape& shape : graph.streams) {
    const std::string name = std::to_string(streams.size());
    streams.emplace_back().set_name(name, static_cast<std::uint64_t>(shape.depth));
  }
  std::deque<std::function<void()>> bodies;
  for (int t = 0; t < static_cast<int>(graph.tasks.size()); ++t) {
    names.push_back(std::to_string(t));
    scheduler.add_task(names.back().c_str(),
                       bodies.emplace_back([&, t] { task(graph, t, streams); }));
    scheduler.tasks.back().pipeline_depth = graph.tasks[static_cast<std::size_t>(t)].latency;
    scheduler.tasks.back().restart = graph.tasks[static_cast<std::size_t>(t)].restart;
  }
  Snapshot snapshot;
  bool deadlock = false;
  scheduler.on_deadlock = [&] {
    deadlock = true;
    snapshot.take(scheduler);
  };
  scheduler.on_end = [&] {
    if (!deadlock) snapshot.take(scheduler);
  };
  FR_DATAFLOW_END();
  std::puts(deadlock ? "dead" : "done");
  for (const std::string& line : snapshot.lines) std::puts(line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  Graph graph;
  while (read_graph(file, &graph)) run_graph(graph);
  return 0;
}
