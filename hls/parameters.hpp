#pragma once

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// Word `index` of a weight memory as a token `[och_par][ich_par][fh*fw]` (tap fastest).
template <class C>
typename C::weights_t weights_word(
    const typename C::weight_t (&weights)[C::words][C::weights_t::rows * C::weights_t::columns],
    int index) {
#pragma HLS inline
  typename C::weights_t token;
  for (int o = 0; o < C::weights_t::rows; ++o) {
#pragma HLS unroll
    for (int t = 0; t < C::weights_t::columns; ++t) {
#pragma HLS unroll
      token.v[o][t] = weights[index][o * C::weights_t::columns + t];
    }
  }
  return token;
}

/// Parameter task: the weights of a convolution from on-chip memory, `repeats` times a frame.
///
/// Word = token = `[och_par][ich_par][fh*fw]` (tap fastest); order input channel group, output
/// channel group (fastest). Config `C`: `words`, `repeats`, `weight_t`, `weights_t`. The generated
/// caller owns the array, so that it can bind it to the chosen memory.
template <class C>
void parameter_stream(
    const typename C::weight_t (&weights)[C::words][C::weights_t::rows * C::weights_t::columns],
    stream<typename C::weights_t>& out) {
  for (int repeat = 0; repeat < C::repeats; ++repeat) {
    for (int word = 0; word < C::words; ++word) {
#pragma HLS pipeline II = 1 style = stp
      iteration();
      out.write(weights_word<C>(weights, word));
    }
  }
}

}  // namespace fr
