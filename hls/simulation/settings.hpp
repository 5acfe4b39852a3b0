#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "simulation/fault.hpp"

namespace fr {
namespace sim {

/// What a cycle-level run may change without a new compilation.
///
/// Text file, one setting a line, names as in FR_NAMED and FR_TASK:
///   depth STREAM N          depth in tokens in place of the built one
///   pipeline TASK N         cycles from an iteration's reads to its writes (default 0)
///   style TASK S            its pipeline: stp stalls as a whole (default), frp and flp drain
///   restart N               idle cycles between a drained pipeline and the next frame (default 0)
///   grow STREAM             may grow when it is full on a cycle of waiting tasks
///   spread TASK N           replay only: a frame's iterations spaced evenly over N cycles
///   ends STREAM WRITER READER   who uses a stream; lets `grow` see the whole cycle
class Settings {
 public:
  std::int64_t restart = 0;
  std::set<std::string> growable;

  struct Ends {
    std::string writer, reader;
  };
  std::map<std::string, Ends> ends;

  std::uint64_t depth(const std::string& stream, std::uint64_t built) const {
    const auto found = depths_.find(stream);
    return found == depths_.end() ? built : found->second;
  }

  std::int64_t pipeline_depth(const std::string& task, std::int64_t built = 0) const {
    const auto found = pipeline_depths_.find(task);
    return found == pipeline_depths_.end() ? built : found->second;
  }

  bool drains(const std::string& task) const { return draining_.count(task) > 0; }

  std::int64_t spread(const std::string& task) const {
    const auto found = spreads_.find(task);
    return found == spreads_.end() ? 0 : found->second;
  }

  void read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Fault("cannot read settings '" + path + "'");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (!line.empty() && !read_line(line)) {
        throw Fault("settings '" + path + "' line " + std::to_string(number) + ": '" + line +
                    "' is not a setting");
      }
    }
  }

 private:
  bool read_line(const std::string& line) {
    std::istringstream words(line);
    std::string key, name;
    std::int64_t value = 0;
    words >> key;
    if (key == "restart") return static_cast<bool>(words >> restart) && restart >= 0;
    words >> name;
    if (key == "grow") return growable.insert(name).second;
    if (key == "style") {
      std::string style;
      words >> style;
      if (style == "frp" || style == "flp") draining_.insert(name);
      return style == "stp" || style == "frp" || style == "flp";
    }
    if (key == "ends") {
      Ends pair;
      if (!(words >> pair.writer >> pair.reader)) return false;
      ends[name] = pair;
      return true;
    }
    if (!(words >> value)) return false;
    if (key == "depth" && value >= 1) {
      depths_[name] = static_cast<std::uint64_t>(value);
      return true;
    }
    if (key == "pipeline" && value >= 0) {
      pipeline_depths_[name] = value;
      return true;
    }
    if (key == "spread" && value >= 1) {
      spreads_[name] = value;
      return true;
    }
    return false;
  }

  std::map<std::string, std::uint64_t> depths_;
  std::map<std::string, std::int64_t> pipeline_depths_;
  std::map<std::string, std::int64_t> spreads_;
  std::set<std::string> draining_;
};

}  // namespace sim
}  // namespace fr
