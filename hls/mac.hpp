#pragma once

/// Multiply-accumulate arrays: `Lanes x Outputs` dot products of `N` taps.
///
/// Packed (one DSP48E2 does two 8-bit products): `P += (A * 2^18 + D) * B` down a cascade; at its
/// end the low sum is `P[17:0]` as a signed number and the high sum `(P >> 18) + P[17]`. Only the
/// final low sum of a chain must fit 18 signed bits, so a dot product is cut into chains that are
/// safe for its weights. Products are paired over columns (they share the weight), and those of an
/// odd last column over output channels (they share the activation):
/// `ceil(Lanes * Outputs / 2) * N` multipliers.
///
/// Config `M`: `packed`; `use_dsp` (plain products in DSPs or LUTs); `chains` and
/// `chain_end[chains]` (one past the last tap of each chain); `sum_bits` (width of a dot product);
/// `mac_in_t` (activation at the multiplier).

#include "types.hpp"

#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
#  include <cstdio>
#  include <cstdlib>
#endif

namespace fr {

constexpr int kPackShift = 18;
constexpr int kPackedBits = 27;
constexpr int kProductBits = 48;

/// The packed operand of the 27-bit multiplier port. Native builds keep it as wide as the product,
/// which saves an extension per multiplication.
#ifdef FR_AP_INT
using packed_t = int_t<kPackedBits>;
#else
using packed_t = int_t<kProductBits>;
#endif

/// `A * 2^18 + D`.
template <class A, class D>
inline packed_t pack(const A& high, const D& low) {
#pragma HLS inline
  return multiply<kPackedBits>(high, 1 << kPackShift) + int_t<kPackedBits>(low);
}

/// Adds the two sums of a chain's cascade output.
template <class Sum>
inline void restore(const int_t<kProductBits>& p, Sum* high, Sum* low) {
#pragma HLS inline
  const int_t<kPackShift> low_sum = wrap<kPackShift>(p);
  *low += static_cast<Sum>(low_sum);
  *high += static_cast<Sum>((p >> kPackShift) + (low_sum < 0 ? 1 : 0));
}

/// FR_CHECKED: sums that differ from the plain products' mean that a chain is too long.
template <int N, class B, class Sum>
inline void check_packed([[maybe_unused]] const packed_t (&ad)[N], [[maybe_unused]] const B (&b)[N],
                         [[maybe_unused]] const Sum& high, [[maybe_unused]] const Sum& low) {
#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
  std::int64_t high_sum = 0;
  std::int64_t low_sum = 0;
  for (int t = 0; t < N; ++t) {
    const std::int64_t d = to_int64(wrap<kPackShift>(ad[t]));
    high_sum += (to_int64(ad[t]) - d) / (1 << kPackShift) * to_int64(b[t]);
    low_sum += d * to_int64(b[t]);
  }
  if (high_sum == to_int64(high) && low_sum == to_int64(low)) return;
  std::fprintf(stderr, "error: packed multiplier: sums %lld and %lld instead of %lld and %lld\n",
               static_cast<long long>(to_int64(high)), static_cast<long long>(to_int64(low)),
               static_cast<long long>(high_sum), static_cast<long long>(low_sum));
  std::abort();
#endif
}

/// Adds the sums of chain `Chain` and all later ones of packed operands `ad` times `b`.
template <class M, int Chain, int N, class B, class Sum>
inline void packed_chains(const packed_t (&ad)[N], const B (&b)[N], Sum* high, Sum* low) {
#pragma HLS inline
  if constexpr (Chain < M::chains) {
    constexpr int begin = Chain == 0 ? 0 : M::chain_end[Chain == 0 ? 0 : Chain - 1];
    constexpr int end = M::chain_end[Chain];
    int_t<kProductBits> p = 0;
    for (int t = begin; t < end; ++t) {
#pragma HLS unroll
      const int_t<kProductBits> product = multiply<kProductBits>(ad[t], b[t]);
#pragma HLS bind_op variable = product op = mul impl = dsp
      p += product;
    }
    restore(p, high, low);
    packed_chains<M, Chain + 1>(ad, b, high, low);
  }
}

/// The two dot products of packed operands `ad` with `b`.
template <class M, int N, class B, class Sum>
inline void packed_dot(const packed_t (&ad)[N], const B (&b)[N], Sum* high, Sum* low) {
#pragma HLS inline
  Sum high_sum = 0;
  Sum low_sum = 0;
  packed_chains<M, 0>(ad, b, &high_sum, &low_sum);
  check_packed(ad, b, high_sum, low_sum);
  *high = high_sum;
  *low = low_sum;
}

/// Plain dot product, one multiplier per tap.
template <class M, class Sum, int N, class A, class B>
inline Sum plain_dot(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
  Sum sum = 0;
  for (int t = 0; t < N; ++t) {
#pragma HLS unroll
    if constexpr (M::use_dsp) {
      const auto product = a[t] * b[t];
#pragma HLS bind_op variable = product op = mul impl = dsp
      sum += static_cast<Sum>(product);
    } else {
      const auto product = a[t] * b[t];
#pragma HLS bind_op variable = product op = mul impl = fabric
      sum += static_cast<Sum>(product);
    }
  }
  return sum;
}

/// Activations of `Lanes` columns as the multipliers take them: columns in packed pairs, and those
/// that are not paired (all of them without packing, an odd last one with it).
template <class M, int Lanes, int N>
struct mac_operands {
  static constexpr int pairs = M::packed ? Lanes / 2 : 0;
  static constexpr int singles = Lanes - 2 * pairs;

  packed_t pair[max_of(pairs, 1)][N];
  typename M::mac_in_t single[max_of(singles, 1)][N];

  /// Tap `t` of every column; `x(l)` is its activation in column `l`.
  template <class Activation>
  void set(int t, const Activation& x) {
#pragma HLS inline
    for (int p = 0; p < pairs; ++p) {
#pragma HLS unroll
      pair[p][t] = pack(x(2 * p + 1), x(2 * p));
    }
    for (int l = 0; l < singles; ++l) {
#pragma HLS unroll
      single[l][t] = x(2 * pairs + l);
    }
  }
};

/// One column, output channels in pairs that share the activations.
template <class M, int N, int Outputs, class X, class W, class Sum>
inline void mac_channel_pairs(const X (&x)[N], const W (&w)[Outputs][N], Sum (&sum)[Outputs]) {
#pragma HLS inline
  for (int o = 0; o + 1 < Outputs; o += 2) {
#pragma HLS unroll
    packed_t ad[N];
#pragma HLS array_partition variable = ad complete
    for (int t = 0; t < N; ++t) {
#pragma HLS unroll
      ad[t] = pack(w[o + 1][t], w[o][t]);
    }
    packed_dot<M>(ad, x, &sum[o + 1], &sum[o]);
  }
  if constexpr (Outputs % 2 == 1) sum[Outputs - 1] = plain_dot<M, Sum>(x, w[Outputs - 1]);
}

/// `sum[l][o] = sum_t x[l][t] * w[o][t]`.
template <class M, int Lanes, int Outputs, int N, class W, class Sum>
inline void mac_array(const mac_operands<M, Lanes, N>& x, const W (&w)[Outputs][N],
                      Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  using operands = mac_operands<M, Lanes, N>;
  for (int p = 0; p < operands::pairs; ++p) {
#pragma HLS unroll
    for (int o = 0; o < Outputs; ++o) {
#pragma HLS unroll
      packed_dot<M>(x.pair[p], w[o], &sum[2 * p + 1][o], &sum[2 * p][o]);
    }
  }
  for (int l = 0; l < operands::singles; ++l) {
#pragma HLS unroll
    if constexpr (M::packed) {
      mac_channel_pairs<M>(x.single[l], w, sum[2 * operands::pairs + l]);
    } else {
      for (int o = 0; o < Outputs; ++o) {
#pragma HLS unroll
        sum[l][o] = plain_dot<M, Sum>(x.single[l], w[o]);
      }
    }
  }
}

}  // namespace fr
