#pragma once

#include "types.hpp"

namespace fr {

/// The rounding modes of a QONNX Quant node. Its ROUND and HALF_EVEN are both `half_even`.
enum class rounding { half_even, floor, ceil, up, down, half_up, half_down };

/// `x * 2^-Shift` rounded to an integer, `W` the width of `x`. The result needs one bit more than
/// the quotient: rounding may carry into a new digit. Negative shifts multiply, without rounding.
///
/// q = floor(x / 2^s), rest = x - q * 2^s; the mode decides whether q is raised by one:
///   half_even  rest > half, or rest == half and q odd          (ties to even)
///   half_up    rest > half, or rest == half and x > 0          (ties away from zero)
///   half_down  rest > half, or rest == half and x < 0          (ties towards zero)
///   up         rest > 0 and x > 0 (away from zero)   down      rest > 0 and x < 0 (towards zero)
///   ceil       rest > 0                              floor     never
template <int W, int Shift, rounding Mode, class X>
inline auto round_shift(const X& x) {
#pragma HLS inline
  if constexpr (Shift <= 0) {
    return scale<W - Shift, -Shift>(x);
  } else if constexpr (Shift >= W) {
    // Every digit is dropped: widen first so that the shifts below stay defined.
    return round_shift<Shift + 1, Shift, Mode>(int_t<Shift + 1>(x));
  } else {
    constexpr std::int64_t half = std::int64_t{1} << (Shift - 1);
    const int_t<W> wide = x;
    const int_t<W> q = wide >> Shift;
    // Of standard integers: every comparison of vendor types costs a front end a search.
    const std::int64_t value = to_int64(wide);
    const std::int64_t rest = value & (2 * half - 1);
    bool raise = false;
    if constexpr (Mode == rounding::half_even) {
      raise = rest > half || (rest == half && (to_int64(q) & 1) != 0);
    } else if constexpr (Mode == rounding::half_up) {
      raise = rest > half || (rest == half && value > 0);
    } else if constexpr (Mode == rounding::half_down) {
      raise = rest > half || (rest == half && value < 0);
    } else if constexpr (Mode == rounding::up) {
      raise = rest != 0 && value > 0;
    } else if constexpr (Mode == rounding::down) {
      raise = rest != 0 && value < 0;
    } else if constexpr (Mode == rounding::ceil) {
      raise = rest != 0;
    }
    return static_cast<int_t<W>>(q + (raise ? 1 : 0));
  }
}

}  // namespace fr
