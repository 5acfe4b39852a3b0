#pragma once

/// The AXI4-Stream ports of the accelerator: 16-byte beats with TLAST, the one place that knows
/// the vendor's side-channel type.

#include <cstdint>

#include "types.hpp"
#include "vendor.hpp"

#ifdef FR_VENDOR
#  include <ap_axi_sdata.h>
#endif

namespace fr {

constexpr int kBeatBytes = 16;

#ifdef FR_VENDOR

using axi_beat = ap_axiu<8 * kBeatBytes, 0, 0, 0>;

inline std::uint8_t beat_byte(const axi_beat& beat, int i) {
#  pragma HLS inline
  return static_cast<std::uint8_t>(beat.data.range(8 * i + 7, 8 * i).to_uint());
}

inline void set_beat_byte(axi_beat* beat, int i, std::uint8_t byte) {
#  pragma HLS inline
  beat->data.range(8 * i + 7, 8 * i) = byte;
}

inline void finish_beat(axi_beat* beat, bool last) {
#  pragma HLS inline
  beat->keep = -1;
  beat->strb = -1;
  beat->last = last;
}

#else

struct axi_beat {
  std::uint8_t data[kBeatBytes];
  bool last;
};

inline std::uint8_t beat_byte(const axi_beat& beat, int i) { return beat.data[i]; }

inline void set_beat_byte(axi_beat* beat, int i, std::uint8_t byte) { beat->data[i] = byte; }

inline void finish_beat(axi_beat* beat, bool last) { beat->last = last; }

/// Beat of 16 bytes, for the test bench.
inline void pack_beat(const std::uint8_t* bytes, bool last, axi_beat* beat) {
  for (int i = 0; i < kBeatBytes; ++i) beat->data[i] = bytes[i];
  beat->last = last;
}

/// Bytes of a beat, for the test bench; returns TLAST.
inline bool unpack_beat(const axi_beat& beat, std::uint8_t* bytes) {
  for (int i = 0; i < kBeatBytes; ++i) bytes[i] = beat.data[i];
  return beat.last;
}

#endif

}  // namespace fr
