#pragma once

/// The window buffer with one task for every window row; the computation task joins the rows.
///
/// A row task takes one token from every input lane at once (a lane group), keeps the last few in
/// shift registers, and writes the columns of its window row as one token. It passes every lane
/// group on to the next older row through a link FIFO that holds a picture row. A row leaves
/// `lookahead` lane groups after the group it is named by; the last rows of a picture leave without
/// further input.
///
/// Config `C`: that of window_buffer.hpp without the taps, `lookahead`, `history` (lane groups
/// kept), `flush` (steps after the last input), `row_t` (`window_columns * ich_par` codes) and
/// `link_t` (`in_lanes * ich_par` codes).

#include "stream.hpp"
#include "task.hpp"
#include "token.hpp"
#include "types.hpp"
#include "window_buffer.hpp"

namespace fr {

template <class C>
struct row_shape : window_shape<C> {
  using code = typename C::token_t::value_type;

  static constexpr int lane_groups = ceil_div(C::iw, C::in_lanes);
  static constexpr int step = window_shape<C>::group_step / C::in_lanes;

  /// Lane groups that have come since the one with window column `j`.
  static constexpr int age(int j) {
    return C::lookahead - (j - C::pad_left - window_shape<C>::lane_of(j)) / C::in_lanes;
  }
  /// Whether the windows of a column group start in lane group `k`.
  static constexpr bool starts_window(int k) {
    return k >= 0 && k % step == 0 && k < window_shape<C>::column_groups * step;
  }
  /// Whether column `lane` of lane group `k` exists.
  static constexpr bool has_column(int k, int lane) { return k * C::in_lanes + lane < C::iw; }
  /// Steps of row task `i`: those that read, and the flush if it owes the last picture row.
  static constexpr int steps(int i) {
    return C::ih * lane_groups + (window_shape<C>::needs_row(i, C::ih - 1) ? C::flush : 0);
  }
  /// `starts_window(k)` as a table of `k + lookahead`.
  static constexpr auto window_starts() {
    flags<C::lookahead + lane_groups> starts{};
    for (int n = 0; n < C::lookahead + lane_groups; ++n) {
      starts.v[n] = starts_window(n - C::lookahead);
    }
    return starts;
  }
};

/// The lane groups a row task keeps, newest first, channel groups apart: shift registers.
template <class C>
struct row_history {
  static constexpr int kept = C::history * row_shape<C>::groups;
  static constexpr int width = C::in_lanes * C::ich_par;

  typename row_shape<C>::code entry[kept > 0 ? kept : 1][width];
};

template <class C>
void shift_in(row_history<C>& history, const typename C::link_t& now) {
#pragma HLS inline
  for (int n = row_history<C>::kept - 1; n > 0; --n) {
#pragma HLS unroll
    for (int c = 0; c < row_history<C>::width; ++c) {
#pragma HLS unroll
      history.entry[n][c] = history.entry[n - 1][c];
    }
  }
  for (int c = 0; c < row_history<C>::width; ++c) {
#pragma HLS unroll
    history.entry[0][c] = now.v[c];
  }
}

/// The window row `[window_columns][ich_par]` that the newest lane group completes.
template <class C>
typename C::row_t window_row_of(const typename C::link_t& now, const row_history<C>& history) {
#pragma HLS inline
  using shape = row_shape<C>;
  typename C::row_t row;
  for (int j = 0; j < shape::columns; ++j) {
#pragma HLS unroll
    const int past = shape::age(j) * shape::groups;
    for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
      const int place = shape::lane_of(j) * C::ich_par + c;
      row.v[j * C::ich_par + c] = past > 0 ? history.entry[past - 1][place] : now.v[place];
    }
  }
  return row;
}

/// Loop of row task `I`: `take(k)` gives lane group `k` of a picture row, `pass(k, group)` hands it
/// on. Order: picture row, lane group, channel group.
template <class C, int I, class Take, class Pass>
void window_row_loop(Take take, Pass pass, stream<typename C::row_t>& row) {
#pragma HLS inline
  using shape = row_shape<C>;
  row_history<C> history;
#pragma HLS array_partition variable = history.entry complete dim = 0
#ifndef __SYNTHESIS__
  // What lies outside the picture is masked later, but a simulation must not read it undefined.
  history = {};
#endif
  constexpr int steps = shape::steps(I);
  constexpr int groups = shape::lane_groups;
  static constexpr auto starts = shape::window_starts();
  static constexpr auto row_needed = shape::template needed_rows<I>();
  counter_t<groups - 1> taken = 0;  // lane group of its picture row that comes in
  // Picture row that leaves, and lane group in it; the first ones come before the picture.
  counter_t<C::ih> h = 0;
  counter_t<C::lookahead + groups - 1> leaving = 0;
  for (int t = 0; t < steps; ++t) {
    for (int g = 0; g < shape::groups; ++g) {
#pragma HLS pipeline II = 1 style = stp
      iteration();
      typename C::link_t now{};
      if (t < C::ih * groups) {
        now = take(static_cast<int>(taken));
        pass(static_cast<int>(taken), now);
      }
      if (starts.v[static_cast<int>(leaving)] && row_needed.v[static_cast<int>(h)]) {
        row.write(window_row_of<C>(now, history));
      }
      shift_in<C>(history, now);
      if (g == shape::groups - 1) {
        const bool row_ends = static_cast<int>(leaving) == C::lookahead + groups - 1;
        count_up<groups - 1>(taken);
        if (row_ends) h = static_cast<counter_t<C::ih>>(static_cast<int>(h) + 1);
        leaving = static_cast<counter_t<C::lookahead + groups - 1>>(
            row_ends ? C::lookahead : static_cast<int>(leaving) + 1);
      }
    }
  }
}

/// One token of every lane that has column group `k`; the codes of a missing lane stay 0.
template <class C>
typename C::link_t take_lanes(stream<typename C::token_t> (&lanes)[C::in_lanes], int k) {
#pragma HLS inline
  typename C::link_t group{};
  for (int lane = 0; lane < C::in_lanes; ++lane) {
#pragma HLS unroll
    if (row_shape<C>::has_column(k, lane)) {
      const auto& token = read_ref(lanes[lane]);
      for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
        group.v[lane * C::ich_par + c] = token.v[c];
      }
    }
  }
  return group;
}

/// The newest row: `lanes` to `row` where needed, and everything to `link`, the next older row.
template <class C, int I>
void window_row_first(stream<typename C::token_t> (&lanes)[C::in_lanes],
                      stream<typename C::row_t>& row, stream<typename C::link_t>& link) {
  window_row_loop<C, I>([&](int k) { return take_lanes<C>(lanes, k); },
                        [&](int, const typename C::link_t& group) { link.write(group); }, row);
}

/// A row between the newest and the oldest.
template <class C, int I>
void window_row(stream<typename C::link_t>& in, stream<typename C::row_t>& row,
                stream<typename C::link_t>& link) {
  window_row_loop<C, I>([&](int) { return in.read(); },
                        [&](int, const typename C::link_t& group) { link.write(group); }, row);
}

/// The oldest row of a buffer that forwards nothing.
template <class C, int I>
void window_row_last(stream<typename C::link_t>& in, stream<typename C::row_t>& row) {
  window_row_loop<C, I>([&](int) { return in.read(); }, [](int, const typename C::link_t&) {}, row);
}

/// The oldest row of a buffer that forwards the picture, lane by lane.
template <class C, int I>
void window_row_forward(stream<typename C::link_t>& in, stream<typename C::row_t>& row,
                        stream<typename C::token_t> (&forward)[C::in_lanes]) {
  const auto pass = [&](int k, const typename C::link_t& group) {
    for (int lane = 0; lane < C::in_lanes; ++lane) {
#pragma HLS unroll
      typename C::token_t token;
      for (int c = 0; c < C::ich_par; ++c) {
#pragma HLS unroll
        token.v[c] = group.v[lane * C::ich_par + c];
      }
      if (row_shape<C>::has_column(k, lane)) forward[lane].write(token);
    }
  };
  window_row_loop<C, I>([&](int) { return in.read(); }, pass, row);
}

/// The next window of a computation task's window port, which is one stream of windows (slices) ...
template <class C>
decltype(auto) read_window(stream<typename C::window_t>& windows, int /*oh*/, int /*og*/) {
#pragma HLS inline
  return read_ref(windows);
}

/// ... or a stream for every window row (rows): joined to `[fh][window_columns][ich_par]` for
/// output row `oh` and column group `og`; outside the picture it puts `pad_value`.
/// `C::rows_t` is the window buffer's config.
template <class C>
typename C::window_t read_window(stream<typename C::rows_t::row_t> (&rows)[C::rows_t::fh], int oh,
                                 int og) {
#pragma HLS inline
  using B = typename C::rows_t;
  using code = typename C::window_t::value_type;
  constexpr int row_codes = B::row_t::size;
  typename C::window_t joined;
  for (int i = 0; i < B::fh; ++i) {
#pragma HLS unroll
    const int h = oh * B::stride_h + i - B::pad_top;
    const bool row_inside = h >= 0 && h < B::ih;
    typename B::row_t row{};
    if (row_inside) row = read_ref(rows[i]);
    for (int n = 0; n < row_codes; ++n) {
#pragma HLS unroll
      const int w = og * row_shape<B>::group_step + n / B::ich_par - B::pad_left;
      const bool inside = row_inside && w >= 0 && w < B::iw;
      joined.v[i * row_codes + n] = inside ? row.v[n] : static_cast<code>(B::pad_value);
    }
  }
  return joined;
}

}  // namespace fr
