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
/// Config `M`: `packed`; `chains` and `chain_end[chains]` (one past the last tap of each chain);
/// `sum_bits` (width of a dot product).

#include "types.hpp"

#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
#  include <cstdio>
#  include <cstdlib>
#endif

namespace fr {

constexpr int kPackShift = 18;
constexpr int kPackedBits = 27;
constexpr int kProductBits = 48;

/// `A * 2^18 + D`, the packed operand of the 27-bit multiplier port.
template <class A, class D>
inline int_t<kPackedBits> pack(const A& high, const D& low) {
#pragma HLS inline
  return multiply<kPackedBits>(high, 1 << kPackShift) + int_t<kPackedBits>(low);
}

/// The two sums of a chain's cascade output.
template <class Sum>
inline void restore(const int_t<kProductBits>& p, Sum* high, Sum* low) {
#pragma HLS inline
  const int_t<kPackShift> low_sum = wrap<kPackShift>(p);
  *low += static_cast<Sum>(low_sum);
  *high += static_cast<Sum>((p >> kPackShift) + (low_sum < 0 ? 1 : 0));
}

/// Sums of the chains `Chain...` of packed operands `ad` times `b`.
template <class M, int Chain, int N, class B, class Sum>
inline void packed_chains(const int_t<kPackedBits> (&ad)[N], const B (&b)[N], Sum* high, Sum* low) {
#pragma HLS inline
  if constexpr (Chain < M::chains) {
    constexpr int begin = Chain == 0 ? 0 : M::chain_end[Chain == 0 ? 0 : Chain - 1];
    constexpr int end = M::chain_end[Chain];
    int_t<kProductBits> p = 0;
    for (int t = begin; t < end; ++t) {
#pragma HLS unroll
      p += multiply<kProductBits>(ad[t], b[t]);
    }
#pragma HLS bind_op variable = p op = mul impl = dsp
    restore(p, high, low);
    packed_chains<M, Chain + 1>(ad, b, high, low);
  }
}

/// Plain dot product.
template <class Sum, int N, class A, class B>
inline Sum dot(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
  Sum sum = 0;
  for (int t = 0; t < N; ++t) {
#pragma HLS unroll
    sum += static_cast<Sum>(a[t] * b[t]);
  }
  return sum;
}

/// FR_CHECKED: a packed result that differs from the plain one means a chain is too long.
template <int N, class A, class B, class Sum>
inline void check_packed([[maybe_unused]] const A (&a)[N], [[maybe_unused]] const B (&b)[N],
                         [[maybe_unused]] const Sum& sum) {
#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
  std::int64_t exact = 0;
  for (int t = 0; t < N; ++t) exact += to_int64(a[t]) * to_int64(b[t]);
  if (exact == to_int64(sum)) return;
  std::fprintf(stderr, "error: packed multiplier: %lld instead of %lld, a chain is too long\n",
               static_cast<long long>(to_int64(sum)), static_cast<long long>(exact));
  std::abort();
#endif
}

/// Two columns that share the weights of every output channel.
template <class M, int N, int Outputs, class X, class W, class Sum>
inline void mac_column_pair(const X (&even)[N], const X (&odd)[N], const W (&w)[Outputs][N],
                            Sum (&even_sum)[Outputs], Sum (&odd_sum)[Outputs]) {
#pragma HLS inline
  int_t<kPackedBits> ad[N];
#pragma HLS array_partition variable = ad complete
  for (int t = 0; t < N; ++t) {
#pragma HLS unroll
    ad[t] = pack(odd[t], even[t]);
  }
  for (int o = 0; o < Outputs; ++o) {
#pragma HLS unroll
    Sum high = 0;
    Sum low = 0;
    packed_chains<M, 0>(ad, w[o], &high, &low);
    check_packed(odd, w[o], high);
    check_packed(even, w[o], low);
    odd_sum[o] = high;
    even_sum[o] = low;
  }
}

/// One column, output channels in pairs that share the activations.
template <class M, int N, int Outputs, class X, class W, class Sum>
inline void mac_channel_pairs(const X (&x)[N], const W (&w)[Outputs][N], Sum (&sum)[Outputs]) {
#pragma HLS inline
  for (int o = 0; o + 1 < Outputs; o += 2) {
#pragma HLS unroll
    int_t<kPackedBits> ad[N];
#pragma HLS array_partition variable = ad complete
    for (int t = 0; t < N; ++t) {
#pragma HLS unroll
      ad[t] = pack(w[o + 1][t], w[o][t]);
    }
    Sum high = 0;
    Sum low = 0;
    packed_chains<M, 0>(ad, x, &high, &low);
    check_packed(x, w[o + 1], high);
    check_packed(x, w[o], low);
    sum[o + 1] = high;
    sum[o] = low;
  }
  if constexpr (Outputs % 2 == 1) sum[Outputs - 1] = dot<Sum>(x, w[Outputs - 1]);
}

/// `sum[l][o] = sum_t x[l][t] * w[o][t]`.
template <class M, int Lanes, int Outputs, int N, class X, class W, class Sum>
inline void mac_array(const X (&x)[Lanes][N], const W (&w)[Outputs][N],
                      Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  if constexpr (M::packed) {
    for (int l = 0; l + 1 < Lanes; l += 2) {
#pragma HLS unroll
      mac_column_pair<M>(x[l], x[l + 1], w, sum[l], sum[l + 1]);
    }
    if constexpr (Lanes % 2 == 1) mac_channel_pairs<M>(x[Lanes - 1], w, sum[Lanes - 1]);
  } else {
    for (int l = 0; l < Lanes; ++l) {
#pragma HLS unroll
      for (int o = 0; o < Outputs; ++o) {
#pragma HLS unroll
        sum[l][o] = dot<Sum>(x[l], w[o]);
      }
    }
  }
}

}  // namespace fr
