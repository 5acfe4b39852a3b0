#pragma once

/// Nearest-neighbour enlargement by whole factors, through the memory of one input row.

#include "elementwise.hpp"

namespace fr {

/// Every row `rows` times, every column `columns` times; one token of every output lane a cycle.
///
/// An input column group is read in the first output row's step that needs its first column; all
/// steps take the columns they need, one of every memory bank (column modulo `lanes`).
/// `C`: `token_t`, `rows`, `columns`, and by output column group: `newest` (input column group
/// read last), `reads` (whether in this step), `group` and `bank` (per bank: input column group of
/// its column; per output lane: its bank).
template <class C>
void stream_resize(stream<typename C::token_t> (&in)[C::lanes],
                   stream<typename C::token_t> (&out)[C::lanes]) {
  using shape = picture_shape<C>;
  static constexpr auto group = C::group;
#pragma HLS array_partition variable = group.v complete dim = 2
  static constexpr auto bank = C::bank;
#pragma HLS array_partition variable = bank.v complete dim = 2
  typename C::token_t row[C::lanes][shape::column_groups][shape::groups];
#pragma HLS array_partition variable = row complete dim = 1
#pragma HLS dependence variable = row type = inter distance = shape::groups dependent = true
  for (int h = 0; h < C::h; ++h) {
    for (int r = 0; r < C::rows; ++r) {
      for (int og = 0; og < ceil_div(C::w * C::columns, C::lanes); ++og) {
        for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          const int newest = C::newest[og];
          const bool reads = r == 0 && C::reads[og];
          typename C::token_t token[C::lanes];
#pragma HLS array_partition variable = token complete
          for (int b = 0; b < C::lanes; ++b) {
#pragma HLS unroll
            token[b] = row[b][group.at(og, b)][g];
            if (reads && shape::has(newest, b)) {
              const typename C::token_t read = in[b].read();
              row[b][newest][g] = read;
              if (group.at(og, b) == newest) token[b] = read;
            }
          }
          for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
            if (og * C::lanes + l < C::w * C::columns) out[l].write(token[bank.at(og, l)]);
          }
        }
      }
    }
  }
}

}  // namespace fr
