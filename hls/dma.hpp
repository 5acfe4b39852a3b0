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
  static constexpr int beats = ceil_div(C::h * C::w * C::ch * C::code_bytes, kBeatBytes);
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

/// Lane of the column after column `w`; each row starts in lane 0. A counter, because a remainder
/// of division by the number of lanes costs a divider.
template <class C>
inline int next_lane(int lane, int w) {
#pragma HLS inline
  return lane == C::lanes - 1 || w == C::w - 1 ? 0 : lane + 1;
}

/// Beats to tokens: one token per cycle (one beat per cycle where a token is wider), lane
/// `w % lanes`, order h, w, channel group.
template <class C>
void input_dma(stream<axi_beat>& in, stream<typename C::token_t> (&out)[C::lanes]) {
  using shape = dma_shape<C>;
  std::uint8_t buffer[shape::buffer_bytes] = {};
#pragma HLS array_partition variable = buffer complete
  int fill = 0;
  int lane = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int w = 0; w < C::w; ++w) {
      for (int g = 0; g < shape::groups; ++g) {
        for (int part = 0; part < shape::parts; ++part) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          const bool tail = g == shape::groups - 1;
          const int need = tail ? shape::tail_bytes : shape::token_bytes;
          if (fill < need) {
            const axi_beat beat = in.read();
            for (int i = 0; i < kBeatBytes; ++i) {
#pragma HLS unroll
              buffer[fill + i] = beat_byte(beat, i);
            }
            fill += kBeatBytes;
          }
          if (part == shape::parts - 1) {
            typename C::token_t token;
            for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
              const bool valid = !tail || k * C::code_bytes < shape::tail_bytes;
              token.v[k] = valid ? code_from_bytes<C>(buffer + k * C::code_bytes)
                                 : code_t<C::code_bits, C::code_signed>(0);
            }
            for (int i = 0; i + need < shape::buffer_bytes; ++i) {
#pragma HLS unroll
              buffer[i] = buffer[i + need];
            }
            fill -= need;
            for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
              if (l == lane) out[l].write(token);
            }
            if (tail) lane = next_lane<C>(lane, w);
          }
        }
      }
    }
  }
}

/// Collects bytes and hands out full beats.
template <class C>
class beat_packer {
 public:
  /// Appends `count` bytes of `bytes`, the rest of which is ignored.
  void append(const std::uint8_t (&bytes)[dma_shape<C>::token_bytes], int count) {
#pragma HLS inline
    for (int i = 0; i < dma_shape<C>::token_bytes; ++i) {
#pragma HLS unroll
      if (i < count) buffer_[fill_ + i] = bytes[i];
    }
    fill_ += count;
  }

  bool full() const { return fill_ >= kBeatBytes; }
  bool empty() const { return fill_ == 0; }

  /// The oldest 16 bytes, zero-padded when fewer are left.
  axi_beat take() {
#pragma HLS inline
    axi_beat beat;
    for (int i = 0; i < kBeatBytes; ++i) {
#pragma HLS unroll
      set_beat_byte(&beat, i, i < fill_ ? buffer_[i] : std::uint8_t{0});
    }
    for (int i = 0; i + kBeatBytes < dma_shape<C>::buffer_bytes; ++i) {
#pragma HLS unroll
      buffer_[i] = buffer_[i + kBeatBytes];
    }
    fill_ = fill_ > kBeatBytes ? fill_ - kBeatBytes : 0;
    ++beats_;
    finish_beat(&beat, beats_ == dma_shape<C>::beats);
    return beat;
  }

 private:
  std::uint8_t buffer_[dma_shape<C>::buffer_bytes] = {};
  int fill_ = 0;
  int beats_ = 0;
};

/// Tokens to beats, the inverse of `input_dma`.
template <class C>
void output_dma(stream<typename C::token_t> (&in)[C::lanes], stream<axi_beat>& out) {
  using shape = dma_shape<C>;
  beat_packer<C> packer;
  int lane = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int w = 0; w < C::w; ++w) {
      for (int g = 0; g < shape::groups; ++g) {
        for (int part = 0; part < shape::parts; ++part) {
#pragma HLS pipeline II = 1 style = stp
          iteration();
          if (part == 0) {
            typename C::token_t token;
            for (int l = 0; l < C::lanes; ++l) {
#pragma HLS unroll
              if (l == lane) token = in[l].read();
            }
            std::uint8_t bytes[shape::token_bytes];
            for (int k = 0; k < C::ch_par; ++k) {
#pragma HLS unroll
              const std::int64_t code = to_int64(token.v[k]);
              for (int b = 0; b < C::code_bytes; ++b) {
#pragma HLS unroll
                bytes[k * C::code_bytes + b] = static_cast<std::uint8_t>((code >> (8 * b)) & 255);
              }
            }
            packer.append(bytes, g == shape::groups - 1 ? shape::tail_bytes : shape::token_bytes);
          }
          if (packer.full()) out.write(packer.take());
          if (g == shape::groups - 1 && part == shape::parts - 1) lane = next_lane<C>(lane, w);
        }
      }
    }
  }
  if (!packer.empty()) {
    iteration();
    out.write(packer.take());
  }
}

}  // namespace fr
