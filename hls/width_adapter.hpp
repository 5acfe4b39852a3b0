#pragma once

/// Regroups a stream for a consumer with other unroll factors.

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
  static constexpr int in_lane_groups = C::in_lanes / columns;
  static constexpr int out_lane_groups = C::out_lanes / columns;
  /// Places of the buffer where a token can arrive: multiples of `place_codes`.
  static constexpr int place_codes = gcd_of(C::in_ch_par, C::out_ch_par);
  static constexpr int places = C::out_ch_par / place_codes;
  /// Codes of a pixel's last token out.
  static constexpr int last_codes = C::ch - (out_groups - 1) * C::out_ch_par;

  /// Codes that output token `g` needs in the buffer's total, capped at the last channel.
  static constexpr int needed(int g) { return min_of((g + 1) * C::out_ch_par, C::ch); }
  static constexpr int arrived(int tokens) { return min_of(tokens * C::in_ch_par, C::ch); }
  /// Whether the next iteration reads, after `in` tokens read and `out` written.
  static constexpr bool reads(int in, int out) {
    return in < in_groups && arrived(in) < needed(out);
  }

  /// Iterations per column group: most often max(in_groups, out_groups).
  static constexpr int count_steps() {
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
  static constexpr int steps = count_steps();

  /// What each iteration does, as tables, so that no state but the loop counter decides it.
  struct plan_t {
    flags<steps> reads;
    /// The place at which the token read goes, one row each.
    table<bool, places, steps> place;
    flags<places> place_used;
    flags<steps> writes;
    /// Whether the token written is the pixel's last.
    flags<steps> ends;
  };
  static constexpr plan_t plan() {
    plan_t p{};
    int in = 0;
    int out = 0;
    for (int step = 0; step < steps; ++step) {
      p.reads.v[step] = reads(in, out);
      if (p.reads.v[step]) {
        const int at = (arrived(in) - out * C::out_ch_par) / place_codes;
        p.place.v[at][step] = true;
        p.place_used.v[at] = true;
        ++in;
      }
      p.writes.v[step] = arrived(in) >= needed(out);
      p.ends.v[step] = p.writes.v[step] && out == out_groups - 1;
      if (p.writes.v[step]) ++out;
    }
    return p;
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
  constexpr int steps = schedule::steps;
  constexpr int capacity = C::in_ch_par + C::out_ch_par;
  static constexpr auto plan = schedule::plan();
  static constexpr auto reads = plan.reads;
  static constexpr auto place = plan.place;
  static constexpr auto place_used = plan.place_used;
  static constexpr auto writes = plan.writes;
  static constexpr auto ends = plan.ends;
#pragma HLS array_partition variable = place.v complete dim = 1
  code buffer[columns][capacity] = {};
#pragma HLS array_partition variable = buffer complete dim = 0
  // The lanes of this column group; counters, because a remainder of division costs a divider.
  counter_t<schedule::in_lane_groups - 1> in_lane_group = 0;
  counter_t<schedule::out_lane_groups - 1> out_lane_group = 0;
  for (int h = 0; h < C::h; ++h) {
    for (int wg = 0; wg < column_groups; ++wg) {
      for (int step = 0; step < steps; ++step) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        for (int c = 0; c < columns; ++c) {
#pragma HLS unroll
          const bool exists = wg * columns + c < C::w;
          if (reads.v[step] && exists) {
            typename C::in_t token;
            for (int lg = 0; lg < schedule::in_lane_groups; ++lg) {
#pragma HLS unroll
              if (lg == static_cast<int>(in_lane_group)) token = in[lg * columns + c].read();
            }
            for (int p = 0; p < schedule::places; ++p) {
#pragma HLS unroll
              if (place_used.v[p] && place.v[p][step]) {
                for (int k = 0; k < C::in_ch_par; ++k) {
#pragma HLS unroll
                  buffer[c][p * schedule::place_codes + k] = token.v[k];
                }
              }
            }
          }
          if (writes.v[step] && exists) {
            typename C::out_t token;
            for (int k = 0; k < C::out_ch_par; ++k) {
#pragma HLS unroll
              const bool valid = k < schedule::last_codes || !ends.v[step];
              token.v[k] = valid ? buffer[c][k] : code(0);
            }
            for (int lg = 0; lg < schedule::out_lane_groups; ++lg) {
#pragma HLS unroll
              if (lg == static_cast<int>(out_lane_group)) out[lg * columns + c].write(token);
            }
            for (int k = 0; k < C::in_ch_par; ++k) {
#pragma HLS unroll
              buffer[c][k] = buffer[c][k + C::out_ch_par];
            }
          }
        }
        if (step == steps - 1) {
          const bool row_ends = wg == column_groups - 1;
          count_up<schedule::in_lane_groups - 1>(in_lane_group, row_ends);
          count_up<schedule::out_lane_groups - 1>(out_lane_group, row_ends);
        }
      }
    }
  }
}

}  // namespace fr
