#pragma once

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// Entry `entry` of a memory word. Loaded words are arrays of `weight_t`; those of constants are
/// bytes with the codes side by side, the first one lowest: plain integers, because a vendor type's
/// constructor would run for every weight.
template <class C, class Word>
typename C::weight_t weight_of(const Word& word, int entry) {
#pragma HLS inline
  if constexpr (C::loaded) {
    return word[entry];
  } else {
    const int bit = entry * C::code_bits;
    std::uint32_t raw = 0;
    for (int b = 0; b < ceil_div(C::code_bits + 7, 8); ++b) {
#pragma HLS unroll
      if (8 * b < bit % 8 + C::code_bits) {
        raw |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(word[bit / 8 + b])) << (8 * b);
      }
    }
    raw >>= bit % 8;
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
