"""Random networks of all that the importer takes: are their codes those of the reference?

    python -m benchmarks.random_networks [--networks 5000] [--first 0] [--cxx-every 0]
                                                                     (from the checkout's root)

Networks are drawn by `tests.mixed_networks`. Each is lowered, every second optimised, its integers
compared with the reference (docs/equality.md) on three pictures: every quantised tensor and every
output. Of every ``--cxx-every``-th the C++ is generated, compiled and compared as well. Every
network that differs or ends in an exception is printed; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from pathlib import Path

from tests.mixed_networks import cxx_mismatches, differing_codes, mixed_network, pictures_for


def problem_of(seed: int, cxx: bool) -> str:
    """What is wrong with the network of a seed; empty if nothing is."""
    try:
        model = mixed_network(seed)
        found = differing_codes(model, pictures_for(model, seed), optimised=bool(seed % 2))
        if not found and cxx:
            with tempfile.TemporaryDirectory() as folder:
                found = cxx_mismatches(model, Path(folder))
        return str(found) if found else ""
    except Exception:
        return traceback.format_exc(limit=-3)


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cxx-every", type=int, default=0)
    arguments = parser.parse_args()
    wrong = compiled = 0
    for done in range(arguments.networks):
        seed = arguments.first + done
        cxx = bool(arguments.cxx_every) and done % arguments.cxx_every == 0
        compiled += cxx
        problem = problem_of(seed, cxx)
        if problem:
            wrong += 1
            print(f"seed {seed}: {problem}", flush=True)
        if done % 100 == 99:
            print(f"{done + 1} networks, {compiled} of them as C++, {wrong} wrong", flush=True)
    print(f"{arguments.networks} networks, {compiled} of them as C++, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
