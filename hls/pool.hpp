#pragma once

/// Maximum and average pooling. The average is the exact sum; its division is part of `requant`.
/// With `weighted` every output row and column multiplies its sum (`row_weights`,
/// `column_weights`): windows at the border of a picture divide by another number.
///
/// Config `C`: `ih iw oh ow fh fw`, `stride_w`, `ch`, `ch_par`, `ow_par`, `kind`, `total_bits`,
/// `lowest_code`, `in_t` (global) or `window_t` and perhaps `rows_t` (windowed: `read_window`),
/// `out_t`, `requant`.

#include "elementwise.hpp"
#include "rounding/requantise.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"
#include "window_rows.hpp"

namespace fr {

enum class pool_kind { max, average };

/// `total` joined with one more code: the greater one, or the sum.
template <class C, class Code>
inline int_t<C::total_bits> pool_join(const int_t<C::total_bits>& total, const Code& code) {
#pragma HLS inline
  const int_t<C::total_bits> value = code;
  if constexpr (C::kind == pool_kind::average) return add<C::total_bits>(total, value);
  return value > total ? value : total;
}

/// What a pool starts from.
template <class C>
constexpr int pool_start = C::kind == pool_kind::max ? C::lowest_code : 0;

/// The sum of output (`oh`, `ow`) times its row's and its column's weight.
template <class C>
inline int_t<C::total_bits> pool_weighted(const int_t<C::total_bits>& value, int oh, int ow) {
#pragma HLS inline
  if constexpr (C::weighted) {
    constexpr int last = C::ow - 1;
    const int weight = C::row_weights[oh] * C::column_weights[ow < last ? ow : last];
    return multiply<C::total_bits>(value, weight);
  } else {
    return value;
  }
}

/// Pools windows `[fh][window_columns][ch_par]`, order output row, column group, channel group;
/// writes one token per lane.
template <class C, class Window>
void window_pool(Window& in, stream<typename C::out_t> (&out)[C::ow_par]) {
  constexpr int groups = ceil_div(C::ch, C::ch_par);
  constexpr int columns = C::fw + (C::ow_par - 1) * C::stride_w;
  for (int oh = 0; oh < C::oh; ++oh) {
    for (int og = 0; og < ceil_div(C::ow, C::ow_par); ++og) {
      for (int g = 0; g < groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        const auto& window = read_window<C>(in, oh, og);
        for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
          const auto total = [&window, l, oh, og](int k) {
            int_t<C::total_bits> value = pool_start<C>;
            for (int i = 0; i < C::fh; ++i) {
#pragma HLS unroll
              for (int j = 0; j < C::fw; ++j) {
#pragma HLS unroll
                const int tap = i * columns + l * C::stride_w + j;
                value = pool_join<C>(value, window.v[tap * C::ch_par + k]);
              }
            }
            return pool_weighted<C>(value, oh, og * C::ow_par + l);
          };
          if (og * C::ow_par + l < C::ow) out[l].write(requantised<C>(g, total));
        }
      }
    }
  }
}

/// Pools the whole picture; reads `ow_par` lanes, writes one token per channel group to one lane
/// in the iterations of the last column group.
template <class C>
void global_pool(stream<typename C::in_t> (&in)[C::ow_par], stream<typename C::out_t> (&out)[1]) {
  constexpr int groups = ceil_div(C::ch, C::ch_par);
  constexpr int column_groups = ceil_div(C::iw, C::ow_par);
  int_t<C::total_bits> totals[groups][C::ch_par];
#pragma HLS array_partition variable = totals complete dim = 2
#pragma HLS dependence variable = totals type = inter distance = groups dependent = true
  for (int h = 0; h < C::ih; ++h) {
    for (int wg = 0; wg < column_groups; ++wg) {
      for (int g = 0; g < groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        // The codes of this iteration first: the running totals then pass one operation only.
        int_t<C::total_bits> total[C::ch_par];
#pragma HLS array_partition variable = total complete
        for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
          total[k] = pool_start<C>;
        }
        for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
          if (wg * C::ow_par + l < C::iw) {
            const typename C::in_t token = in[l].read();
            for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
              total[k] = pool_join<C>(total[k], token.v[k]);
            }
          }
        }
        for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
          if (h > 0 || wg > 0) total[k] = pool_join<C>(total[k], totals[g][k]);
        }
        for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
          totals[g][k] = total[k];
        }
        if (h == C::ih - 1 && wg == column_groups - 1) {
          out[0].write(requantised<C>(g, [&total](int k) { return total[k]; }));
        }
      }
    }
  }
}

}  // namespace fr
