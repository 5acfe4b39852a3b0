#pragma once

#include "elementwise.hpp"

namespace fr {

/// The negative of every code. `C`: `in_t`, `out_t`, `out_bits`.
template <class C>
void stream_neg(stream<typename C::in_t> (&in)[C::lanes],
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
            typename C::out_t y;
            for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
              y.v[k] = -x.v[k];
            }
            out[l].write(y);
          }
        }
      }
    }
  }
}

}  // namespace fr
