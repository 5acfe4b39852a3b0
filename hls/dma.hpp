#pragma once

/// The network's ends: AXI beats to tokens and tokens to beats.
///
/// A frame is `h * w * ch` codes of `code_bytes` bytes, little-endian, NHWC, packed without gaps;
/// the last beat is zero-padded and carries TLAST. Config `C`: `h w ch`, `ch_par`, `lanes`,
/// `code_bytes`, `code_bits`, `code_signed`, `token_t`.

#include "axi.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

template <class C>
struct dma_shape {
  static constexpr int groups = ceil_div(C::ch, C::ch_par);
  static constexpr int token_bytes = C::ch_par * C::code_bytes;
  /// Bytes of the last group of a pixel, whose padding entries do not travel.
  static constexpr int tail_bytes = (C::ch - (groups - 1) * C::ch_par) * C::code_bytes;
  /// Iterations a token needs when it is wider than a beat.
  static constexpr int parts = ceil_div(token_bytes, kBeatBytes);
  static constexpr int buffer_bytes = token_bytes + kBeatBytes;
  static constexpr int frame_bytes = C::h * C::w * C::ch * C::code_bytes;
  static constexpr int beats = ceil_div(frame_bytes, kBeatBytes);
  /// The buffer's fill level is a multiple of this, whatever beats and tokens came and went.
  static constexpr int place_bytes = gcd_of(kBeatBytes, gcd_of(token_bytes, tail_bytes));
};

/// Little-endian code at the head of `bytes`.
template <class C>
inline code_t<C::code_bits, C::code_signed> code_from_bytes(const std::uint8_t* bytes) {
#pragma HLS inline
  std::uint64_t raw = 0;
  for (int b = 0; b < C::code_bytes; ++b) {
#pragma HLS unroll
    raw |= static_cast<std::uint64_t>(bytes[b]) << (8 * b);
  }
  if constexpr (C::code_signed) {
    return to_code<C::code_bits, true>(wrap<8 * C::code_bytes>(raw));
  } else {
    return to_code<C::code_bits, false>(raw);
  }
}

/// Puts `Count` bytes into the buffer behind the `fill` ones it holds, a multiple of `Place` and at
/// most `Last`. A choice between constant places, since the buffer is registers.
template <int Place, int Last, int Count, int Size, class Fill, class Byte>
inline void append_bytes(std::uint8_t (&buffer)[Size], const Fill& fill, const Byte& byte) {
#pragma HLS inline
  for (int at = 0; at <= Last; at += Place) {
#pragma HLS unroll
    if (fill == at) {
      for (int i = 0; i < Count; ++i) {
#pragma HLS unroll
        buffer[at + i] = byte(i);
      }
    }
  }
}

/// Drops the oldest `Count` bytes of the buffer.
template <int Count, int Size>
inline void drop_bytes(std::uint8_t (&buffer)[Size]) {
#pragma HLS inline
  for (int i = 0; i + Count < Size; ++i) {
#pragma HLS unroll
    buffer[i] = buffer[i + Count];
  }
}

/// Beats to tokens: one token per cycle (one beat per cycle where a token is wider), lane
/// `w % lanes`, order h, w, channel group.
template <class C>
void input_dma(stream<axi_beat>& in, stream<typename C::token_t> (&out)[C::lanes]) {
  using shape = dma_shape<C>;
  std::uint8_t buffer[shape::buffer_bytes] = {};
#pragma HLS array_partition variable = buffer complete
  counter_t<shape::buffer_bytes> fill = 0;
  // Counted, because a remainder of division by the number of lanes costs a divider.
  counter_t<C::lanes - 1> lane = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int w = 0; w < C::w; ++w) {
      for (int g = 0; g < shape::groups; ++g) {
        for (int part = 0; part < shape::parts; ++part) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          const bool tail = g == shape::groups - 1;
          int held = static_cast<int>(fill);
          if (held < (tail ? shape::tail_bytes : shape::token_bytes)) {
            const axi_beat beat = in.read();
            append_bytes<shape::place_bytes, shape::token_bytes - 1, kBeatBytes>(
                buffer, held, [&beat](int i) { return beat_byte(beat, i); });
            held += kBeatBytes;
          }
          if (part == shape::parts - 1) {
            typename C::token_t token;
            for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
              const bool valid = !tail || k * C::code_bytes < shape::tail_bytes;
              token.v[k] = valid ? code_from_bytes<C>(buffer + k * C::code_bytes)
                                 : code_t<C::code_bits, C::code_signed>(0);
            }
            if (tail) {
              drop_bytes<shape::tail_bytes>(buffer);
              held -= shape::tail_bytes;
            } else {
              drop_bytes<shape::token_bytes>(buffer);
              held -= shape::token_bytes;
            }
            for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
              if (l == lane) out[l].write(token);
            }
            if (tail) count_up<C::lanes - 1>(lane, w == C::w - 1);
          }
          fill = static_cast<counter_t<shape::buffer_bytes>>(held);
        }
      }
    }
  }
}

/// The oldest bytes of the buffer as a beat, zero-padded where it holds fewer; `last` is TLAST.
template <int Size>
inline axi_beat beat_from_bytes(const std::uint8_t (&buffer)[Size], int held, bool last) {
#pragma HLS inline
  axi_beat beat;
  for (int i = 0; i < kBeatBytes; ++i) {
#pragma HLS unroll
    set_beat_byte(&beat, i, i < held ? buffer[i] : std::uint8_t{0});
  }
  finish_beat(&beat, last);
  return beat;
}

/// Tokens to beats, the inverse of `input_dma`.
template <class C>
void output_dma(stream<typename C::token_t> (&in)[C::lanes], stream<axi_beat>& out) {
  using shape = dma_shape<C>;
  constexpr int rest_bytes = shape::frame_bytes % kBeatBytes;
  std::uint8_t buffer[shape::buffer_bytes] = {};
#pragma HLS array_partition variable = buffer complete
  counter_t<shape::buffer_bytes> fill = 0;
  counter_t<C::lanes - 1> lane = 0;
  counter_t<shape::beats> beats = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int w = 0; w < C::w; ++w) {
      for (int g = 0; g < shape::groups; ++g) {
        for (int part = 0; part < shape::parts; ++part) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          const bool tail = g == shape::groups - 1;
          const int arriving = part > 0 ? 0 : (tail ? shape::tail_bytes : shape::token_bytes);
          const int held = static_cast<int>(fill);
          // Asked of the fill level before the token, so that the addition is not in the way.
          const bool full = part > 0 ? held >= kBeatBytes
                            : tail   ? held >= kBeatBytes - shape::tail_bytes
                                     : held >= kBeatBytes - shape::token_bytes;
          if (part == 0) {
            typename C::token_t token;
            for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
              if (l == lane) token = in[l].read();
            }
            append_bytes<shape::place_bytes, kBeatBytes - 1, shape::token_bytes>(
                buffer, held, [&token](int i) {
                  const std::int64_t code = to_int64(token.v[i / C::code_bytes]);
                  return static_cast<std::uint8_t>((code >> (8 * (i % C::code_bytes))) & 255);
                });
          }
          if (full) {
            beats = static_cast<counter_t<shape::beats>>(beats + 1);
            out.write(beat_from_bytes(buffer, kBeatBytes, beats == shape::beats));
            drop_bytes<kBeatBytes>(buffer);
          }
          if (tail && part == shape::parts - 1) count_up<C::lanes - 1>(lane, w == C::w - 1);
          fill = static_cast<counter_t<shape::buffer_bytes>>(held + arriving -
                                                             (full ? kBeatBytes : 0));
        }
      }
    }
  }
  if constexpr (rest_bytes > 0) {
    iteration();
    out.write(beat_from_bytes(buffer, rest_bytes, true));
  }
}

}  // namespace fr
