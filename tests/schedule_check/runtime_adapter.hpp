#pragma once

/// The width adapter as it was when run-time state decided what it does: a negative control.

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

/// Which iterations of a column group read and write: the codes of a pixel pass a buffer that
/// takes one token of `in_ch_par` codes and gives one of `out_ch_par` codes per iteration.
template <class C>
struct adapter_schedule {
  static constexpr int in_groups = ceil_div(C::ch, C::in_ch_par);
  static constexpr int out_groups = ceil_div(C::ch, C::out_ch_par);
  /// Pixels handled side by side: the most that never meet a lane twice in one iteration.
  static constexpr int columns = gcd_of(C::in_lanes, C::out_lanes);

  /// Codes that output token `g` needs in the buffer's total, capped at the last channel.
  static constexpr int needed(int g) { return min_of((g + 1) * C::out_ch_par, C::ch); }
  static constexpr int arrived(int tokens) { return min_of(tokens * C::in_ch_par, C::ch); }

  /// Iterations per column group: most often max(in_groups, out_groups).
  static constexpr int steps() {
    int count = 0;
    int in = 0;
    int out = 0;
    while (out < out_groups) {
      if (reads(in, out)) ++in;
      if (arrived(in) >= needed(out)) ++out;
      ++count;
    }
    return count;
  }
  /// Whether the next iteration reads, after `in` tokens read and `out` written.
  static constexpr bool reads(int in, int out) {
    return in < in_groups && arrived(in) < needed(out);
  }
};

/// `in_lanes` lanes of `in_ch_par` codes to `out_lanes` lanes of `out_ch_par` codes, order h, w,
/// channel group on both sides. Config `C`: `h w ch`, the four factors, `in_t`, `out_t`.
template <class C>
void width_adapter(stream<typename C::in_t> (&in)[C::in_lanes],
                   stream<typename C::out_t> (&out)[C::out_lanes]) {
  using schedule = adapter_schedule<C>;
  using code = typename C::out_t::value_type;
  constexpr int columns = schedule::columns;
  constexpr int column_groups = ceil_div(C::w, columns);
  constexpr int capacity = C::in_ch_par + C::out_ch_par;
  code buffer[columns][capacity] = {};
#pragma HLS array_partition variable = buffer complete dim = 0
  // The lanes of this column group; counters, because a remainder of division costs a divider.
  int in_first = 0;
  int out_first = 0;
  int read = 0;
  int written = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < column_groups; ++wg) {
      for (int step = 0; step < schedule::steps(); ++step) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        const bool reads = schedule::reads(read, written);
        // Codes still in the buffer; the last token of a pixel carries fewer.
        const int held = schedule::arrived(read) - (written * C::out_ch_par);
        read += reads ? 1 : 0;
        const bool writes = schedule::arrived(read) >= schedule::needed(written);
        for (int l = 0; l < C::in_lanes; ++l) {
#pragma HLS unroll
          const int c = l % columns;
          if (reads && wg * columns + c < C::w && l - c == in_first) {
            const auto& token = read_ref(in[l]);
            for (int k = 0; k < C::in_ch_par; ++k) {
#pragma HLS unroll
              buffer[c][held + k] = token.v[k];
            }
          }
        }
        for (int l = 0; l < C::out_lanes; ++l) {
#pragma HLS unroll
          const int c = l % columns;
          if (writes && wg * columns + c < C::w && l - c == out_first) {
            typename C::out_t token;
            for (int k = 0; k < C::out_ch_par; ++k) {
#pragma HLS unroll
              const bool valid = written * C::out_ch_par + k < C::ch;
              token.v[k] = valid ? buffer[c][k] : code(0);
            }
            out[l].write(token);
            for (int k = 0; k < C::in_ch_par; ++k) {
#pragma HLS unroll
              buffer[c][k] = buffer[c][k + C::out_ch_par];
            }
          }
        }
        written += writes ? 1 : 0;
        if (step == schedule::steps() - 1) {
          read = 0;
          written = 0;
          const bool row_ends = wg == column_groups - 1;
          in_first = row_ends || in_first == C::in_lanes - columns ? 0 : in_first + columns;
          out_first = row_ends || out_first == C::out_lanes - columns ? 0 : out_first + columns;
        }
      }
    }
  }
}

}  // namespace fr
