#pragma once

/// fr::stream<T>: the FIFO between two tasks; `read()`, `write(v)`, `empty()`.
///
/// Synthesis uses the vendor's hls::stream. Simulation builds use ours: unbounded in the untimed
/// build, bounded and timestamped with FR_TIMED.

#include "vendor.hpp"

#ifdef FR_VENDOR

#  include <hls_stream.h>

namespace fr {

template <class T>
using stream = hls::stream<T>;

/// Next token of `s`. Simulation returns a reference valid until the next access to `s`, which
/// saves the copy of a wide token: `const auto& token = fr::read_ref(s);`
template <class T>
T read_ref(hls::stream<T>& s) {
#  pragma HLS inline
  return s.read();
}

}  // namespace fr

/// After a stream's declaration: its name and depth in simulation, nothing in synthesis.
#  define FR_NAMED(stream, depth)

#else

#  include <cstddef>
#  include <string>

#  ifdef FR_TIMED
#    include "simulation/timed_stream.hpp"
#  else
#    include "simulation/untimed_stream.hpp"
#  endif

namespace fr {

template <class T>
const T& read_ref(stream<T>& s) {
  return s.read_ref();
}

template <class T>
void name_stream(stream<T>& s, const char* name, std::size_t depth) {
  s.set_name(name, depth);
}

/// Lane l of an array of streams is named "<name>_<l>".
template <class T, std::size_t kLanes>
void name_stream(stream<T> (&lanes)[kLanes], const char* name, std::size_t depth) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    lanes[l].set_name(std::string(name) + "_" + std::to_string(l), depth);
  }
}

}  // namespace fr

#  define FR_NAMED(stream, depth) ::fr::name_stream(stream, #stream, depth)

#endif
