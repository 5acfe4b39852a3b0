#pragma once

/// Multiply-accumulate arrays: `Lanes x Outputs` dot products of `N` taps.
///
/// Packed: one DSP48E2 multiplies operands put side by side on its 27-bit and its 18-bit port,
/// `P += a * b` down a cascade, and gives the sums of a tile of output channels times columns,
/// `field_bits` apart in P. The weights of a tile of several channels are on the 27-bit port and
/// its columns' activations on the 18-bit one; a tile of one channel has them the other way round.
/// 8-bit operands go in pairs (1x2 or 2x1 tiles, 18 bits apart), 4-bit ones in fours (2x2, 3x1 or
/// 1x3, 11 bits apart): `finn_resnet.numerics.dsp_packing`, also for why the sums are exact. Only
/// the final sums of a chain must fit their fields, so a dot product is cut into chains that are
/// safe for its weights. Lanes are taken in groups of `column_group` columns, and what remains in a
/// narrower one.
///
/// Config `M`: `port_operands` (operands on the 27-bit port at most; 1: not packed), `field_bits`,
/// `column_group`; `use_dsp` (plain products in DSPs or LUTs); `chains` and `chain_end[chains]`
/// (one past the last tap of each chain); `sum_bits` (width of a dot product); `mac_in_t`
/// (activation at the multiplier).

#include "types.hpp"

#ifdef FR_DSP_BUILTINS
#  include <hls_dsp_builtins.h>
#endif

#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
#  include <cstdio>
#  include <cstdlib>
#endif

namespace fr {

constexpr int kWideBits = 27;
constexpr int kNarrowBits = 18;
constexpr int kProductBits = 48;
/// Of plain products; chains of packed ones end where their sums must be taken apart.
constexpr int kLongestCascade = 16;

/// Packed operands of the 27-bit and of the 18-bit multiplier port. Native builds keep the wide one
/// as wide as the product, which saves an extension per multiplication.
#ifdef FR_AP_INT
using wide_t = int_t<kWideBits>;
#else
using wide_t = int_t<kProductBits>;
#endif
using narrow_t = int_t<kNarrowBits>;

/// `x(0) + x(1) * 2^Step + ...`: `Operands` operands side by side.
template <class Packed, int Operands, int Step, class Operand>
inline Packed pack(const Operand& x) {
#pragma HLS inline
  Packed packed = static_cast<Packed>(x(0));
  for (int k = 1; k < Operands; ++k) {
#pragma HLS unroll
    packed += multiply<kWideBits>(x(k), 1 << (k * Step));
  }
  return packed;
}

/// The fields of a chain's cascade output. What lies below a field has borrowed from it where it is
/// negative, which the bit below the field tells.
template <class M, int Fields, class Sum>
inline void restore(const int_t<kProductBits>& p, Sum (&sum)[Fields]) {
#pragma HLS inline
  sum[0] = static_cast<Sum>(wrap<M::field_bits>(p));
  for (int f = 1; f < Fields; ++f) {
#pragma HLS unroll
    const int start = f * M::field_bits;
    const bool borrowed = ((p >> (start - 1)) & 1) != 0;
    int_t<kProductBits> field = p >> start;
    if (f < Fields - 1) field = wrap<M::field_bits>(field);
    sum[f] = static_cast<Sum>(field + (borrowed ? 1 : 0));
  }
}

/// `sum_t a[t] * b[t]` over the taps [Begin, End): one cascade, DSP by DSP.
///
/// The products carry no `bind_op`, which would keep the tool from matching `p + a * b` with a DSP;
/// the caller's `expression_balance off` keeps it from turning the chain into a tree of adders.
/// FR_DSP_BUILTINS instantiates the DSPs instead (Vitis HLS 2022.2 or newer).
template <int Begin, int End, int N, class A, class B>
inline int_t<kProductBits> cascade(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
#ifdef FR_DSP_BUILTINS
  namespace dsp = hls::dsp48e2;
  dsp::cascade<dsp::REG_A1 | dsp::REG_B1 | dsp::REG_M | dsp::REG_P> slice[End - Begin];
#  pragma HLS array_partition variable = slice complete
  int_t<kProductBits> p = 0;
  for (int t = Begin; t < End; ++t) {
#  pragma HLS unroll
    p = slice[t - Begin].mul_add(a[t], b[t], p).pcout;
  }
#else
  int_t<kProductBits> p = 0;
  for (int t = Begin; t < End; ++t) {
#  pragma HLS unroll
    p = add<kProductBits>(p, multiply<kProductBits>(a[t], b[t]));
  }
#endif
  return p;
}

/// Sums of the `Chains` chains from `First` on of packed operands `a` times `b`, joined in a tree.
template <class M, int First, int Chains, int Fields, int N, class A, class B, class Sum>
inline void packed_chains(const A (&a)[N], const B (&b)[N], Sum (&sum)[Fields]) {
#pragma HLS inline
  if constexpr (Chains == 1) {
    constexpr int begin = First == 0 ? 0 : M::chain_end[First == 0 ? 0 : First - 1];
    restore<M>(cascade<begin, M::chain_end[First]>(a, b), sum);
  } else {
    constexpr int half = Chains / 2;
    Sum rest[Fields];
#pragma HLS array_partition variable = rest complete
    packed_chains<M, First, half>(a, b, sum);
    packed_chains<M, First + half, Chains - half>(a, b, rest);
    for (int f = 0; f < Fields; ++f) {
#pragma HLS unroll
      sum[f] += rest[f];
    }
  }
}

#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
/// Operand `k` of those that lie `Step` bits apart in `packed`.
template <int Step, class Packed>
inline std::int64_t operand(const Packed& packed, int k) {
  std::int64_t rest = to_int64(packed);
  for (; k > 0; --k) rest = (rest - wrap<Step>(rest)) >> Step;
  return wrap<Step>(rest);
}
#endif

/// FR_CHECKED: sums that differ from the plain products' mean that a chain is too long.
template <class M, int Narrow, int Fields, int N, class A, class B, class Sum>
inline void check_packed([[maybe_unused]] const A (&a)[N], [[maybe_unused]] const B (&b)[N],
                         [[maybe_unused]] const Sum (&sum)[Fields]) {
#if defined(FR_CHECKED) && !defined(__SYNTHESIS__)
  for (int f = 0; f < Fields; ++f) {
    std::int64_t exact = 0;
    for (int t = 0; t < N; ++t) {
      exact += operand<M::field_bits * Narrow>(a[t], f / Narrow) *
               operand<M::field_bits>(b[t], f % Narrow);
    }
    if (exact == to_int64(sum[f])) continue;
    std::fprintf(stderr, "error: packed multiplier: sum %d of %d is %lld instead of %lld\n", f,
                 Fields, static_cast<long long>(to_int64(sum[f])), static_cast<long long>(exact));
    std::abort();
  }
#endif
}

/// The `Fields` dot products of packed operands: `a` of the 27-bit port, each with the `Narrow`
/// ones of `b` side by side.
template <class M, int Narrow, int Fields, int N, class A, class B, class Sum>
inline void packed_dot(const A (&a)[N], const B (&b)[N], Sum (&sum)[Fields]) {
#pragma HLS inline
  packed_chains<M, 0, M::chains>(a, b, sum);
  check_packed<M, Narrow>(a, b, sum);
}

/// The same in cascades of at most `kLongestCascade` DSPs, whose sums are added in a tree.
template <int Begin, int End, int N, class A, class B>
inline int_t<kProductBits> cascades(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
  if constexpr (End - Begin <= kLongestCascade) {
    return cascade<Begin, End>(a, b);
  } else {
    constexpr int middle = (Begin + End + 1) / 2;
    return add<kProductBits>(cascades<Begin, middle>(a, b), cascades<middle, End>(a, b));
  }
}

/// The same in LUTs, added in a tree.
template <class Sum, int Begin, int End, int N, class A, class B>
inline Sum lut_products(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
  if constexpr (End - Begin == 1) {
    const auto product = a[Begin] * b[Begin];
#pragma HLS bind_op variable = product op = mul impl = fabric
    return static_cast<Sum>(product);
  } else {
    constexpr int middle = (Begin + End + 1) / 2;
    return static_cast<Sum>(lut_products<Sum, Begin, middle>(a, b) +
                            lut_products<Sum, middle, End>(a, b));
  }
}

/// Plain dot product, one multiplier per tap, in DSPs or in LUTs.
template <class M, class Sum, int N, class A, class B>
inline Sum plain_dot(const A (&a)[N], const B (&b)[N]) {
#pragma HLS inline
  if constexpr (M::use_dsp) {
    return static_cast<Sum>(cascades<0, N>(a, b));
  } else {
    return lut_products<Sum, 0, N>(a, b);
  }
}

/// Tiles of `Columns` columns: how many output channels they have at most, and their columns'
/// activations as the multiplier takes them.
template <class M, int Columns>
struct mac_tile {
  static constexpr int channels = M::port_operands + 1 - Columns;
  using packed_t = std::conditional_t<channels == 1, wide_t, narrow_t>;
  using columns_t = std::conditional_t<Columns == 1, typename M::mac_in_t, packed_t>;

  /// `x(l)` is the activation in column `l`.
  template <class Activation>
  static columns_t columns(const Activation& x) {
#pragma HLS inline
    return pack<columns_t, Columns, M::field_bits>(x);
  }
};

/// Activations of `Lanes` columns as the multipliers take them.
template <class M, int Lanes, int N>
struct mac_operands {
  static constexpr int columns = M::column_group;
  static constexpr int groups = Lanes / columns;
  static constexpr int last_columns = Lanes % columns;
  using group_tile = mac_tile<M, columns>;
  using last_tile = mac_tile<M, max_of(last_columns, 1)>;

  typename group_tile::columns_t group[groups][N];
  /// The columns beyond the whole groups, if any.
  typename last_tile::columns_t last[1][N];

  /// Tap `t` of every column; `x(l)` is its activation in column `l`.
  template <class Activation>
  void set(int t, const Activation& x) {
#pragma HLS inline
    for (int g = 0; g < groups; ++g) {
#pragma HLS unroll
      group[g][t] = group_tile::columns([&x, g](int l) { return x(g * columns + l); });
    }
    if constexpr (last_columns > 0) {
      last[0][t] = last_tile::columns([&x](int l) { return x(groups * columns + l); });
    }
  }
};

/// Output channels from `o` of the tile whose first column is `lane`; `w` holds their weights as
/// the multiplier takes them.
template <class M, int Channels, int Columns, int N, class X, class W, int Lanes, int Outputs,
          class Sum>
inline void mac_tile_sums(const X (&x)[N], const W (&w)[N], int lane, int o,
                          Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  if constexpr (Channels * Columns == 1) {
    sum[lane][o] = plain_dot<M, Sum>(x, w);
  } else {
    Sum field[Channels * Columns];
#pragma HLS array_partition variable = field complete
    if constexpr (Channels == 1) {
      packed_dot<M, 1>(x, w, field);
    } else {
      packed_dot<M, Columns>(w, x, field);
    }
    for (int f = 0; f < Channels * Columns; ++f) {
#pragma HLS unroll
      sum[lane + f % Columns][o + f / Columns] = field[f];
    }
  }
}

/// `Channels` output channels from `o` in `Groups` groups of `Columns` columns from `lane`.
template <class M, int Channels, int Columns, int Groups, int N, class X, class W, int Lanes,
          int Outputs, class Sum>
inline void mac_channels(const X (&x)[Groups][N], const W (&w)[Outputs][N], int lane, int o,
                         Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  if constexpr (Channels == 1) {
    for (int g = 0; g < Groups; ++g) {
#pragma HLS unroll
      mac_tile_sums<M, 1, Columns>(x[g], w[o], lane + g * Columns, o, sum);
    }
  } else {
    wide_t packed[N];
#pragma HLS array_partition variable = packed complete
    for (int t = 0; t < N; ++t) {
#pragma HLS unroll
      packed[t] = pack<wide_t, Channels, M::field_bits * Columns>(
          [&w, o, t](int c) { return w[o + c][t]; });
    }
    for (int g = 0; g < Groups; ++g) {
#pragma HLS unroll
      mac_tile_sums<M, Channels, Columns>(x[g], packed, lane + g * Columns, o, sum);
    }
  }
}

/// All output channels in `Groups` groups of `Columns` columns from `lane`.
template <class M, int Columns, int Groups, int N, class X, class W, int Lanes, int Outputs,
          class Sum>
inline void mac_groups(const X (&x)[Groups][N], const W (&w)[Outputs][N], int lane,
                       Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  constexpr int channels = mac_tile<M, Columns>::channels;
  constexpr int rest = Outputs % channels;
  if constexpr (channels <= Outputs) {
    for (int o = 0; o + channels <= Outputs; o += channels) {
#pragma HLS unroll
      mac_channels<M, channels, Columns>(x, w, lane, o, sum);
    }
  }
  if constexpr (rest > 0) mac_channels<M, rest, Columns>(x, w, lane, Outputs - rest, sum);
}

/// `sum[l][o] = sum_t x[l][t] * w[o][t]`.
template <class M, int Lanes, int Outputs, int N, class W, class Sum>
inline void mac_array(const mac_operands<M, Lanes, N>& x, const W (&w)[Outputs][N],
                      Sum (&sum)[Lanes][Outputs]) {
#pragma HLS inline
  using operands = mac_operands<M, Lanes, N>;
  mac_groups<M, operands::columns>(x.group, w, 0, sum);
  if constexpr (operands::last_columns > 0) {
    mac_groups<M, operands::last_columns>(x.last, w, operands::groups * operands::columns, sum);
  }
}

}  // namespace fr
