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

/// Initialiser of a stream declaration: its name and depth in simulation, nothing in synthesis.
#  define FR_NAMED(name, depth)
#  define FR_NAMED_LIST(...)
#  define FR_NAMED_ARRAY1(name, depth)
#  define FR_NAMED_ARRAY2(name, depth)
#  define FR_NAMED_ARRAY3(name, depth)
#  define FR_NAMED_ARRAY4(name, depth)
#  define FR_NAMED_ARRAY5(name, depth)
#  define FR_NAMED_ARRAY6(name, depth)
#  define FR_NAMED_ARRAY7(name, depth)
#  define FR_NAMED_ARRAY8(name, depth)
#  define FR_NAMED_ARRAY9(name, depth)
#  define FR_NAMED_ARRAY10(name, depth)
#  define FR_NAMED_ARRAY11(name, depth)
#  define FR_NAMED_ARRAY12(name, depth)
#  define FR_NAMED_ARRAY13(name, depth)
#  define FR_NAMED_ARRAY14(name, depth)
#  define FR_NAMED_ARRAY15(name, depth)
#  define FR_NAMED_ARRAY16(name, depth)

#else

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

}  // namespace fr

// Lane l of an array of streams is named "<name>_<l>". Macros, because the elements must be built
// in place (a stream cannot be copied) and the synthesis build must see a plain declaration.
#  define FR_LANES1(name, depth) {name "_0", depth}
#  define FR_LANES2(name, depth) \
    FR_LANES1(name, depth), { name "_1", depth }
#  define FR_LANES3(name, depth) \
    FR_LANES2(name, depth), { name "_2", depth }
#  define FR_LANES4(name, depth) \
    FR_LANES3(name, depth), { name "_3", depth }
#  define FR_LANES5(name, depth) \
    FR_LANES4(name, depth), { name "_4", depth }
#  define FR_LANES6(name, depth) \
    FR_LANES5(name, depth), { name "_5", depth }
#  define FR_LANES7(name, depth) \
    FR_LANES6(name, depth), { name "_6", depth }
#  define FR_LANES8(name, depth) \
    FR_LANES7(name, depth), { name "_7", depth }
#  define FR_LANES9(name, depth) \
    FR_LANES8(name, depth), { name "_8", depth }
#  define FR_LANES10(name, depth) \
    FR_LANES9(name, depth), { name "_9", depth }
#  define FR_LANES11(name, depth) \
    FR_LANES10(name, depth), { name "_10", depth }
#  define FR_LANES12(name, depth) \
    FR_LANES11(name, depth), { name "_11", depth }
#  define FR_LANES13(name, depth) \
    FR_LANES12(name, depth), { name "_12", depth }
#  define FR_LANES14(name, depth) \
    FR_LANES13(name, depth), { name "_13", depth }
#  define FR_LANES15(name, depth) \
    FR_LANES14(name, depth), { name "_14", depth }
#  define FR_LANES16(name, depth) \
    FR_LANES15(name, depth), { name "_15", depth }

#  define FR_NAMED(name, depth) {name, depth}
#  define FR_NAMED_LIST(...) {__VA_ARGS__}
#  define FR_NAMED_ARRAY1(name, depth) {FR_LANES1(name, depth)}
#  define FR_NAMED_ARRAY2(name, depth) {FR_LANES2(name, depth)}
#  define FR_NAMED_ARRAY3(name, depth) {FR_LANES3(name, depth)}
#  define FR_NAMED_ARRAY4(name, depth) {FR_LANES4(name, depth)}
#  define FR_NAMED_ARRAY5(name, depth) {FR_LANES5(name, depth)}
#  define FR_NAMED_ARRAY6(name, depth) {FR_LANES6(name, depth)}
#  define FR_NAMED_ARRAY7(name, depth) {FR_LANES7(name, depth)}
#  define FR_NAMED_ARRAY8(name, depth) {FR_LANES8(name, depth)}
#  define FR_NAMED_ARRAY9(name, depth) {FR_LANES9(name, depth)}
#  define FR_NAMED_ARRAY10(name, depth) {FR_LANES10(name, depth)}
#  define FR_NAMED_ARRAY11(name, depth) {FR_LANES11(name, depth)}
#  define FR_NAMED_ARRAY12(name, depth) {FR_LANES12(name, depth)}
#  define FR_NAMED_ARRAY13(name, depth) {FR_LANES13(name, depth)}
#  define FR_NAMED_ARRAY14(name, depth) {FR_LANES14(name, depth)}
#  define FR_NAMED_ARRAY15(name, depth) {FR_LANES15(name, depth)}
#  define FR_NAMED_ARRAY16(name, depth) {FR_LANES16(name, depth)}

#endif
