"""The schedule check on generated projects: they are clean, and each fault put back is caught."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from finn_resnet.generation.project import generate_project
from finn_resnet.schedule_check.check import check_schedule
from finn_resnet.schedule_check.clang import find_clang, no_clang_reason
from finn_resnet.schedule_check.multipliers import expected_multipliers
from tests.random_pairs import random_pairs
from tests.stream_graphs import UINT8, FusedGraph, StreamGraph, shift_to

pytestmark = pytest.mark.skipif(find_clang() is None, reason=no_clang_reason())

CLOCK_MHZ = 250
OLD_ADAPTER = Path(__file__).with_name("runtime_adapter.hpp").read_text()


def small_model():
    """An adapter, a convolution with pairs in DSPs, a global pool: every kind of loop."""
    graph = StreamGraph(1)
    x = graph.adapt(graph.input((6, 6, 6), UINT8, lanes=3, ch_par=3), 1, 2)
    weights = graph.random_weights(8, 3, 3, 6)
    y = graph.conv("conv", x, weights, pads=(1, 1, 1, 1), factors=(4, 2, 1), out=UINT8)[0]
    graph.output(graph.global_pool("pool", y, "average", shift_to(UINT8, 5)))
    return graph.model()


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return generate_project(small_model(), tmp_path_factory.mktemp("small"), "network").directory


def faults(folder: Path, expected: dict[str, int] | None = None) -> list[str]:
    found = check_schedule(folder, CLOCK_MHZ, expected)
    return [f"{task.name}: {fault}" for task in found for fault in task.faults]


def test_a_small_project_is_clean(project):
    expected = expected_multipliers(small_model())
    found = {task.name: task for task in check_schedule(project, CLOCK_MHZ, expected)}
    assert [fault for task in found.values() for fault in task.faults] == []
    conv = found["conv"]
    # Two output channels share a DSP: 4 / 2 tiles of 2 x 9 taps.
    assert (conv.multipliers, conv.widest, conv.loops) == (36, (27, 9), [2])
    assert found["conv_weights"].loops == [6] and found["pool"].most_accesses == 2
    assert all(task.recurrence.ns < 3 for task in found.values())


def test_another_number_of_multipliers_is_caught(project):
    assert any(
        "36 multipliers, the cost model counts 35" in f for f in faults(project, {"conv": 35})
    )


FAULTS = {
    "trip count": ("include/width_adapter.hpp", None, OLD_ADAPTER, "iterations is not unrolled"),
    "recurrence": (
        "include/width_adapter.hpp",
        None,
        OLD_ADAPTER.replace("int steps() {", "int count_steps() {")
        .replace("/// Whether the next", "static constexpr int steps = count_steps();\n///")
        .replace("schedule::steps()", "schedule::steps"),
        "a recurrence of",
    ),
    "adder tree": (
        "network.cpp",
        "#pragma HLS expression_balance off\n",
        "",
        "conv: sums of products without expression_balance off",
    ),
    "bound product": (
        "include/mac.hpp",
        "    p = add<kProductBits>(p, multiply<kProductBits>(a[t], b[t]));\n",
        "    const int_t<kProductBits> product = multiply<kProductBits>(a[t], b[t]);\n"
        "#  pragma HLS bind_op variable = product op = mul impl = dsp\n"
        "    p = add<kProductBits>(p, product);\n",
        "binds products to DSPs",
    ),
    "weights": (
        "network.cpp",
        "static constexpr std::uint32_t weights",
        "static const ap_uint<32> weights",
        "'weights' is initialised at run time",
    ),
    "dependence": (
        "include/pool.hpp",
        "#pragma HLS dependence variable = totals",
        "#pragma HLS nothing",
        "pool: 'totals' is read and written",
    ),
    "partition": (
        "include/dma.hpp",
        "#pragma HLS array_partition variable = buffer complete\n",
        "",
        "array 'buffer' of dma.hpp is not partitioned",
    ),
    "register index": (
        "include/dma.hpp",
        "        buffer[at + i] = byte(i);\n",
        "        buffer[static_cast<int>(fill) + i] = byte(i);\n",
        "an index that varies selects a register of 'buffer'",
    ),
    "accesses": (
        "include/pool.hpp",
        "#pragma HLS array_partition variable = totals complete dim = 2\n",
        "",
        "accesses to 'totals' an iteration",
    ),
    "division": (
        "include/dma.hpp",
        "if (l == lane) out[l].write(token);",
        "if (l == static_cast<int>(token.v[0]) % 7) out[l].write(token);",
        "a division",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_put_back_is_caught(project, tmp_path, fault):
    file, old, new, complaint = FAULTS[fault]
    copy = tmp_path / "hls"
    shutil.copytree(project, copy)
    text = (copy / file).read_text()
    assert old is None or old in text
    (copy / file).write_text(new if old is None else text.replace(old, new))
    found = faults(copy)
    assert any(complaint in line for line in found), found


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs_are_clean(seed, tmp_path):
    model = random_pairs(seed, 4)[0].model()
    project = generate_project(model, tmp_path, "pairs")
    assert faults(project.directory, expected_multipliers(model)) == []


def test_a_memory_of_one_word_is_no_constant(tmp_path):
    """All channels at once: clang would fold products with weights that it knows."""
    graph = FusedGraph(1)
    x = graph.input((6, 6, 2), UINT8)
    weights = graph.random_weights(3, 3, 3, 2)
    graph.output(graph.conv("conv", x, weights, pads=(1, 1, 1, 1), factors=(3, 2, 3))[0])
    y, depthwise = graph.input((6, 6, 2), UINT8), graph.random_weights(2, 3, 3, 1)
    graph.output(graph.grouped_conv("depthwise", y, depthwise, pads=(1,) * 4, factors=(2, 3))[0])
    model = graph.model()
    expected = expected_multipliers(model)
    assert expected == {"conv": 90, "depthwise": 36}
    project = generate_project(model, tmp_path, "network")
    assert faults(project.directory, expected) == []
