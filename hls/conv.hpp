#pragma once

/// The convolution task.
///
///   acc   = bias[o] + sum_{i,j,c} in_requant(window[i,j,c]) * w[o,i,j,c]
///   total = acc                                                    skip_form::none
///           acc * acc_factor + skip * skip_factor                  skip_form::accumulator
///           pre_requant(acc) * acc_factor + skip * skip_factor     skip_form::epilogue
///   out   = requant(total)
///
/// and, merged, the 1x1 convolution of the residual block's downsample path, which reads the tap
/// (ds_row, ds_column) of the same windows:
///   ds_out = ds_requant(ds_bias[o] + sum_c ds_in_requant(window[ds_tap][c]) * ds_w[o,c])
///
/// One pipelined iteration per cycle: output row, output column group, input channel group `icg`,
/// output channel group `ocg` (fastest). A window (`[fh][window_columns][ich_par]`, one token or
/// one a row: `read_window`) is read when ocg = 0, weights (`[och_par][ich_par][fh*fw]`, tap
/// fastest) in every iteration; a skip token (`[och_par]` per lane) is read in the first input
/// channel group (accumulator) or the last (epilogue), and out tokens (`[och_par]`, lane = column
/// modulo ow_par) are written in the last. Codes beyond `och` in the last group are 0.

#include "mac.hpp"
#include "rounding/requantise.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"
#include "window_rows.hpp"

namespace fr {

enum class skip_form { none, accumulator, epilogue };

/// Stands where a convolution has no skip input or no merged downsample.
struct no_port {};

/// `ds` of a convolution without a merged downsample.
struct no_downsample {
  using mac_in_t = int_t<1>;
  static constexpr bool merged = false;
  static constexpr int port_operands = 1;
  static constexpr int field_bits = kProductBits;
  static constexpr int column_group = 1;
  static constexpr int acc_bits = 1;
};

template <class C>
struct conv_shape {
  static constexpr int in_groups = ceil_div(C::ich, C::ich_par);
  static constexpr int out_groups = ceil_div(C::och, C::och_par);
  static constexpr int column_groups = ceil_div(C::ow, C::ow_par);
  static constexpr int window_columns = C::fw + (C::ow_par - 1) * C::stride_w;
  static constexpr int kernel = C::fh * C::fw;
  static constexpr int taps = kernel * C::ich_par;
};

/// Operands of the kernel's taps, order input channel, kernel row, kernel column (fastest).
template <class C>
using conv_operands = mac_operands<C, C::ow_par, conv_shape<C>::taps>;
/// Operands of the merged 1x1 convolution, order input channel.
template <class C>
using downsample_operands = mac_operands<typename C::ds, C::ow_par, C::ich_par>;

/// Requantises a window and hands every column its taps. Done once per window, for all output
/// channel groups.
template <class C>
inline void load_operands(const typename C::window_t& window, int icg, conv_operands<C>* x) {
#pragma HLS inline
  using shape = conv_shape<C>;
  typename C::mac_in_t codes[C::fh * shape::window_columns][C::ich_par];
#pragma HLS array_partition variable = codes complete dim = 0
  for (int p = 0; p < C::fh * shape::window_columns; ++p) {
#pragma HLS unroll
    for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
      const auto code = C::in_requant::apply(window.v[p * C::ich_par + c], icg, c);
      codes[p][c] = static_cast<typename C::mac_in_t>(code);
    }
  }
  for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
    for (int i = 0; i < C::fh; ++i) {
#pragma HLS unroll
      for (int j = 0; j < C::fw; ++j) {
#pragma HLS unroll
        const int first = i * shape::window_columns + j;
        x->set(c * shape::kernel + i * C::fw + j,
               [&codes, first, c](int l) { return codes[first + l * C::stride_w][c]; });
      }
    }
  }
}

/// As `load_operands`, for the merged downsample's tap.
template <class C>
inline void load_downsample_operands(const typename C::window_t& window, int icg,
                                     downsample_operands<C>* x) {
#pragma HLS inline
  constexpr int first = C::ds::row * conv_shape<C>::window_columns + C::ds::column;
  for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
    x->set(c, [&window, icg, c](int l) {
      const auto& code = window.v[(first + l * C::stride_w) * C::ich_par + c];
      return static_cast<typename C::ds::mac_in_t>(C::ds::in_requant::apply(code, icg, c));
    });
  }
}

/// Adds this iteration's products to `acc`, which starts from `initial` in the first input group.
/// `M` is the convolution or its downsample: `acc_bits`, `sum_bits`, `product_shift` and what
/// mac.hpp asks for.
template <class M, int Lanes, int Outputs, int N, class W, class Acc>
inline void conv_accumulate(const mac_operands<M, Lanes, N>& x, const W (&w)[Outputs][N],
                            bool first, const Acc (&initial)[Lanes][Outputs],
                            Acc (&acc)[Lanes][Outputs]) {
#pragma HLS inline
  int_t<M::sum_bits> sum[Lanes][Outputs];
#pragma HLS array_partition variable = sum complete dim = 0
  mac_array<M>(x, w, sum);
  for (int l = 0; l < Lanes; ++l) {
#pragma HLS unroll
    for (int o = 0; o < Outputs; ++o) {
#pragma HLS unroll
      check_fits<M::sum_bits, true>(sum[l][o], "sum of products");
      Acc base = acc[l][o];
      if (first) base = initial[l][o];
      // Products alone may leave the range that they and the bias keep together.
      constexpr int bits = max_of(M::sum_bits + M::product_shift, M::acc_bits);
      const auto product = scale<bits, M::product_shift>(sum[l][o]);
      acc[l][o] = to_int<M::acc_bits>(add<bits>(base, product));
    }
  }
}

/// What the accumulators start from: the bias, plus the skip value in the accumulator form.
template <class C, class Skip, class Acc>
inline void conv_initial(Skip& skip, int og, int icg, int ocg,
                         Acc (&initial)[C::ow_par][C::och_par]) {
#pragma HLS inline
  static constexpr auto bias = C::bias;
#pragma HLS array_partition variable = bias.v complete dim = 2
  for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
    for (int o = 0; o < C::och_par; ++o) {
#pragma HLS unroll
      initial[l][o] = scale<C::acc_bits, C::product_shift>(bias.at(ocg, o));
    }
    if constexpr (C::skip == skip_form::accumulator) {
      if (icg == 0 && og * C::ow_par + l < C::ow) {
        const auto& token = read_ref(skip[l]);
        for (int o = 0; o < C::och_par; ++o) {
#pragma HLS unroll
          const Acc value = multiply<C::acc_bits>(token.v[o], std::int64_t{C::skip_factor});
          initial[l][o] = add<C::acc_bits>(initial[l][o], value);
        }
      }
    }
  }
}

/// Requantises and writes the finished accumulators of one output channel group.
template <class C, class Skip, class Acc>
inline void conv_write(const Acc (&acc)[C::ow_par][C::och_par], Skip& skip, int og, int ocg,
                       stream<typename C::out_t> (&out)[C::ow_par]) {
#pragma HLS inline
  for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
    if (og * C::ow_par + l < C::ow) {
      typename C::skip_t skip_token;
      if constexpr (C::skip == skip_form::epilogue) skip_token = skip[l].read();
      typename C::out_t token;
      for (int o = 0; o < C::och_par; ++o) {
#pragma HLS unroll
        int_t<C::total_bits> total;
        if constexpr (C::skip == skip_form::epilogue) {
          const auto code = C::pre_requant::apply(acc[l][o], ocg, o);
          total = add<C::total_bits>(
              multiply<C::total_bits>(code, std::int64_t{C::acc_factor}),
              multiply<C::total_bits>(skip_token.v[o], std::int64_t{C::skip_factor}));
        } else {
          total = acc[l][o];
        }
        const bool valid = ocg * C::och_par + o < C::och;
        if (valid) {
          if (C::skip == skip_form::epilogue) probe(C::acc_probe, acc[l][o]);
          probe(C::total_probe, total);
        }
        token.v[o] = valid ? to_code<C::out_bits, C::out_signed>(C::requant::apply(total, ocg, o))
                           : code_t<C::out_bits, C::out_signed>(0);
      }
      out[l].write(token);
    }
  }
}

/// Requantises and writes one output channel group of the merged downsample convolution.
template <class C, class D, class Acc>
inline void downsample_write(const Acc (&acc)[C::ow_par][C::och_par], int og, int ocg,
                             stream<typename D::out_t> (&out)[C::ow_par]) {
#pragma HLS inline
  for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
    if (og * C::ow_par + l < C::ow) {
      typename D::out_t token;
      for (int o = 0; o < C::och_par; ++o) {
#pragma HLS unroll
        const bool valid = ocg * C::och_par + o < C::och;
        if (valid) probe(D::acc_probe, acc[l][o]);
        token.v[o] = valid
                         ? to_code<D::out_bits, D::out_signed>(D::requant::apply(acc[l][o], ocg, o))
                         : code_t<D::out_bits, D::out_signed>(0);
      }
      out[l].write(token);
    }
  }
}

/// Weights of the iteration that `word` numbers: the next token of the parameter task, or with no
/// such task a word of `D::memory`, in the same order.
template <class D>
decltype(auto) next_weights(stream<typename D::weights_t>& weights, int /*word*/) {
#pragma HLS inline
  return read_ref(weights);
}
template <class D>
typename D::weights_t next_weights(no_port& /*none*/, int word) {
#pragma HLS inline
  return D::memory::word(word);
}

/// The merged downsample convolution's part of an iteration.
template <class C, class Weights, class Acc, class Out>
inline void downsample_iteration(const downsample_operands<C>& x, int og, int icg, int ocg,
                                 Weights& weights, Acc (&acc)[C::ow_par][C::och_par], Out& out) {
#pragma HLS inline
  using D = typename C::ds;
  static constexpr auto bias = D::bias;
#pragma HLS array_partition variable = bias.v complete dim = 2
  Acc initial[C::ow_par][C::och_par];
#pragma HLS array_partition variable = initial complete dim = 0
  for (int l = 0; l < C::ow_par; ++l) {
#pragma HLS unroll
    for (int o = 0; o < C::och_par; ++o) {
#pragma HLS unroll
      initial[l][o] = bias.at(ocg, o);
    }
  }
  const int word = icg * conv_shape<C>::out_groups + ocg;
  conv_accumulate<D>(x, next_weights<D>(weights, word).v, icg == 0, initial, acc);
  if (icg == conv_shape<C>::in_groups - 1) downsample_write<C, D>(acc, og, ocg, out);
}

/// The task, called from a generated function that has the streams there are as parameters and
/// `no_port` for the others (hls/templates/conv.j2).
///
/// An accumulator is read and written every `groups` iterations, which the tool is told: it
/// cannot see it through the flattened loops, and a distance of 1 would slow the pipeline down.
template <class C, class Window, class Weights, class Skip, class DsWeights, class DsOut>
inline void conv(Window& window_in, Weights& weights_in, Skip& skip,
                 [[maybe_unused]] DsWeights& ds_weights,
                 stream<typename C::out_t> (&out)[C::ow_par], [[maybe_unused]] DsOut& ds_out) {
#pragma HLS inline
  using shape = conv_shape<C>;
  using acc_t = int_t<C::acc_bits>;
  constexpr int groups = shape::out_groups;
  conv_operands<C> x;
  acc_t acc[groups][C::ow_par][C::och_par];
  [[maybe_unused]] downsample_operands<C> ds_x;
  [[maybe_unused]] int_t<C::ds::acc_bits> ds_acc[groups][C::ow_par][C::och_par];
#pragma HLS array_partition variable = x.group complete dim = 0
#pragma HLS array_partition variable = x.last complete dim = 0
#pragma HLS array_partition variable = acc complete dim = 2
#pragma HLS array_partition variable = acc complete dim = 3
#pragma HLS array_partition variable = ds_x.group complete dim = 0
#pragma HLS array_partition variable = ds_x.last complete dim = 0
#pragma HLS array_partition variable = ds_acc complete dim = 2
#pragma HLS array_partition variable = ds_acc complete dim = 3
#pragma HLS dependence variable = acc type = inter distance = groups dependent = true
#pragma HLS dependence variable = ds_acc type = inter distance = groups dependent = true
  for (int oh = 0; oh < C::oh; ++oh) {
    for (int og = 0; og < shape::column_groups; ++og) {
      for (int icg = 0; icg < shape::in_groups; ++icg) {
        for (int ocg = 0; ocg < groups; ++ocg) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          if (ocg == 0) {
            const auto& window = read_window<C>(window_in, oh, og);
            load_operands<C>(window, icg, &x);
            if constexpr (C::ds::merged) load_downsample_operands<C>(window, icg, &ds_x);
          }
          acc_t initial[C::ow_par][C::och_par];
#pragma HLS array_partition variable = initial complete dim = 0
          conv_initial<C>(skip, og, icg, ocg, initial);
          conv_accumulate<C>(x, next_weights<C>(weights_in, icg * groups + ocg).v, icg == 0,
                             initial, acc[ocg]);
          if (icg == shape::in_groups - 1) conv_write<C>(acc[ocg], skip, og, ocg, out);
          if constexpr (C::ds::merged) {
            downsample_iteration<C>(ds_x, og, icg, ocg, ds_weights, ds_acc[ocg], ds_out);
          }
        }
      }
    }
  }
}

}  // namespace fr
