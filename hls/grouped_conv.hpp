#pragma once

/// The grouped convolution task: depthwise where a group has one input channel.
///
///   out[o] = requant(bias[o] + sum_{i,j,c} window[i, j, (o / group_och) * group_ich + c] * w[o,c])
///
/// One pipelined iteration per cycle: output row, output column group, group of output channels
/// (fastest). An iteration computes the `och_par / group_och` groups of `och_par` outputs: it reads
/// their window (`[fh][window_columns][channels of the groups]`, `read_window`) and their weights
/// (`[och_par][group_ich][fh*fw]`, tap fastest) and writes their codes, one token a lane. Columns
/// share a weight, and with it a DSP. Codes beyond `och` in the last group are 0.

#include "conv.hpp"

namespace fr {

template <class C>
struct grouped_shape {
  static constexpr int iterations = ceil_div(C::och, C::och_par);
  static constexpr int column_groups = ceil_div(C::ow, C::ow_par);
  static constexpr int window_columns = C::fw + (C::ow_par - 1) * C::stride_w;
  static constexpr int kernel = C::fh * C::fw;
  static constexpr int taps = kernel * C::group_ich;
  static constexpr int groups = C::och_par / C::group_och;
  static constexpr int channels = groups * C::group_ich;
};

/// Operands of one group's taps, order input channel, kernel row, kernel column (fastest).
template <class C>
using group_operands = mac_operands<C, C::ow_par, grouped_shape<C>::taps>;

/// Hands every column the taps of group `group` of those in the window.
template <class C>
inline void load_group(const typename C::window_t& window, int group, group_operands<C>& x) {
#pragma HLS inline
  using shape = grouped_shape<C>;
  for (int c = 0; c < C::group_ich; ++c) {
#pragma HLS unroll
    for (int i = 0; i < C::fh; ++i) {
#pragma HLS unroll
      for (int j = 0; j < C::fw; ++j) {
#pragma HLS unroll
        const int first = i * shape::window_columns + j;
        const int channel = group * C::group_ich + c;
        x.set(c * shape::kernel + i * C::fw + j, [&window, first, channel](int l) {
          const auto& code = window.v[(first + l * C::stride_w) * shape::channels + channel];
          return static_cast<typename C::mac_in_t>(code);
        });
      }
    }
  }
}

/// Adds the products of group `group` to its accumulators, which hold the bias.
template <class C, class Weights, class Acc>
inline void group_sums(const typename C::window_t& window, const Weights& weights, int group,
                       Acc (&result)[C::ow_par][C::och_par]) {
#pragma HLS inline
  constexpr int taps = grouped_shape<C>::taps;
  group_operands<C> x;
#pragma HLS array_partition variable = x.group complete dim = 0
#pragma HLS array_partition variable = x.last complete dim = 0
  load_group<C>(window, group, x);
  typename Weights::value_type w[C::group_och][taps];
#pragma HLS array_partition variable = w complete dim = 0
  for (int o = 0; o < C::group_och; ++o) {
#pragma HLS unroll
    for (int t = 0; t < taps; ++t) {
#pragma HLS unroll
      w[o][t] = weights.v[group * C::group_och + o][t];
    }
  }
  int_t<C::sum_bits> sum[C::ow_par][C::group_och];
#pragma HLS array_partition variable = sum complete dim = 0
  mac_array<C>(x, w, sum);
  for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
    for (int o = 0; o < C::group_och; ++o) {
#pragma HLS unroll
      check_fits<C::sum_bits, true>(sum[l][o], "sum of products");
      Acc& total = result[l][group * C::group_och + o];
      total = to_int<C::acc_bits>(total + sum[l][o]);
    }
  }
}

/// The task, called from a generated function that has the streams there are as parameters and
/// `no_port` for weights that lie in the task (hls/templates/conv.j2).
template <class C, class Window, class Weights>
inline void grouped_conv(Window& window_in, Weights& weights_in,
                         stream<typename C::out_t> (&out)[C::ow_par]) {
#pragma HLS inline
  using shape = grouped_shape<C>;
  using acc_t = int_t<C::acc_bits>;
  no_port skip;
  for (int oh = 0; oh < C::oh; ++oh) {
    for (int og = 0; og < shape::column_groups; ++og) {
      for (int g = 0; g < shape::iterations; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        const auto& window = read_window<C>(window_in, oh, og);
        const auto& weights = next_weights<C>(weights_in, g);
        acc_t result[C::ow_par][C::och_par];
#pragma HLS array_partition variable = result complete dim = 0
        conv_initial<C>(skip, og, 0, g, result);
        for (int group = 0; group < shape::groups; ++group) {
#pragma HLS unroll
          group_sums<C>(window, weights, group, result);
        }
        conv_write<C>(result, skip, og, g, out);
      }
    }
  }
}

}  // namespace fr
