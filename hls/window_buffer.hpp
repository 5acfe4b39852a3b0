#pragma once

/// The window buffer: a chain of FIFO slices per input lane, and the padding task that joins their
/// taps into windows.
///
/// Tap (i, j) of the `fh x window_columns` window (`window_columns = fw + (ow_par-1) * stride_w`)
/// is one slice. The newest tap of a chain reads the input lane; each slice passes every token on
/// to the next older tap through a link FIFO and writes the tokens that some window needs at its
/// place to its tap stream. Tokens: `ich_par` codes; order h, w (of the lane), channel group.
///
/// Config `C`: `ich ih iw oh ow fh fw`, `stride_h stride_w`, `pad_top pad_left`, `pad_value`,
/// `ich_par ow_par in_lanes`, `tap_used[window_columns]`, `taps` (used taps), `token_t`,
/// `window_t`.

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"

namespace fr {

template <class C>
struct window_shape {
  static constexpr int groups = ceil_div(C::ich, C::ich_par);
  static constexpr int column_groups = ceil_div(C::ow, C::ow_par);
  static constexpr int columns = C::fw + (C::ow_par - 1) * C::stride_w;
  /// Input columns between the windows of neighbouring column groups.
  static constexpr int group_step = C::ow_par * C::stride_w;

  /// Input lane that tap column `j` reads.
  static constexpr int lane_of(int j) {
    return (j - C::pad_left % C::in_lanes + C::in_lanes) % C::in_lanes;
  }
  /// Columns of the picture that travel in `lane`.
  static constexpr int lane_columns(int lane) {
    return lane < C::iw ? (C::iw - lane + C::in_lanes - 1) / C::in_lanes : 0;
  }
  /// Whether some window has picture row `h` at its row `i`.
  static constexpr bool needs_row(int i, int h) {
    const int y = h + C::pad_top - i;
    return y >= 0 && y % C::stride_h == 0 && y < C::oh * C::stride_h;
  }
  /// Whether some window has the lane's `k`-th column at its column `j`. The tap lies a whole
  /// number of lane columns off the window's first, so no wide division is needed.
  static constexpr bool needs_column(int j, int k) {
    const int x = k + (lane_of(j) + C::pad_left - j) / C::in_lanes;
    constexpr int step = group_step / C::in_lanes;
    return x >= 0 && x % step == 0 && x < column_groups * step;
  }

  /// `needs_row(I, h)` as a table: its remainder would cost a divider. Nothing needs row `ih`,
  /// which lies behind the picture.
  template <int I>
  static constexpr auto needed_rows() {
    flags<C::ih + 1> needed{};
    for (int h = 0; h < C::ih; ++h) needed.v[h] = needs_row(I, h);
    return needed;
  }
  /// `needs_column(J, k)` as a table.
  template <int J>
  static constexpr auto needed_columns() {
    flags<max_of(lane_columns(lane_of(J)), 1)> needed{};
    for (int k = 0; k < lane_columns(lane_of(J)); ++k) needed.v[k] = needs_column(J, k);
    return needed;
  }
};

/// One slice of tap (I, J): `in` to `tap` where needed, and everything to `pass`.
template <class C, int I, int J, class Pass>
void window_slice_loop(stream<typename C::token_t>& in, stream<typename C::token_t>& tap,
                       Pass pass) {
#pragma HLS inline
  using shape = window_shape<C>;
  constexpr int columns = shape::lane_columns(shape::lane_of(J));
  static constexpr auto row_needed = shape::template needed_rows<I>();
  static constexpr auto column_needed = shape::template needed_columns<J>();
  for (int h = 0; h < C::ih; ++h) {
    for (int k = 0; k < columns; ++k) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        const typename C::token_t token = in.read();
        if (row_needed.v[h] && column_needed.v[k]) tap.write(token);
        pass(token);
      }
    }
  }
}

/// A slice with another one behind it, or the forwarding output: `link`.
template <class C, int I, int J>
void window_slice(stream<typename C::token_t>& in, stream<typename C::token_t>& tap,
                  stream<typename C::token_t>& link) {
  window_slice_loop<C, I, J>(in, tap, [&](const typename C::token_t& token) { link.write(token); });
}

/// The oldest slice of a chain that forwards nothing.
template <class C, int I, int J>
void window_slice_last(stream<typename C::token_t>& in, stream<typename C::token_t>& tap) {
  window_slice_loop<C, I, J>(in, tap, [](const typename C::token_t&) {});
}

/// An input lane none of whose columns any window needs (a stride wider than the kernel).
template <class C, int Lane>
void window_drain(stream<typename C::token_t>& in) {
  constexpr int tokens = C::ih * window_shape<C>::lane_columns(Lane) * window_shape<C>::groups;
  for (int i = 0; i < tokens; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    in.read();
  }
}

/// As `window_drain`, with every token forwarded.
template <class C, int Lane>
void window_drain_forward(stream<typename C::token_t>& in, stream<typename C::token_t>& forward) {
  constexpr int tokens = C::ih * window_shape<C>::lane_columns(Lane) * window_shape<C>::groups;
  for (int i = 0; i < tokens; ++i) {
#pragma HLS pipeline II = 1 style = stp
    iteration();
    forward.write(in.read());
  }
}

/// Joins the tap streams (order i, then used j) into windows `[fh][window_columns][ich_par]`, order
/// output row, output column group, channel group; outside the picture it puts `pad_value`.
template <class C>
void window_pad(stream<typename C::token_t> (&taps)[C::taps],
                stream<typename C::window_t>& window) {
  using shape = window_shape<C>;
  using code = typename C::token_t::value_type;
  for (int oh = 0; oh < C::oh; ++oh) {
    for (int og = 0; og < shape::column_groups; ++og) {
      for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
        iteration();
        typename C::window_t joined;
        int tap = 0;
        for (int i = 0; i < C::fh; ++i) {
#pragma HLS unroll
          const int h = oh * C::stride_h + i - C::pad_top;
          const bool row_inside = h >= 0 && h < C::ih;
          for (int j = 0; j < shape::columns; ++j) {
#pragma HLS unroll
            const int w = og * shape::group_step + j - C::pad_left;
            const int first = (i * shape::columns + j) * C::ich_par;
            if (C::tap_used[j] && row_inside && w >= 0 && w < C::iw) {
              const auto& token = read_ref(taps[tap]);
              for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
                joined.v[first + c] = token.v[c];
              }
            } else {
              for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
                joined.v[first + c] = static_cast<code>(C::pad_value);
              }
            }
            tap += C::tap_used[j] ? 1 : 0;
          }
        }
        window.write(joined);
      }
    }
  }
}

}  // namespace fr
