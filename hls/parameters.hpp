#pragma once

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// Entry `entry` of a memory word. Loaded words are arrays of `weight_t`; those of constants are
/// 32-bit integers with the codes side by side, the first one lowest: plain integers, because a
/// vendor type's constructor would run for every weight, and few, because a compiler reads each.
template <class C, class Word>
typename C::weight_t weight_of(const Word& word, int entry) {
#pragma HLS inline
  if constexpr (C::loaded) {
    return word[entry];
  } else {
    const int bit = entry * C::code_bits;
    std::uint32_t raw = word[bit / 32] >> (bit % 32);
    if (bit % 32 + C::code_bits > 32) raw |= word[bit / 32 + 1] << (32 - bit % 32);
    if constexpr (C::code_signed) return wrap<C::code_bits>(raw);
    return static_cast<typename C::weight_t>(raw & ((1u << C::code_bits) - 1));
  }
}

/// Word `index` of a weight memory as a token `[och_par][ich_par][fh*fw]` (tap fastest).
template <class C, class Word>
typename C::weights_t weights_word(const Word (&weights)[C::words], int index) {
#pragma HLS inline
  typename C::weights_t token;
  for (int o = 0; o < C::weights_t::rows; ++o) {
#pragma HLS unroll
    for (int t = 0; t < C::weights_t::columns; ++t) {
#pragma HLS unroll
      token.v[o][t] = weight_of<C>(weights[index], o * C::weights_t::columns + t);
    }
  }
  return token;
}

/// Parameter task: the weights of a convolution from on-chip memory, `repeats` times a frame.
///
/// Word = token = `[och_par][ich_par][fh*fw]` (tap fastest); order input channel group, output
/// channel group (fastest). Config `C`: `words`, `repeats`, `loaded`, `code_bits`, `code_signed`,
/// `weight_t`, `weights_t`. The generated caller owns the array, so that it can bind it to the
/// chosen memory.
template <class C, class Word>
void parameter_stream(const Word (&weights)[C::words], stream<typename C::weights_t>& out) {
  for (int repeat = 0; repeat < C::repeats; ++repeat) {
    for (int word = 0; word < C::words; ++word) {
#pragma HLS pipeline II = 1 style = stp
      iteration();
      out.write(weights_word<C>(weights, word));
    }
  }
}

}  // namespace fr
