#pragma once

// Integers of any width for the schedule check: the vendor's names and width rules (UG1399,
// "Arbitrary Precision Data Types Library") on clang's _BitInt, so that every operation is one
// instruction of its own width. They lie in memory as standard integers, which the optimiser takes
// apart. As with the vendor, no constructor is constexpr.

#include <type_traits>

template <int W, bool S>
struct ap_bits {
  // A signed _BitInt has at least 2 bits, and clang 14 stops at 128.
  static constexpr int width = W > 128 ? 128 : W;
  typedef _BitInt(width < 2 ? 2 : width) signed_t;
  typedef unsigned _BitInt(width) unsigned_t;
  typedef std::conditional_t<S, signed_t, unsigned_t> type;
};

template <int W>
using ap_native = std::conditional_t<
    (W <= 8), signed char,
    std::conditional_t<(W <= 16), short, std::conditional_t<(W <= 32), int, long long>>>;
template <int W>
using ap_storage = std::conditional_t<(W <= 64), ap_native<W>, __int128>;

// Macros, because a _BitInt that is passed or returned goes through memory.
#define AP_RAW(x) (static_cast<typename std::decay_t<decltype(x)>::raw_t>((x).stored))
#define AP_SET(x, ...)                             \
  ((x).stored = static_cast<decltype((x).stored)>( \
       static_cast<typename std::decay_t<decltype(x)>::raw_t>(__VA_ARGS__)))

template <int W, bool S>
struct ap_int_base {
  static constexpr int width = W;
  static constexpr bool is_signed = S;
  typedef typename ap_bits<W, S>::type raw_t;
  typedef std::conditional_t<S, ap_native<W>, std::make_unsigned_t<ap_native<W>>> native_t;

  ap_storage<W> stored;

  ap_int_base() = default;
  template <int W2, bool S2>
  ap_int_base(const ap_int_base<W2, S2>& value) {
    AP_SET(*this, AP_RAW(value));
  }
  template <class V, class = std::enable_if_t<std::is_arithmetic<V>::value>>
  ap_int_base(V value) {
    AP_SET(*this, value);
  }

  operator native_t() const { return static_cast<native_t>(AP_RAW(*this)); }
  long long to_int64() const { return static_cast<long long>(AP_RAW(*this)); }
  unsigned to_uint() const { return static_cast<unsigned>(AP_RAW(*this)); }
  int to_int() const { return static_cast<int>(AP_RAW(*this)); }

  struct part {
    ap_int_base& whole;
    int high, low;

    template <class V>
    part& operator=(const V& value) {
      typedef typename ap_bits<W, false>::type word_t;
      const word_t ones = static_cast<word_t>(~static_cast<word_t>(0)) >> (W - 1 - high + low);
      const word_t kept = static_cast<word_t>(AP_RAW(whole)) & ~static_cast<word_t>(ones << low);
      const word_t put = (AP_RAW((ap_int_base<W, false>(value))) & ones) << low;
      AP_SET(whole, kept | put);
      return *this;
    }
    ap_int_base<W, false> value() const {
      typedef typename ap_bits<W, false>::type word_t;
      const word_t ones = static_cast<word_t>(~static_cast<word_t>(0)) >> (W - 1 - high + low);
      ap_int_base<W, false> result;
      AP_SET(result, (static_cast<word_t>(AP_RAW(whole)) >> low) & ones);
      return result;
    }
    unsigned to_uint() const { return value().to_uint(); }
    template <int W2, bool S2>
    operator ap_int_base<W2, S2>() const {
      return value();
    }
  };
  part range(int high, int low) { return part{*this, high, low}; }
  part range(int high, int low) const { return part{const_cast<ap_int_base&>(*this), high, low}; }

  ap_int_base& operator++() { return *this = *this + 1; }
  ap_int_base& operator--() { return *this = *this - 1; }
  ap_int_base<W + 1, true> operator-() const {
    ap_int_base<W + 1, true> result;
    AP_SET(result, (-static_cast<typename ap_bits<W + 1, true>::type>(AP_RAW(*this))));
    return result;
  }
  ap_int_base operator~() const {
    ap_int_base result;
    AP_SET(result, ~AP_RAW(*this));
    return result;
  }
  bool operator!() const { return AP_RAW(*this) == 0; }
};

template <int W>
struct ap_int : ap_int_base<W, true> {
  ap_int() = default;
  template <class V>
  ap_int(const V& value) : ap_int_base<W, true>(value) {}
};
template <int W>
struct ap_uint : ap_int_base<W, false> {
  ap_uint() = default;
  template <class V>
  ap_uint(const V& value) : ap_int_base<W, false>(value) {}
};

// A standard integer counts as one of its own width.
template <class V>
using ap_of = ap_int_base<std::is_same<V, bool>::value ? 1 : 8 * static_cast<int>(sizeof(V)),
                          std::is_signed<V>::value>;

template <int A, bool SA, int B, bool SB>
struct ap_common {
  static constexpr bool is_signed = SA || SB;
  static constexpr int a = A + (is_signed && !SA ? 1 : 0), b = B + (is_signed && !SB ? 1 : 0);
  static constexpr int width = a > b ? a : b;
};

#define AP_MIXED(op)                                                                       \
  template <int A, bool SA, class V, class = std::enable_if_t<std::is_integral<V>::value>> \
  inline auto operator op(const ap_int_base<A, SA>& a, V b) {                              \
    return a op ap_of<V>(b);                                                               \
  }                                                                                        \
  template <int A, bool SA, class V, class = std::enable_if_t<std::is_integral<V>::value>> \
  inline auto operator op(V b, const ap_int_base<A, SA>& a) {                              \
    return ap_of<V>(b) op a;                                                               \
  }

#define AP_ARITHMETIC(op, WIDTH, SIGNED)                                              \
  template <int A, bool SA, int B, bool SB>                                           \
  inline auto operator op(const ap_int_base<A, SA>& a, const ap_int_base<B, SB>& b) { \
    typedef ap_common<A, SA, B, SB> common;                                           \
    ap_int_base<(WIDTH), (SIGNED)> result;                                            \
    typedef typename ap_int_base<(WIDTH), (SIGNED)>::raw_t raw_t;                     \
    AP_SET(result, static_cast<raw_t>(AP_RAW(a)) op static_cast<raw_t>(AP_RAW(b)));   \
    return result;                                                                    \
  }                                                                                   \
  AP_MIXED(op)
AP_ARITHMETIC(+, common::width + 1, common::is_signed)
AP_ARITHMETIC(-, common::width + 1, true)
AP_ARITHMETIC(*, A + B, common::is_signed)
AP_ARITHMETIC(/, common::width, common::is_signed)
AP_ARITHMETIC(%, common::width, common::is_signed)
AP_ARITHMETIC(&, common::width, common::is_signed)
AP_ARITHMETIC(|, common::width, common::is_signed)
AP_ARITHMETIC(^, common::width, common::is_signed)

#define AP_COMPARISON(op)                                                             \
  template <int A, bool SA, int B, bool SB>                                           \
  inline bool operator op(const ap_int_base<A, SA>& a, const ap_int_base<B, SB>& b) { \
    typedef ap_common<A, SA, B, SB> common;                                           \
    typedef typename ap_int_base<common::width, common::is_signed>::raw_t raw_t;      \
    return static_cast<raw_t>(AP_RAW(a)) op static_cast<raw_t>(AP_RAW(b));            \
  }                                                                                   \
  AP_MIXED(op)
AP_COMPARISON(==)
AP_COMPARISON(!=)
AP_COMPARISON(<)
AP_COMPARISON(<=)
AP_COMPARISON(>)
AP_COMPARISON(>=)

#define AP_SHIFT(op)                                                                       \
  template <int A, bool SA, class V, class = std::enable_if_t<std::is_integral<V>::value>> \
  inline ap_int_base<A, SA> operator op(const ap_int_base<A, SA>& a, V b) {                \
    ap_int_base<A, SA> result;                                                             \
    AP_SET(result, (AP_RAW(a) op static_cast<typename ap_int_base<A, SA>::raw_t>(b)));     \
    return result;                                                                         \
  }
AP_SHIFT(<<)
AP_SHIFT(>>)

#define AP_ASSIGNING(op)                                                            \
  template <int A, bool SA, class V>                                                \
  inline ap_int_base<A, SA>& operator op## = (ap_int_base<A, SA> & a, const V& b) { \
    return a = ap_int_base<A, SA>(a op b);                                          \
  }
AP_ASSIGNING(+)
AP_ASSIGNING(-)
AP_ASSIGNING(*)
AP_ASSIGNING(&)
AP_ASSIGNING(|)
AP_ASSIGNING(^)
AP_ASSIGNING(<<)
AP_ASSIGNING(>>)
