#pragma once

/// Requantisers: the integer maps from an accumulator to a code, as lists of stages.
///
/// A stage is a type with `apply(x, group, entry)`; the channel of `x` is entry `entry` of channel
/// group `group`. `in_bits` is the signed width of its input, `out_bits` that of its output.

#include "rounding/rounding.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// `v` limited to [Lo, Hi].
template <std::int64_t Lo, std::int64_t Hi, int OutBits, class V>
inline int_t<OutBits> clip(const V& v) {
#pragma HLS inline
  const std::int64_t value = to_int64(v);
  if (value < Lo) return int_t<OutBits>(Lo);
  if (value > Hi) return int_t<OutBits>(Hi);
  return to_int<OutBits>(v);
}

/// `clip(round(x * 2^-Shift), Lo, Hi)`.
template <int InBits, int OutBits, int Shift, rounding Mode, std::int64_t Lo, std::int64_t Hi>
struct shift_stage {
  template <class X>
  static int_t<OutBits> apply(const X& x, int, int) {
#pragma HLS inline
    return clip<Lo, Hi, OutBits>(round_shift<InBits, Shift, Mode>(x));
  }
};

/// `clip((x * mult[c] + add[c]) >> shift, lo, hi)`, floor shift. `S` is generated: `product_bits`,
/// `out_bits`, `shift`, `lo`, `hi` and the tables `mult`, `add`.
template <class S>
struct affine_stage {
  template <class X>
  static int_t<S::out_bits> apply(const X& x, int group, int entry) {
#pragma HLS inline
    static constexpr auto mult = S::mult;
    static constexpr auto add = S::add;
#pragma HLS array_partition variable = mult.v complete dim = 2
#pragma HLS array_partition variable = add.v complete dim = 2
    const int_t<S::product_bits> product = multiply<S::product_bits>(x, mult.at(group, entry));
    const int_t<S::product_bits> sum = to_int<S::product_bits>(
        product + static_cast<int_t<S::product_bits>>(add.at(group, entry)));
    return clip<S::lo, S::hi, S::out_bits>(sum >> S::shift);
  }
};

/// `base + count(t <= sign[c] * x for t in thresholds[c])` by binary search: one comparison per
/// output bit, each against a constant memory of its own, so that the search pipelines.
///
/// `S` is generated: `in_bits` (of sign * x), `out_bits`, `base`, `levels` = L, the table `sign`,
/// and `thresholds`, a table whose row `group` holds for each entry the channel's 2^L - 1
/// ascending thresholds; a shorter list is filled up with values above every x.
template <class S>
struct threshold_stage {
  static constexpr int row = (1 << S::levels) - 1;

  template <class X>
  static int_t<S::out_bits> apply(const X& x, int group, int entry) {
#pragma HLS inline
    static constexpr auto sign = S::sign;
#pragma HLS array_partition variable = sign.v complete dim = 2
    int_t<S::in_bits> signed_x = to_int<S::in_bits>(x);
    if (sign.at(group, entry) < 0) signed_x = static_cast<int_t<S::in_bits>>(-signed_x);
    const int count = search<0>(signed_x, group, entry, 0);
    return static_cast<int_t<S::out_bits>>(S::base + count);
  }

 private:
  using value_t = typename S::threshold_t;

  /// The thresholds that level `Level` compares with: 2^Level of them per channel.
  template <int Level>
  static constexpr auto level_table() {
    constexpr int step = 1 << (S::levels - Level - 1);
    table<value_t, S::groups, (S::entries << Level)> t{};
    for (int g = 0; g < S::groups; ++g) {
      for (int e = 0; e < S::entries; ++e) {
        for (int p = 0; p < (1 << Level); ++p) {
          t.v[g][(e << Level) + p] =
              S::thresholds[(g * S::entries + e) * row + 2 * step * p + step - 1];
        }
      }
    }
    return t;
  }

  /// `position` = the bits found so far: exactly position * 2^(levels - Level) thresholds or more
  /// are reached.
  template <int Level>
  static int search(const int_t<S::in_bits>& x, int group, int entry, int position) {
#pragma HLS inline
    if constexpr (Level == S::levels) {
      return position;
    } else {
      static constexpr auto thresholds = level_table<Level>();
#pragma HLS array_partition variable = thresholds.v block factor = S::entries dim = 2
      const int e = S::entries == 1 ? 0 : entry;
      const int g = S::groups == 1 ? 0 : group;
      const bool reached = x >= thresholds.v[g][(e << Level) + position];
      return search<Level + 1>(x, group, entry, 2 * position + (reached ? 1 : 0));
    }
  }
};

/// Stages applied one after the other; none is the identity.
template <class... Stages>
struct requantiser;

template <>
struct requantiser<> {
  static constexpr bool identity = true;

  template <class X>
  static X apply(const X& x, int, int) {
#pragma HLS inline
    return x;
  }
};

template <class First, class... Rest>
struct requantiser<First, Rest...> {
  static constexpr bool identity = false;

  template <class X>
  static auto apply(const X& x, int group, int entry) {
#pragma HLS inline
    return requantiser<Rest...>::apply(First::apply(x, group, entry), group, entry);
  }
};

}  // namespace fr
