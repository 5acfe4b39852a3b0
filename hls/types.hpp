#pragma once

/// Integers of any width: `int_t<W>` and `uint_t<W>`.
///
/// Synthesis and FR_USE_AP_INT take ap_int / ap_uint. The native build takes the smallest standard
/// type that holds W bits, which is some 60 times faster; `to_int` and `to_code` mark every place
/// where a value is narrowed, so that builds with FR_CHECKED can prove that nothing is cut off.

#include <cstdint>
#include <type_traits>

#include "vendor.hpp"

#if defined(FR_VENDOR) || defined(FR_USE_AP_INT)
#  define FR_AP_INT
#  include <ap_int.h>
#endif

#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
#  include <cstdio>
#  include <cstdlib>
#endif

namespace fr {

#ifdef FR_AP_INT

template <int W>
using int_t = ap_int<W>;
template <int W>
using uint_t = ap_uint<W>;

#else

namespace detail {

template <int W, class I8, class I16, class I32, class I64>
struct smallest {
  static_assert(W >= 1 && W <= 64, "native integers have 1 to 64 bits");
  using type = std::conditional_t<
      (W <= 8), I8, std::conditional_t<(W <= 16), I16, std::conditional_t<(W <= 32), I32, I64>>>;
};

}  // namespace detail

template <int W>
using int_t =
    typename detail::smallest<W, std::int8_t, std::int16_t, std::int32_t, std::int64_t>::type;
template <int W>
using uint_t =
    typename detail::smallest<W, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>::type;

#endif

/// The type of a code: `Bits` wide, signed or not.
template <int Bits, bool Signed>
using code_t = std::conditional_t<Signed, int_t<Bits>, uint_t<Bits>>;

/// Value of any of our integers as a standard 64-bit integer.
template <class V>
inline std::int64_t to_int64(const V& value) {
#pragma HLS inline
#ifdef FR_AP_INT
  if constexpr (!std::is_arithmetic<V>::value) {
    return value.to_int64();
  } else {
    return static_cast<std::int64_t>(value);
  }
#else
  return static_cast<std::int64_t>(value);
#endif
}

/// FR_CHECKED: stops the program when `value` does not fit; `what` names the place.
template <int Bits, bool Signed, class V>
inline void check_fits([[maybe_unused]] const V& value, [[maybe_unused]] const char* what) {
#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
  const std::int64_t v = to_int64(value);
  const std::int64_t hi =
      Bits >= 64 ? INT64_MAX : (std::int64_t{1} << (Signed ? Bits - 1 : Bits)) - 1;
  const std::int64_t lo = Signed ? -hi - 1 : 0;
  if (v >= lo && v <= hi) return;
  std::fprintf(stderr, "error: %s: %lld does not fit %d %s bits\n", what, static_cast<long long>(v),
               Bits, Signed ? "signed" : "unsigned");
  std::abort();
#endif
}

/// `value` as a code of `Bits` bits; it must fit.
template <int Bits, bool Signed, class V>
inline code_t<Bits, Signed> to_code(const V& value) {
#pragma HLS inline
  check_fits<Bits, Signed>(value, "code");
  return static_cast<code_t<Bits, Signed>>(value);
}

/// `value` as a signed integer of `W` bits; it must fit.
template <int W, class V>
inline int_t<W> to_int(const V& value) {
#pragma HLS inline
  check_fits<W, true>(value, "integer");
  return static_cast<int_t<W>>(value);
}

/// `a * b`; it must fit `W` signed bits.
template <int W, class A, class B>
inline int_t<W> multiply(const A& a, const B& b) {
#pragma HLS inline
#ifdef FR_AP_INT
  return int_t<W>(a * b);
#else
  using wide = std::common_type_t<int_t<W>, int>;
  return to_int<W>(static_cast<wide>(a) * static_cast<wide>(b));
#endif
}

/// `a + b`; it must fit `W` signed bits. One function for all sums of a width, because a front end
/// looks through all operators of a vendor type at every sum in a template.
template <int W>
inline int_t<W> add(const int_t<W>& a, const int_t<W>& b) {
#pragma HLS inline
  return to_int<W>(a + b);
}

/// `a * 2^Shift`; it must fit `W` signed bits. A vendor type's product with a wide constant would
/// make types as wide, which a front end takes long to read.
template <int W, int Shift, class A>
inline int_t<W> scale(const A& a) {
#pragma HLS inline
#ifdef FR_AP_INT
  return static_cast<int_t<W>>(static_cast<int_t<W>>(a) << Shift);
#else
  return multiply<W>(a, std::int64_t{1} << Shift);
#endif
}

/// The low `W` bits of `value` read as a signed integer (two's complement wrap).
template <int W, class V>
inline int_t<W> wrap(const V& value) {
#pragma HLS inline
#ifdef FR_AP_INT
  return int_t<W>(value);
#else
  constexpr int drop = 64 - W;
  const auto shifted = static_cast<std::uint64_t>(value) << drop;
  return static_cast<int_t<W>>(static_cast<std::int64_t>(shifted) >> drop);
#endif
}

/// Bits that hold the unsigned integers 0 to `n`.
constexpr int bits_for(std::int64_t n) {
  int bits = 1;
  while (n >> bits != 0) ++bits;
  return bits;
}

/// State of a task that stays within [Lo, Hi]: as narrow as that allows, because its next value
/// must be there one cycle later.
template <std::int64_t Hi, std::int64_t Lo = 0>
using counter_t =
    std::conditional_t<(Lo < 0), int_t<bits_for(Hi > -Lo ? Hi : -Lo) + 1>, uint_t<bits_for(Hi)>>;

/// The next of 0, 1, ..., `Last`, 0, ...; `restart` leads to 0 as well.
template <std::int64_t Last>
inline void count_up(counter_t<Last>& counter, bool restart = false) {
#pragma HLS inline
  const int next = static_cast<int>(counter) + 1;
  counter = static_cast<counter_t<Last>>(restart || next > Last ? 0 : next);
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int min_of(int a, int b) { return a < b ? a : b; }
constexpr int max_of(int a, int b) { return a > b ? a : b; }
constexpr int gcd_of(int a, int b) { return b == 0 ? a : gcd_of(b, a % b); }

}  // namespace fr
