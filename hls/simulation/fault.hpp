#pragma once

#include <stdexcept>
#include <string>

namespace fr {
namespace sim {

/// A mistake in the simulated design or its use (read of an empty stream, tokens left over, a wrong
/// file size): what() is one line that names the stream or task and the remedy.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sim
}  // namespace fr
