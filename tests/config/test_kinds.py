"""Every kind accepts what it calls legal and refuses the rest, naming key, value and remedy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.config.kinds import Choice, Flag, ListOf, Number, OneOrMany, Table, Text
from finn_resnet.errors import UserError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
KINDS = [
    Text(),
    Flag(),
    Number(at_most=100),
    Number(above=2, integer=True),
    Number(at_least=1),
    Choice((True, False, "exact")),
    ListOf(Choice(("native", "ap_int")), may_be_empty=True),
    OneOrMany(Number()),
    Table({"lut": Number(at_most=100)}, {"lut": 70.0}),
]


@given(st.sampled_from(KINDS), JSON_VALUES)
def test_a_value_is_checked_to_a_fixed_point_or_refused_by_name(kind, value):
    try:
        checked = kind.check("some_key", value)
    except UserError as refusal:
        assert "some_key" in str(refusal)
        assert "\n" not in str(refusal)
    else:
        assert kind.check("some_key", checked) == checked


@given(st.floats(min_value=1e-9, max_value=100, allow_nan=False))
def test_numbers_inside_the_range_are_kept(value):
    assert Number(at_most=100).check("key", value) == value


@pytest.mark.parametrize("value", [0, -1, 100.5, math.inf, math.nan, True, "5", None, 10**400])
def test_numbers_outside_the_range_are_refused(value):
    with pytest.raises(UserError, match="above 0 and at most 100"):
        Number(at_most=100).check("key", value)


def test_a_whole_number_refuses_fractions():
    assert Number(integer=True).check("key", 3.0) == 3
    with pytest.raises(UserError, match=r"2\.5 is not legal.*whole number"):
        Number(integer=True).check("key", 2.5)


def test_a_choice_tells_true_from_one():
    kind = Choice((True, False, "exact"))
    assert kind.check("key", True) is True
    with pytest.raises(UserError, match='one of true, false, "exact"'):
        kind.check("key", 1)


def test_a_misspelt_choice_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'paper'"):
        Choice(("full", "paper")).check("mode", "papre")


def test_a_table_keeps_defaults_and_refuses_unknown_entries():
    kind = Table({"lut": Number(at_most=100), "dsp": Number(at_most=100)}, {"lut": 70, "dsp": 100})
    assert kind.check("caps", {"lut": 50}) == {"lut": 50, "dsp": 100}
    with pytest.raises(UserError, match="unknown entry 'luts'; did you mean 'lut'"):
        kind.check("caps", {"luts": 50})
    with pytest.raises(UserError, match=r"caps\.dsp.*101.*at most 100"):
        kind.check("caps", {"dsp": 101})


def test_a_bad_list_entry_is_named_by_its_index():
    with pytest.raises(UserError, match=r"verify_steps\[1\].*did you mean 'ap_int'"):
        ListOf(Choice(("native", "ap_int"))).check("verify_steps", ["native", "apint"])
