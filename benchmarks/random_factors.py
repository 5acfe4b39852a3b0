"""Random pairs of a layer and its unroll factors: bit-exact, and at the modelled rate?

    python -m benchmarks.random_factors [--pairs 500] [--seed 0] [--rows rows.jsonl]
                                                                     (from the checkout's root)

Pairs are drawn by `tests.random_pairs`, many in one executable. Each is compared with its NumPy
execution on 5 different frames, untimed and timed, its streams are sized by themselves, and its
cycles per frame on the compiled C++ are compared with the cost model's; `tests.pair_rates` says
what "at the modelled rate" means. Every pair that is not is printed. The exit status is 1 if there
is one. With ``--rows`` the measurements are kept there, and a run continues where the last ended.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.pair_rates import PairRate, measured_rates
from tests.random_pairs import random_pairs

BATCH = 25
QUANTILES = (0, 0.25, 0.5, 0.75, 0.95, 1)


def row(rate: PairRate) -> dict[str, object]:
    """A measurement as plain JSON data."""
    return {
        "pair": rate.pair.text,
        "kind": rate.pair.kind,
        "model": rate.model,
        "limit": rate.limit,
        "unlimited": rate.unlimited,
        "sized": rate.sized,
        "at_rate": rate.at_rate,
        "bottleneck": rate.bottleneck,
        "other_cycles": rate.busy,
        "deeper_than_formula": rate.grown,
    }


def batches(count: int, seed: int) -> Iterator[list[dict[str, object]]]:
    """Measurements batch by batch; batch ``i`` has the seed ``seed + i``."""
    for index in range(-(-count // BATCH)):
        graph, pairs = random_pairs(seed + index, min(BATCH, count - index * BATCH))
        with tempfile.TemporaryDirectory() as folder:
            _, rates = measured_rates(graph, pairs, Path(folder))
        yield [{"seed": seed + index, **row(rate)} for rate in rates]


def summary(rows: list[dict[str, object]]) -> str:
    """Counts and the distribution of simulated cycles over modelled ones."""
    ratios = np.array([item["sized"] / item["model"] for item in rows])
    more = np.array([item["sized"] - item["model"] for item in rows])
    lines = [
        f"{len(rows)} pairs bit-exact, {sum(bool(item['at_rate']) for item in rows)} of them at "
        "the modelled rate",
        "kinds: " + counts(str(item["kind"]) for item in rows),
        "slowest node: " + counts(str(item["bottleneck"]) for item in rows),
        "quantiles:         " + " ".join(f"{q:>8.0%}" for q in QUANTILES),
        "simulated / model: " + " ".join(f"{v:8.4f}" for v in np.quantile(ratios, QUANTILES)),
        "simulated - model: " + " ".join(f"{v:8.0f}" for v in np.quantile(more, QUANTILES)),
    ]
    for title, key in (
        ("nodes with other cycles than modelled", "other_cycles"),
        ("window buffers with streams deeper than their formulas", "deeper_than_formula"),
    ):
        lines.append(f"{title}: {sum(bool(item[key]) for item in rows)} pairs")
    broken = [item for item in rows if not item["at_rate"]]
    return "\n".join([*lines, *(json.dumps(item) for item in broken)])


def counts(values: Iterator[str]) -> str:
    """How often each value comes, the most frequent first."""
    return ", ".join(f"{name} {count}" for name, count in Counter(values).most_common())


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path)
    arguments = parser.parse_args()
    rows = []
    if arguments.rows and arguments.rows.is_file():
        rows = [json.loads(line) for line in arguments.rows.read_text().splitlines()]
    left, done = arguments.pairs - len(rows), -(-len(rows) // BATCH)
    for batch in batches(left, arguments.seed + done):
        rows += batch
        if arguments.rows:
            with arguments.rows.open("a") as file:
                file.writelines(json.dumps(item) + "\n" for item in batch)
        print(f"{len(rows)} of {arguments.pairs}", flush=True)
    print(summary(rows))
    sys.exit(not all(item["at_rate"] for item in rows))


if __name__ == "__main__":
    main()
