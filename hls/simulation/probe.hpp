#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "simulation/file.hpp"

namespace fr {
namespace sim {

/// Files `probe_<id>.bin` of int64 values in call order, all frames; without a directory nothing
/// is kept.
class Probes {
 public:
  static Probes& instance() {
    static Probes probes;
    return probes;
  }

  void record_in(const std::string& directory) { directory_ = directory; }

  void record(int id, std::int64_t value) {
    if (directory_.empty()) return;
    if (id != last_id_) select(id);
    write_bytes(last_file_, &value, sizeof value, "a probe");
  }

  void close() {
    for (auto& file : files_) close_written(file.second, "a probe");
    files_.clear();
    last_id_ = -1;
  }

 private:
  void select(int id) {
    auto& file = files_[id];
    if (!file) file = open_for_writing(directory_ + "/probe_" + std::to_string(id) + ".bin");
    last_id_ = id;
    last_file_ = file.get();
  }

  std::string directory_;
  std::map<int, FileHandle> files_;
  int last_id_ = -1;
  std::FILE* last_file_ = nullptr;
};

}  // namespace sim

/// Records one accumulator of probe `id` before its requantisation.
template <class V>
inline void probe(int id, const V& value) {
  sim::Probes::instance().record(id, static_cast<std::int64_t>(static_cast<long long>(value)));
}

}  // namespace fr
