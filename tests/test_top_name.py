"""Top names: what cannot name a C++ function, or overwrites a file beside it, is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finn_resnet.build.preflight import completed
from finn_resnet.config import BuildConfig
from finn_resnet.errors import UserError
from finn_resnet.generation.project import generate_project
from finn_resnet.top_name import check_top_name, is_legal_top_name, top_name_from
from tests.qonnx_models import residual_network


@given(st.text(max_size=12))
def test_a_name_made_from_any_text_is_legal(text):
    check_top_name(top_name_from(text))


@pytest.mark.parametrize("name", ["resnet8", "top_1", "Net_2b", "switch_"])
def test_a_legal_name_is_kept(name):
    assert top_name_from(name) == name and is_legal_top_name(name)


@pytest.mark.parametrize("name", ["switch", "int", "config", "conv", "main", "1net", "_x", "ß"])
def test_one_check_for_configuration_and_generation(tmp_path, name):
    with pytest.raises(UserError, match="'top_name'"):
        BuildConfig("net.onnx", "KV260", top_name=name)
    with pytest.raises(UserError, match="'top_name'"):
        generate_project(residual_network(), tmp_path, name)
    path = tmp_path / f"{name}.onnx"
    residual_network().save(str(path))
    made = completed(BuildConfig(str(path), "KV260")).top_name
    assert made.startswith("top_") and is_legal_top_name(made)
