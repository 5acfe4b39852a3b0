#pragma once

/// Weights that arrive over a stream at start-up, for memories without initial contents (URAM).
///
/// The parameter port carries the words of all such layers, one layer after the other; a word is
/// its codes (`code_bytes` each, little-endian) in whole beats, the last one filled up with 0. The
/// distributor hands each layer its beats. Every task is called once a frame and loads in its first
/// call only, before it streams anything: no result can leave the design before all weights are
/// there. A bitstream therefore loads once.

#include "axi.hpp"
#include "dma.hpp"
#include "parameters.hpp"
#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// A beat on its way to its layer.
using parameter_beat = token<uint_t<8>, kBeatBytes>;

/// The distributor's part for one layer: its `Beats` beats.
template <int Beats>
void forward_parameters(stream<axi_beat>& in, stream<parameter_beat>& layer) {
  for (int i = 0; i < Beats; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    const axi_beat beat = in.read();
    parameter_beat token;
    for (int k = 0; k < kBeatBytes; ++k) {
#pragma HLS unroll
      token.v[k] = beat_byte(beat, k);
    }
    layer.write(token);
  }
}

/// Fills the memory of a layer, word by word. Config `C`: `words`, `word_beats`, `code_bytes`,
/// `code_bits`, `code_signed`, `weight_t`, `weights_t`.
template <class C>
void load_parameters(
    stream<parameter_beat>& load,
    typename C::weight_t (&weights)[C::words][C::weights_t::rows * C::weights_t::columns]) {
  constexpr int entries = C::weights_t::rows * C::weights_t::columns;
  constexpr int bytes = C::word_beats * kBeatBytes;
  // The word so far; its first beat moves down to byte 0 as the others follow.
  std::uint8_t word_bytes[bytes] = {};
#pragma HLS array_partition variable = word_bytes complete
  for (int word = 0; word < C::words; ++word) {
    for (int beat = 0; beat < C::word_beats; ++beat) {
#pragma HLS pipeline II = 1 style = stp
      iteration();
      const parameter_beat token = load.read();
      for (int i = 0; i + kBeatBytes < bytes; ++i) {
#pragma HLS unroll
        word_bytes[i] = word_bytes[i + kBeatBytes];
      }
      for (int k = 0; k < kBeatBytes; ++k) {
#pragma HLS unroll
        word_bytes[bytes - kBeatBytes + k] = static_cast<std::uint8_t>(to_int64(token.v[k]));
      }
      if (beat == C::word_beats - 1) {
        for (int e = 0; e < entries; ++e) {
#pragma HLS unroll
          weights[word][e] = code_from_bytes<C>(word_bytes + e * C::code_bytes);
        }
      }
    }
  }
}

/// Parameter task that waits for its weights before the first frame and keeps them.
template <class C>
void loaded_parameter_stream(
    stream<parameter_beat>& load,
    typename C::weight_t (&weights)[C::words][C::weights_t::rows * C::weights_t::columns],
    stream<typename C::weights_t>& out) {
  static bool loaded = false;
  if (!loaded) load_parameters<C>(load, weights);
  loaded = true;
  parameter_stream<C>(weights, out);
}

}  // namespace fr
