"""Tensors of exact numbers: sums of integer arrays times rational scales.

The contract (docs/equality.md) takes the scales of a model file as exact numbers. A tensor then is
a sum of terms ``codes * scale``, integers times fractions, and every supported operator maps such
sums to such sums. Decisions (rounding, sign) are made in float64 wherever its error bound leaves no
doubt, and with fractions where it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

import numpy as np

from finn_resnet.numerics.rounding import round_float, round_ratio

FLOAT32_UNIT = 2.0**-24
"""Largest relative error of one float32 operation (round to nearest)."""
_FLOAT64_SLACK = 2.0**-51
_LARGEST_RATIO = 2**30


def fractions(values: np.ndarray | float) -> np.ndarray:
    """Exact fractions of finite floats or integers, an object array of the same shape."""
    array = np.asarray(values)
    out = np.empty(array.shape, object)
    out[...] = np.array([Fraction(v) for v in array.ravel().tolist()], object).reshape(array.shape)
    return out


@dataclass(frozen=True)
class Term:
    """``codes * scale``: int64 and `Fraction` arrays that broadcast to the tensor's shape."""

    codes: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        # Arithmetic on arrays without axes leaves bare fractions.
        object.__setattr__(self, "scale", np.asarray(self.scale, object))

    @cached_property
    def values(self) -> np.ndarray:
        """float64 values."""
        return self.codes * self.scale.astype(np.float64)

    def merged(self, other: Term) -> Term | None:
        """The sum as one term, None where neither scale is a multiple of the other's."""
        for coarse, fine in ((other, self), (self, other)):
            if any(value == 0 for value in fine.scale.flat):
                continue
            ratio = np.asarray(coarse.scale / fine.scale, object)
            if all(r.denominator == 1 and abs(r) < _LARGEST_RATIO for r in ratio.flat):
                codes = fine.codes + coarse.codes * ratio.astype(np.int64)
                return Term(codes, fine.scale)
        return None

    def on_one_scale(self) -> Term:
        """The same values as whole multiples of one scale.

        Raises:
            ValueError: the scales have no common unit of few bits.
        """
        if self.scale.size == 1:
            return self
        flat = self.scale.ravel()
        denominator = lcm(*(value.denominator for value in flat))
        unit = Fraction(gcd(*(int(value * denominator) for value in flat)), denominator)
        ratios = self.scale / unit
        if any(ratio >= _LARGEST_RATIO for ratio in ratios.flat):
            raise ValueError("a sum over channels with unrelated scales")
        return Term(self.codes * ratios.astype(np.int64), np.array(unit, object))

    def mapped(self, layout: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> Term:
        """The term after a change of layout of a tensor of ``shape``."""
        codes = layout(np.broadcast_to(self.codes, shape))
        if self.scale.size == 1:
            return Term(codes, self.scale.reshape(()))
        return Term(codes, layout(np.broadcast_to(self.scale, shape)))


class ExactTensor:
    """A sum of terms, and how far a float32 computation of it may lie from the exact value.

    ``roundings`` counts the float32 operations on the longest way to an element, ``magnitude()``
    (float64, computed when asked for) is the same computation on absolute values: by the standard
    bound for sums and products in any order, a float32 result differs from the exact one by at most
    ``roundings * 2^-24 * magnitude`` (to first order; `float32_error` adds the rest).
    """

    def __init__(
        self,
        terms: list[Term],
        shape: tuple[int, ...],
        magnitude: Callable[[], np.ndarray] | None = None,
        roundings: int = 1,
    ) -> None:
        self.terms = tuple(terms)
        self.shape = tuple(shape)
        self.roundings = roundings
        self._magnitude = magnitude

    @classmethod
    def of(cls, codes: np.ndarray, scale: Fraction | np.ndarray) -> ExactTensor:
        """One term; ``scale`` is one fraction or an array that broadcasts to the codes."""
        array = np.asarray(scale, object)
        if array.size > 1 and len(set(array.flat)) == 1:
            array = array.flat[0]
        return cls([Term(codes, np.asarray(array, object))], codes.shape)

    @cached_property
    def values(self) -> np.ndarray:
        """float64 values, the nearest but for a few units in the last place."""
        return np.broadcast_to(sum(term.values for term in self.terms), self.shape)

    @cached_property
    def _slack(self) -> np.ndarray:
        """How far `values` may lie from the exact ones."""
        sizes = sum(np.abs(term.values) for term in self.terms)
        return sizes * (_FLOAT64_SLACK * (len(self.terms) + 1))

    @classmethod
    def constant(cls, values: np.ndarray) -> ExactTensor:
        """Constants, given as an object array of fractions."""
        values = np.asarray(values, object)
        return cls([Term(np.ones(values.shape, np.int64), values)], values.shape)

    def magnitude(self) -> np.ndarray:
        """See class."""
        if self._magnitude is None:
            return np.broadcast_to(sum(np.abs(t.values) for t in self.terms), self.shape)
        return self._magnitude()

    def float32_error(self) -> np.ndarray:
        """Largest distance of a float32 computation of this tensor from its exact value."""
        product = self.roundings * FLOAT32_UNIT
        return self.magnitude() * (product / (1 - product)) + self._slack

    # Arithmetic

    def scaled(self, factor: np.ndarray) -> ExactTensor:
        """Times fractions (an object array that broadcasts without changing the shape)."""
        factor = np.asarray(factor, object)
        size = np.abs(factor.astype(np.float64))
        terms = [Term(term.codes, term.scale * factor) for term in self.terms]
        # Two roundings: the factor itself may be rounded.
        return ExactTensor(terms, self.shape, lambda: self.magnitude() * size, self.roundings + 2)

    def plus(self, other: ExactTensor) -> ExactTensor:
        """Sum, broadcast; terms on one grid become one."""
        shape = np.broadcast_shapes(self.shape, other.shape)
        terms = list(self.terms)
        for term in other.terms:
            for index, own in enumerate(terms):
                merged = own.merged(term)
                if merged is not None:
                    terms[index] = merged
                    break
            else:
                terms.append(term)
        return ExactTensor(
            terms,
            shape,
            lambda: self.magnitude() + other.magnitude(),
            max(self.roundings, other.roundings) + 1,
        )

    def mapped(self, layout: Callable[[np.ndarray], np.ndarray]) -> ExactTensor:
        """After a change of layout (reshape, transpose, slice, zero padding): no arithmetic."""
        terms = [term.mapped(layout, self.shape) for term in self.terms]
        return ExactTensor(
            terms, terms[0].codes.shape, lambda: layout(self.magnitude()), self.roundings
        )

    def summed(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        scale: np.ndarray,
        absolute: Callable[[np.ndarray], np.ndarray],
        products: int,
    ) -> ExactTensor:
        """A linear integer function of the codes (convolution, pooling sum), times ``scale``.

        Args:
            function: int64 codes to int64 sums; the same for every term.
            scale: fractions that broadcast to the result.
            absolute: the function with absolute coefficients, times ``|scale|``, in float64.
            products: summands of one result.

        Raises:
            ValueError: a term's scales per channel have no common unit of few bits.
        """
        terms = [
            Term(function(np.broadcast_to(t.codes, self.shape)), t.scale.item() * scale)
            for t in (term.on_one_scale() for term in self.terms)
        ]
        return ExactTensor(
            terms,
            terms[0].codes.shape,
            lambda: absolute(self.magnitude()),
            self.roundings + products + 2,
        )

    def selected(self, mask: np.ndarray) -> ExactTensor:
        """The values where ``mask`` (0 or 1, int64) is 1, zero elsewhere."""
        terms = [Term(term.codes * mask, term.scale) for term in self.terms]
        return ExactTensor(terms, self.shape, self.magnitude, self.roundings)

    # Decisions

    def sign(self) -> np.ndarray:
        """-1, 0 or 1 (int64)."""
        return self._decide(
            Fraction(1),
            lambda values: np.sign(values).astype(np.int64),
            lambda value: (value > 0) - (value < 0),
        )

    def rounded(self, step: Fraction, rounding: str) -> np.ndarray:
        """``round(value / step)`` as int64; ``rounding`` is one of QONNX's names."""
        return self._decide(
            step,
            lambda values: round_float(values, rounding),
            lambda value: round_ratio(value.numerator, value.denominator, rounding),
        )

    def integers(self, scale: np.ndarray | Fraction) -> np.ndarray:
        """The integers that times ``scale`` are exactly this tensor (int64).

        Raises:
            ValueError: some value is no whole multiple of its scale.
        """
        found = Term(np.zeros((), np.int64), scale)
        for term in self.terms:
            found = found.merged(term)
            if found is None or np.any(found.scale != scale):
                return self._whole_multiples(scale)
        return np.broadcast_to(found.codes, self.shape)

    def _whole_multiples(self, scale: np.ndarray | Fraction) -> np.ndarray:
        """`integers` where single terms are no multiples, their sum may be."""
        exact = sum(term.codes.astype(object) * (term.scale / scale) for term in self.terms)
        flat = np.broadcast_to(exact, self.shape).ravel()
        if any(value.denominator != 1 for value in flat):
            raise ValueError("a value is no whole multiple of its scale")
        return np.array([int(value) for value in flat], np.int64).reshape(self.shape)

    def _decide(
        self,
        step: Fraction,
        decide: Callable[[np.ndarray], np.ndarray],
        exactly: Callable[[Fraction], int],
    ) -> np.ndarray:
        """A monotone function of ``value / step``: by float64 where its error cannot change it."""
        values, slack = self.values / float(step), self._slack / abs(float(step))
        slack = slack + np.abs(values) * _FLOAT64_SLACK  # of the division
        low, high = decide(values - slack), decide(values + slack)
        doubtful = np.argwhere(low != high)
        if len(doubtful):
            low[tuple(doubtful.T)] = self._decide_exactly(tuple(doubtful.T), step, exactly)
        return low

    def _decide_exactly(
        self, where: tuple[np.ndarray, ...], step: Fraction, exactly: Callable[[Fraction], int]
    ) -> np.ndarray:
        """Equal elements are decided once: exact ties are many, their values few."""
        columns = []
        for term in self.terms:
            index = np.arange(term.scale.size).reshape(term.scale.shape)
            columns.append(np.broadcast_to(term.codes, self.shape)[where])
            columns.append(np.broadcast_to(index, self.shape)[where])
        rows, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        scales = [term.scale.ravel() for term in self.terms]
        decided = []
        for row in rows:
            pairs = zip(row[::2], row[1::2], scales, strict=True)
            decided.append(exactly(sum(int(code) * scale[i] for code, i, scale in pairs) / step))
        return np.array(decided, np.int64)[inverse.ravel()]
