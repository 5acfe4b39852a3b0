#pragma once

/// Between FINN's streams, one word per transfer, and the lane streams of a task.
///
/// A word is an ap_uint of `lanes * entries * bits` bits: lane 0 lowest, first code lowest, each
/// code in two's complement. Needs ap_uint, so synthesis or FR_USE_AP_INT.

#include "axi.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

#ifndef FR_AP_INT
#  error "packed_stream.hpp needs the vendor's integers: define FR_USE_AP_INT"
#endif

namespace fr {

/// Width of an ap_int or ap_uint.
template <class T>
struct ap_width;
template <int W>
struct ap_width<ap_int<W>> {
  static constexpr int value = W;
};
template <int W>
struct ap_width<ap_uint<W>> {
  static constexpr int value = W;
};

/// Bits of a token; call it with a null pointer to one.
template <class T, int N>
constexpr int token_bits(const token<T, N>*) {
  return N * ap_width<T>::value;
}
template <class T, int R, int C>
constexpr int token_bits(const matrix_token<T, R, C>*) {
  return R * C * ap_width<T>::value;
}

/// Code `i` of a token.
template <class T, int N>
T& token_code(token<T, N>& t, int i) {
#pragma HLS inline
  return t.v[i];
}
template <class T, int R, int C>
T& token_code(matrix_token<T, R, C>& t, int i) {
#pragma HLS inline
  return t.v[i / C][i % C];
}

/// Bits [offset, offset + token's width) of `word` as a token.
template <class Token, int W>
Token token_from_word(const ap_uint<W>& word, int offset) {
#pragma HLS inline
  using code = typename Token::value_type;
  constexpr int bits = ap_width<code>::value;
  constexpr int codes = token_bits(static_cast<const Token*>(nullptr)) / bits;
  Token result;
  for (int i = 0; i < codes; ++i) {
#pragma HLS unroll
    const ap_uint<bits> raw = word.range(offset + (i + 1) * bits - 1, offset + i * bits);
    code value;
    value.range(bits - 1, 0) = raw;
    token_code(result, i) = value;
  }
  return result;
}

/// Puts the codes of `t` at bit `offset` of `word`.
template <class Token, int W>
void token_to_word(Token& t, int offset, ap_uint<W>* word) {
#pragma HLS inline
  using code = typename Token::value_type;
  constexpr int bits = ap_width<code>::value;
  constexpr int codes = token_bits(static_cast<const Token*>(nullptr)) / bits;
  for (int i = 0; i < codes; ++i) {
#pragma HLS unroll
    const code value = token_code(t, i);
    const ap_uint<bits> raw = value.range(bits - 1, 0);
    word->range(offset + (i + 1) * bits - 1, offset + i * bits) = raw;
  }
}

/// Words to lane streams. Config `P`: `h w lanes groups`; order row, column group, channel group.
/// Lanes beyond the last column get nothing.
template <class P, class Token, int W>
void unpack_lanes(stream<ap_uint<W>>& in, stream<Token> (&out)[P::lanes]) {
  constexpr int bits = W / P::lanes;
  static_assert(bits == token_bits(static_cast<const Token*>(nullptr)), "word and token disagree");
  for (int h = 0; h < P::h; ++h) {
    for (int first = 0; first < P::w; first += P::lanes) {
      for (int g = 0; g < P::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        const ap_uint<W> word = in.read();
        for (int l = 0; l < P::lanes; ++l) {
#pragma HLS unroll
          if (first + l < P::w) out[l].write(token_from_word<Token>(word, l * bits));
        }
      }
    }
  }
}

/// Lane streams to words, the inverse of `unpack_lanes`; lanes beyond the last column hold 0.
template <class P, class Token, int W>
void pack_lanes(stream<Token> (&in)[P::lanes], stream<ap_uint<W>>& out) {
  constexpr int bits = W / P::lanes;
  static_assert(bits == token_bits(static_cast<const Token*>(nullptr)), "word and token disagree");
  for (int h = 0; h < P::h; ++h) {
    for (int first = 0; first < P::w; first += P::lanes) {
      for (int g = 0; g < P::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        ap_uint<W> word = 0;
        for (int l = 0; l < P::lanes; ++l) {
#pragma HLS unroll
          if (first + l < P::w) {
            Token t = in[l].read();
            token_to_word(t, l * bits, &word);
          }
        }
        out.write(word);
      }
    }
  }
}

/// `Words` words to the tokens of a plain stream.
template <int Words, class Token, int W>
void unpack_words(stream<ap_uint<W>>& in, stream<Token>& out) {
  static_assert(W == token_bits(static_cast<const Token*>(nullptr)), "word and token disagree");
  for (int i = 0; i < Words; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    const ap_uint<W> word = in.read();
    out.write(token_from_word<Token>(word, 0));
  }
}

/// Tokens of a plain stream to `Words` words.
template <int Words, class Token, int W>
void pack_words(stream<Token>& in, stream<ap_uint<W>>& out) {
  static_assert(W == token_bits(static_cast<const Token*>(nullptr)), "word and token disagree");
  for (int i = 0; i < Words; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    Token t = in.read();
    ap_uint<W> word = 0;
    token_to_word(t, 0, &word);
    out.write(word);
  }
}

/// `Words` words from one stream to the other, unchanged.
template <int Words, int W>
void pass_words(stream<ap_uint<W>>& in, stream<ap_uint<W>>& out) {
  for (int i = 0; i < Words; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    out.write(in.read());
  }
}

/// Words without TLAST to the beats an `input_dma` reads.
template <int Words>
void words_to_beats(stream<ap_uint<8 * kBeatBytes>>& in, stream<axi_beat>& out) {
  for (int i = 0; i < Words; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    const ap_uint<8 * kBeatBytes> word = in.read();
    axi_beat beat;
    for (int b = 0; b < kBeatBytes; ++b) {
#pragma HLS unroll
      const ap_uint<8> byte = word.range(8 * b + 7, 8 * b);
      set_beat_byte(&beat, b, static_cast<std::uint8_t>(byte.to_uint()));
    }
    finish_beat(&beat, i == Words - 1);
    out.write(beat);
  }
}

/// Beats of an `output_dma` to words; TLAST is dropped, as FINN's streams have none.
template <int Words>
void beats_to_words(stream<axi_beat>& in, stream<ap_uint<8 * kBeatBytes>>& out) {
  for (int i = 0; i < Words; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    const axi_beat beat = in.read();
    ap_uint<8 * kBeatBytes> word = 0;
    for (int b = 0; b < kBeatBytes; ++b) {
#pragma HLS unroll
      word.range(8 * b + 7, 8 * b) = ap_uint<8>(beat_byte(beat, b));
    }
    out.write(word);
  }
}

}  // namespace fr
