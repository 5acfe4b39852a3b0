#pragma once

/// Tasks that keep the picture's rows and columns: fork, residual addition, concatenation,
/// requantisation.
///
/// One iteration handles one token of every lane: order row, column group (`lanes` columns),
/// channel group. Config `C`: `h w ch`, `ch_par`, `lanes` and what each task names.

#include "rounding/requantise.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

template <class C>
struct picture_shape {
  static constexpr int groups = ceil_div(C::ch, C::ch_par);
  static constexpr int column_groups = ceil_div(C::w, C::lanes);

  /// Whether lane `l` has a column in column group `wg`: the last group may be ragged.
  static constexpr bool has(int wg, int l) { return wg * C::lanes + l < C::w; }
};

/// Copies `in` to every output. `C`: `token_t`.
template <class C, class... Outputs>
void stream_fork(stream<typename C::token_t> (&in)[C::lanes], Outputs&... outputs) {
  using shape = picture_shape<C>;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < shape::column_groups; ++wg) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
          if (shape::has(wg, l)) {
            const typename C::token_t token = in[l].read();
            (outputs[l].write(token), ...);
          }
        }
      }
    }
  }
}

/// The requantised token of `value(k)`, k = entry; entries beyond the last channel are 0.
template <class C, class Value>
inline typename C::out_t requantised(int g, const Value& value) {
#pragma HLS inline
  typename C::out_t token;
  for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
    const bool valid = g * C::ch_par + k < C::ch;
    const auto total = value(k);
    if (valid) probe(C::total_probe, to_int64(total));
    token.v[k] = valid ? to_code<C::out_bits, C::out_signed>(C::requant::apply(total, g, k))
                       : code_t<C::out_bits, C::out_signed>(0);
  }
  return token;
}

/// `requant(a * mult_a + b * mult_b)`. `C`: `a_t`, `b_t`, `out_t`, `total_bits`, `requant`.
template <class C>
void stream_add(stream<typename C::a_t> (&a)[C::lanes], stream<typename C::b_t> (&b)[C::lanes],
                stream<typename C::out_t> (&out)[C::lanes]) {
  using shape = picture_shape<C>;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < shape::column_groups; ++wg) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
          if (shape::has(wg, l)) {
            const typename C::a_t x = a[l].read();
            const typename C::b_t y = b[l].read();
            const auto sum = [&x, &y](int k) {
              return to_int<C::total_bits>(
                  multiply<C::total_bits>(x.v[k], std::int64_t{C::mult_a}) +
                  multiply<C::total_bits>(y.v[k], std::int64_t{C::mult_b}));
            };
            out[l].write(requantised<C>(g, sum));
          }
        }
      }
    }
  }
}

/// The token of channel group `g` of a joined picture, if part `index` holds it.
template <class C, class Part, class Code>
inline void concat_part(Part& part, int index, int g, Code (&codes)[C::ch_par]) {
#pragma HLS inline
  const int begin = index == 0 ? 0 : C::part_end[index - 1];
  if (g >= begin && g < C::part_end[index]) {
    const auto& token = read_ref(part);
    for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
      codes[k] = token.v[k];
    }
  }
}

/// `requant` of pictures joined along the channels. `C`: `part_end` (per part, one past its last
/// channel group in the joined picture; only the last part may end inside a token), `out_t`,
/// `requant`.
template <class C, class... Parts>
void stream_concat(stream<typename C::out_t> (&out)[C::lanes], Parts&... parts) {
  using shape = picture_shape<C>;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < shape::column_groups; ++wg) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
          if (shape::has(wg, l)) {
            int_t<C::total_bits> codes[C::ch_par] = {};
#pragma HLS array_partition variable = codes complete dim = 0
            int index = 0;
            ((concat_part<C>(parts[l], index, g, codes), ++index), ...);
            out[l].write(requantised<C>(g, [&codes](int k) { return codes[k]; }));
          }
        }
      }
    }
  }
}

/// `requant(in)`. `C`: `in_t`, `out_t`, `requant`.
template <class C>
void stream_requant(stream<typename C::in_t> (&in)[C::lanes],
                    stream<typename C::out_t> (&out)[C::lanes]) {
  using shape = picture_shape<C>;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < shape::column_groups; ++wg) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
          if (shape::has(wg, l)) {
            const typename C::in_t x = in[l].read();
            out[l].write(requantised<C>(g, [&x](int k) { return x.v[k]; }));
          }
        }
      }
    }
  }
}

}  // namespace fr
