#pragma once

#include <cstdint>

namespace fr {

/// What one stream write carries: `N` codes side by side.
template <class T, int N>
struct token {
  using value_type = T;
  static constexpr int size = N;

  T v[N];
};

/// A token of weights: row `r` feeds output `r` of the multiply-accumulate array.
template <class T, int Rows, int Columns>
struct matrix_token {
  using value_type = T;
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;

  T v[Rows][Columns];
};

/// Constants of the channels as the hardware reads them: row `group` holds the `Entries` channels
/// that one iteration handles. One row of one entry stands for "the same for all channels".
template <class T, int Groups, int Entries>
struct table {
  T v[Groups][Entries];

  constexpr T at(int group, int entry) const {
    return v[Groups == 1 ? 0 : group][Entries == 1 ? 0 : entry];
  }
};

/// One bit for every value of a loop counter: a test of it, worked out beforehand.
template <int N>
struct flags {
  bool v[N];
};

}  // namespace fr
