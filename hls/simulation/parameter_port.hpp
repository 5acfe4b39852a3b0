#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/code_file.hpp"
#include "simulation/fault.hpp"
#include "simulation/file.hpp"
#include "stream.hpp"
#include "task.hpp"

namespace fr {
namespace sim {

/// The memory side of the parameter port: a file of whole beats that is sent once. Without a file
/// nothing is sent, and the design waits as the hardware would.
struct ParameterFile {
  std::string path;  ///< --parameters FILE
  bool sent = false;
};

/// Sends the file in the first call, as one packet.
template <class Beat>
void send_parameters(ParameterFile& parameters, stream<Beat>& port) {
  if (parameters.sent || parameters.path.empty()) return;
  FileHandle file(std::fopen(parameters.path.c_str(), "rb"));
  if (!file) throw Fault("cannot read parameters '" + parameters.path + "'");
  std::vector<std::uint8_t> bytes;
  for (int byte = std::fgetc(file.get()); byte != EOF; byte = std::fgetc(file.get())) {
    bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  if (bytes.empty() || bytes.size() % kBeatBytes != 0) {
    throw Fault("parameters '" + parameters.path + "' are not whole beats of 16 bytes");
  }
  for (std::size_t begin = 0; begin < bytes.size(); begin += kBeatBytes) {
    iteration();
    Beat beat;
    pack_beat(bytes.data() + begin, begin + kBeatBytes == bytes.size(), &beat);
    port.write(beat);
  }
  parameters.sent = true;
}

}  // namespace sim
}  // namespace fr
