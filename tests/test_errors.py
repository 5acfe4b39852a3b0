"""The clause after an unknown name names the nearest one and, where few, all of them."""

from __future__ import annotations

from finn_resnet.errors import did_you_mean


def test_the_nearest_name_is_offered_whatever_its_case():
    assert did_you_mean("kv26", ["Ultra96", "KV260"]) == (
        "did you mean 'KV260'? (known: KV260, Ultra96)"
    )


def test_nothing_like_it_lists_what_there_is():
    assert did_you_mean("zzz", ["b", "a"]) == "known: a, b"


def test_many_names_are_counted():
    names = [f"stream_{i}" for i in range(100)]
    assert did_you_mean("straem_7", names).endswith("(100 names are known)")
