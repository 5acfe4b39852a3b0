#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "simulation/fault.hpp"

namespace fr {
namespace sim {

/// Command line of a simulation executable.
struct Options {
  std::vector<std::string> inputs;   ///< --input a.bin[,b.bin]   codes, NHWC, frames back to back
  std::vector<std::string> outputs;  ///< --output a.bin[,b.bin]
  unsigned long frames = 1;          ///< --frames N
  std::string dump_dir;              ///< --dump DIR
  std::vector<std::string> streams;  ///< --streams a,b: those to dump
  std::string parameters;            ///< --parameters FILE: sent once to the parameter port
  std::string probe_dir;             ///< --probes DIR (builds with FR_PROBES)
  bool progress = false;             ///< --progress: "frame N" on stdout after each frame
#ifdef FR_TIMED
  std::string settings;  ///< --settings FILE: depths and latencies, see settings.hpp
  std::string result;    ///< --result FILE: the measurements as JSON
  std::string pattern;   ///< --pattern FILE: the stream accesses of a frame, see replay.cpp
  std::vector<std::string> traces;    ///< --trace a,b: occupancy of these streams over time
  double input_beats_per_cycle = 1;   ///< --input-rate R
  double output_beats_per_cycle = 1;  ///< --output-rate R
#endif
};

inline std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = text.find(',', begin);
    if (end == std::string::npos) end = text.size();
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

inline unsigned long parse_count(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || text[0] == '-' || *end != '\0') {
    throw Fault(key + " takes a whole number, not '" + text + "'");
  }
  return value;
}

#ifdef FR_TIMED
inline double parse_rate(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0) || value > 1) {
    throw Fault(key + " takes beats per cycle above 0 and at most 1, not '" + text + "'");
  }
  return value;
}
#endif

inline Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--progress") {
      options.progress = true;
      continue;
    }
    if (i + 1 >= argc) throw Fault("option '" + key + "' is unknown or lacks its value");
    const std::string value = argv[++i];
    if (key == "--input") {
      options.inputs = split_commas(value);
    } else if (key == "--output") {
      options.outputs = split_commas(value);
    } else if (key == "--frames") {
      options.frames = parse_count(key, value);
    } else if (key == "--dump") {
      options.dump_dir = value;
    } else if (key == "--streams") {
      options.streams = split_commas(value);
    } else if (key == "--parameters") {
      options.parameters = value;
    } else if (key == "--probes") {
      options.probe_dir = value;
#ifdef FR_TIMED
    } else if (key == "--settings") {
      options.settings = value;
    } else if (key == "--result") {
      options.result = value;
    } else if (key == "--pattern") {
      options.pattern = value;
    } else if (key == "--trace") {
      options.traces = split_commas(value);
    } else if (key == "--input-rate") {
      options.input_beats_per_cycle = parse_rate(key, value);
    } else if (key == "--output-rate") {
      options.output_beats_per_cycle = parse_rate(key, value);
#endif
    } else {
      throw Fault("option '" + key + "' is unknown");
    }
  }
  return options;
}

}  // namespace sim
}  // namespace fr
