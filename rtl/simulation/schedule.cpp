// Timing of a generated RTL network without its data: what its control does, clock by clock.
//
//   schedule NETWORK RESULT FRAMES [trace]
//
// NETWORK is written by finn_resnet.generation.rtl.schedule; RESULT has the form of a cycle-level
// simulation's (hls/simulation/measurements.hpp), with `trace` also the clocks in which every token
// left its writer's module. Exit status 0, 3 in a deadlock. Clock 0 is the
// first one without reset.
//
// Every module of the library starts a step in the clock in which all tokens of the step are there
// and all its outputs have room; flags of FIFOs are registers, so what happens in a clock depends
// on the state before it. Two things reach through: a window buffer's output register is free in
// the clock in which its window is taken, so readers come before writers here.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Cycle = std::int64_t;

/// A FIFO, or a stage of one: flags tell what it holds at the start of a clock.
struct Element {
  char kind = 'f';  ///< f: FIFO, b: block RAM with two registers behind it, r: output register
  std::int64_t depth = 2, held = 0, in_ram = 0;
  bool read_valid = false, out_valid = false;

  bool valid() const { return kind == 'b' ? out_valid : held > 0; }
  bool ready() const { return held < depth; }

  void clock(bool in, bool out) {
    held += in - out;
    if (kind != 'b') return;
    const bool out_step = out || !out_valid;
    const bool read_step = out_step || !read_valid;
    const bool fetches = in_ram > 0 && read_step;
    if (out_step) out_valid = read_valid;
    if (read_step) read_valid = fetches;
    in_ram += in - fetches;
  }
};

/// A stream's lane, from its writer to its reader: elements in a row. The first `own` of them lie
/// in the writer's module. With `places` the writer reserves one when a step begins and the token
/// comes `late` clocks later.
struct Stream {
  std::string name;
  std::int64_t depth = 2, places = 0, late = 0, uncounted = 0;
  std::size_t own = 0;
  std::vector<Element> elements;

  std::int64_t free = 0, tokens_in = 0, tokens_out = 0, before = 0, needed = 0, occupied = 0;
  std::int64_t empty_stalls = 0, full_stalls = 0;
  std::deque<Cycle> due;
  bool pushed = false, popped = false;
  std::string writer, reader;
  std::vector<Cycle> writes;  ///< clocks in which tokens left the writer's module

  bool valid() const { return elements.back().valid(); }

  bool ready() const {
    if (places > 0) return free > 0;
    const Element& first = elements.front();
    if (first.kind != 'r') return first.ready();
    return first.held == 0 || (elements.size() == 1 ? popped : elements[1].ready());
  }

  void push(Cycle now) {
    pushed = true;
    needed = std::max(needed, tokens_in - before + 1 - uncounted);
    ++tokens_in;
    if (places > 0) due.push_back(now + late);
  }

  void pop() {
    popped = true;
    ++tokens_out;
  }

  /// The edge at the end of clock `now`; whether anything moved.
  bool clock(Cycle now) {
    const std::size_t count = elements.size();
    bool in = places > 0 ? !due.empty() && due.front() == now : pushed;
    if (own == 0 && in) writes.push_back(now);
    if (places > 0 && in) due.pop_front();
    bool moved = in || popped || !due.empty();
    for (std::size_t i = 0; i < count; ++i) {
      const bool out = elements[i].valid() && (i + 1 == count ? popped : next_ready_[i + 1] != 0);
      if (i + 1 == own) {
        if (out) writes.push_back(now);
        free += out;
      }
      elements[i].clock(in, out);
      moved = moved || out;
      in = out;
    }
    if (places > 0) free -= pushed;
    before = tokens_out;
    occupied = std::max(occupied, tokens_in - tokens_out);
    pushed = popped = false;
    return moved;
  }

  void note_ready() {
    next_ready_.resize(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) next_ready_[i] = elements[i].ready();
  }

 private:
  std::vector<char> next_ready_;
};

struct FrameRecord {
  Cycle begin = -1, end = -1;
  std::int64_t busy = 0, stalled_on_input = 0, stalled_on_output = 0;
};

/// What all tasks have: a name, the frames, and the stream that holds them up.
struct Task {
  std::string name;
  std::int64_t late = 0;
  std::size_t frames_left = 0;
  std::vector<FrameRecord> frames;
  Stream* waits_for = nullptr;
  bool waits_empty = false;

  virtual ~Task() = default;
  /// Whether the task makes a step in clock `now`.
  virtual bool clock(Cycle now) = 0;

 protected:
  bool available(Stream* stream) { return stream->valid() || held_up(stream, true); }
  bool room(Stream* stream) { return stream->ready() || held_up(stream, false); }

  void note_step(Cycle now, bool first, Cycle end) {
    if (first) frames.emplace_back().begin = now;
    frames.back().end = std::max(frames.back().end, end);
    ++frames.back().busy;
    waits_for = nullptr;
  }

 private:
  bool held_up(Stream* stream, bool empty) {
    waits_for = stream;
    waits_empty = empty;
    ++(empty ? stream->empty_stalls : stream->full_stalls);
    if (!frames.empty()) {
      ++(empty ? frames.back().stalled_on_input : frames.back().stalled_on_output);
    }
    return false;
  }
};

/// A task whose steps are the same in every frame.
class Steps final : public Task {
 public:
  struct Kind {
    std::vector<Stream*> reads, writes;
  };
  std::vector<Kind> kinds;
  std::vector<std::uint16_t> order;  ///< kinds of the steps of a frame
  std::int64_t spread = 0;           ///< clocks over which a frame's steps are spaced, 0: none

  bool clock(Cycle now) override {
    if (frames_left == 0 || (spread > 0 && now < earliest())) return false;
    const Kind& kind = kinds[order[at_]];
    for (Stream* stream : kind.reads) {
      if (!available(stream)) return false;
    }
    for (Stream* stream : kind.writes) {
      if (!room(stream)) return false;
    }
    Cycle end = now;
    for (Stream* stream : kind.reads) stream->pop();
    for (Stream* stream : kind.writes) {
      stream->push(now);
      end = std::max(end, now + stream->late);
    }
    note_step(now, at_ == 0, end);
    if (++at_ == order.size()) {
      at_ = 0;
      --frames_left;
    }
    return true;
  }

 private:
  Cycle earliest() const {
    const auto frame = static_cast<Cycle>(frames.size()) - (at_ > 0 ? 1 : 0);
    return spread * frame + spread * static_cast<Cycle>(at_) / static_cast<Cycle>(order.size());
  }

  std::size_t at_ = 0;
};

/// `frame_span.sv`.
struct Span {
  std::int64_t lag = 0, length = 1;
  bool active = false;

  void clock(bool step, bool first) {
    if (!step) return;
    const bool start = lag == 1 ? first : filling_ && filled_ == lag - 2;
    const bool stop = active && at_ == length - 1;
    if (active) at_ = stop ? 0 : at_ + 1;
    if (lag > 1) {
      if (filling_) filled_ = filled_ == lag - 2 ? 0 : filled_ + 1;
      filling_ = first || (filling_ && !start);
    }
    active = start || (active && !stop);
  }

 private:
  std::int64_t filled_ = 0, at_ = 0;
  bool filling_ = false;
};

/// `window_buffer.sv`: steps without a token push out what a frame leaves, unless the next one
/// comes.
class Window final : public Task {
 public:
  std::vector<Stream*> in, forward;
  Stream* out = nullptr;
  std::int64_t row = 1, rows = 1, groups = 1, ragged = 0, lag = 0, flush = 0, start = 0;
  std::int64_t stride = 1, step_groups = 1, out_rows = 1, out_groups = 1;
  Span span, forward_span;

  bool clock(Cycle now) override {
    const bool active = flush == 0 || lag == 0 || span.active;
    const bool forwards = flush != 0 && !forward.empty() && forward_span.active;
    const bool pushing = flush != 0 && tail_ && ((lag != 0 && active) || forwards);
    if (!room(out)) return false;
    const std::size_t lanes = exists(taken_), forward_lanes = exists(forwarded_);
    for (std::size_t l = 0; forwards && l < forward_lanes; ++l) {
      if (!room(forward[l])) return false;
    }
    const bool given = frames_left > 0 && std::all_of(in.begin(), in.begin() + lanes,
                                                      [](Stream* s) { return s->valid(); });
    if (!given && !pushing) {
      for (std::size_t l = 0; l < lanes && available(in[l]); ++l) {
      }
      return false;
    }
    const bool first = given && tail_;
    if (given) take(now, lanes);
    for (std::size_t l = 0; forwards && l < forward_lanes; ++l) forward[l]->push(now);
    if (forwards) forwarded_ = (forwarded_ + 1) % (row * rows);
    if (lag == 0 ? given || flush == 0 : active) move(now);
    span.clock(true, first);
    forward_span.clock(true, first);
    return true;
  }

 private:
  std::size_t exists(std::int64_t token) const {
    const bool last = token % row / groups == row / groups - 1;
    return ragged != 0 && last ? static_cast<std::size_t>(ragged) : in.size();
  }

  void take(Cycle now, std::size_t lanes) {
    for (std::size_t l = 0; l < lanes; ++l) in[l]->pop();
    note_step(now, taken_ == 0, now);
    taken_ = (taken_ + 1) % (row * rows);
    tail_ = taken_ == 0;
    if (tail_) --frames_left;
  }

  void move(Cycle now) {
    const std::int64_t at = (moved_++ + start) % (row * rows);
    const std::int64_t y = at / row, k = at % row / groups;
    const bool row_on = y % stride == 0 && y / stride < out_rows;
    if (row_on && k % step_groups == 0 && k / step_groups < out_groups) out->push(now);
  }

  std::int64_t taken_ = 0, forwarded_ = 0, moved_ = 0;
  bool tail_ = true;
};

class Network {
 public:
  Network(const std::string& path, std::size_t frames) : frames_(frames) {
    std::ifstream in(path);
    std::string word;
    while (in >> word) {
      if (word == "stream") {
        read_stream(in);
      } else if (word == "steps") {
        read_steps(in);
      } else if (word == "window") {
        read_window(in);
      } else {
        throw std::runtime_error("'" + word + "' in '" + path + "' is unknown");
      }
    }
    if (tasks_.empty()) throw std::runtime_error("'" + path + "' holds no network");
  }

  /// False in a deadlock.
  bool run() {
    Cycle idle = 0;
    // Memory offers its first beat before clock 0.
    for (Cycle now = -1; !finished(); ++now) {
      for (Stream& stream : streams_) stream.note_ready();
      bool moved = false;
      for (Task* task : tasks_) moved = task->clock(now) || moved;
      for (Stream& stream : streams_) moved = stream.clock(now) || moved;
      idle = moved ? 0 : idle + 1;
      if (idle > patience_) return false;
    }
    return true;
  }

  void write_json(const std::string& path, bool done, bool trace) const {
    std::ofstream out(path);
    out << "{\"finished\": " << (done ? "true" : "false") << ",\n\"blocked\": [";
    const char* comma = "";
    for (const Task* task : tasks_) {
      if (done || task->frames_left == 0 || task->waits_for == nullptr) continue;
      out << comma << wait_json(*task);
      comma = ",\n";
    }
    out << "],\n\"circle\": [],\n\"tasks\": [";
    comma = "";
    for (const Task* task : tasks_) {
      out << comma << task_json(*task);
      comma = ",\n";
    }
    out << "],\n\"streams\": [";
    comma = "";
    for (const Stream& stream : streams_) {
      out << comma << stream_json(stream, trace);
      comma = ",\n";
    }
    out << "]}\n";
  }

 private:
  static std::string field(const char* key, std::int64_t value) {
    return "\"" + std::string(key) + "\": " + std::to_string(value);
  }
  static std::string field(const char* key, const std::string& value) {
    return "\"" + std::string(key) + "\": \"" + value + "\"";
  }

  static std::string wait_json(const Task& task) {
    const auto frame = static_cast<std::int64_t>(task.frames.size()) - 1;
    const Cycle at = task.frames.empty() ? 0 : task.frames.back().end;
    return "{" + field("task", task.name) + ", " + field("stream", task.waits_for->name) + ", " +
           field("state", std::string(task.waits_empty ? "empty" : "full")) + ", " +
           field("frame", std::max<std::int64_t>(frame, 0)) + ", " + field("cycle", at) + "}";
  }

  static std::string task_json(const Task& task) {
    std::string text = "{" + field("name", task.name) + ", " + field("pipeline_depth", task.late) +
                       ", \"frames\": [";
    for (const FrameRecord& frame : task.frames) {
      text += (text.back() == '[' ? "{" : ", {") + field("begin", frame.begin) + ", " +
              field("end", frame.end) + ", " + field("busy", frame.busy) + ", " +
              field("stalled_on_input", frame.stalled_on_input) + ", " +
              field("stalled_on_output", frame.stalled_on_output) + "}";
    }
    return text + "]}";
  }

  static std::string stream_json(const Stream& stream, bool trace) {
    std::string text =
        "{" + field("name", stream.name) + ", " + field("depth", stream.depth) + ", " +
        field("tokens", stream.tokens_out) + ", " + field("max_occupancy", stream.occupied) + ", " +
        field("needed_depth", stream.needed) + ", " + field("empty_stalls", stream.empty_stalls) +
        ", " + field("full_stalls", stream.full_stalls) + ", " + field("writer", stream.writer) +
        ", " + field("reader", stream.reader);
    if (!trace) return text + "}";
    text += ", \"writes\": [";
    for (const Cycle time : stream.writes) {
      text += (text.back() == '[' ? "" : ",") + std::to_string(time);
    }
    return text + "]}";
  }

  bool finished() const {
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [](const Task* task) { return task->frames_left == 0; });
  }

  // stream NAME DEPTH PLACES LATE OWN UNCOUNTED COUNT {KIND DEPTH}...
  void read_stream(std::istream& in) {
    Stream& stream = streams_.emplace_back();
    std::size_t count = 0;
    in >> stream.name >> stream.depth >> stream.places >> stream.late >> stream.own;
    in >> stream.uncounted >> count;
    stream.elements.resize(count);
    for (Element& element : stream.elements) in >> element.kind >> element.depth;
    stream.free = stream.places;
    patience_ = std::max(patience_, 2 * stream.late);
  }

  std::vector<Stream*> read_streams(std::istream& in, std::string Stream::* end, const Task& task) {
    std::size_t count = 0, number = 0;
    in >> count;
    std::vector<Stream*> found;
    for (std::size_t i = 0; i < count; ++i) {
      in >> number;
      found.push_back(&streams_.at(number));
      found.back()->*end = task.name;
    }
    return found;
  }

  // steps NAME SPREAD KINDS {READS... WRITES...}... ROWS BLOCKS {REPEAT RUNS {KIND COUNT}...}...
  void read_steps(std::istream& in) {
    Steps& task = steps_.emplace_back();
    std::size_t kinds = 0, rows = 0, blocks = 0;
    in >> task.name >> task.spread >> kinds;
    patience_ = std::max(patience_, 2 * task.spread);
    for (std::size_t i = 0; i < kinds; ++i) {
      Steps::Kind& kind = task.kinds.emplace_back();
      kind.reads = read_streams(in, &Stream::reader, task);
      kind.writes = read_streams(in, &Stream::writer, task);
      for (const Stream* stream : kind.writes) task.late = std::max(task.late, stream->late);
    }
    in >> rows >> blocks;
    std::vector<std::uint16_t> row;
    for (std::size_t b = 0; b < blocks; ++b) {
      std::size_t repeat = 0, runs = 0;
      in >> repeat >> runs;
      std::vector<std::uint16_t> block;
      for (std::size_t r = 0; r < runs; ++r) {
        std::size_t kind = 0, count = 0;
        in >> kind >> count;
        block.insert(block.end(), count, static_cast<std::uint16_t>(kind));
      }
      for (std::size_t i = 0; i < repeat; ++i) row.insert(row.end(), block.begin(), block.end());
    }
    for (std::size_t i = 0; i < rows; ++i) {
      task.order.insert(task.order.end(), row.begin(), row.end());
    }
    add(task);
  }

  // window NAME IN... FORWARD... OUT, then the sizes
  void read_window(std::istream& in) {
    Window& task = windows_.emplace_back();
    in >> task.name;
    task.in = read_streams(in, &Stream::reader, task);
    task.forward = read_streams(in, &Stream::writer, task);
    task.out = read_streams(in, &Stream::writer, task).at(0);
    in >> task.row >> task.rows >> task.groups >> task.ragged >> task.lag >> task.flush >>
        task.start >> task.stride >> task.step_groups >> task.out_rows >> task.out_groups >>
        task.forward_span.lag;
    task.span.lag = task.lag;
    task.span.length = task.forward_span.length = task.row * task.rows;
    task.late = 1;
    add(task);
  }

  void add(Task& task) {
    task.frames_left = frames_;
    tasks_.push_back(&task);
  }

  std::size_t frames_;
  Cycle patience_ = 2000;
  std::deque<Stream> streams_;
  std::deque<Steps> steps_;
  std::deque<Window> windows_;
  std::vector<Task*> tasks_;  ///< readers before writers
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4 && argc != 5)
      throw std::runtime_error("usage: schedule NETWORK RESULT FRAMES [trace]");
    Network network(argv[1], std::stoul(argv[3]));
    const bool done = network.run();
    network.write_json(argv[2], done, argc == 5);
    return done ? 0 : 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
