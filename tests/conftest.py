"""Fixtures and settings every test shares."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from finn_resnet.simulation import compiler, verilator

CHECKOUT = Path(__file__).resolve().parent.parent

# Continuous integration draws the same examples every time, so that a red run is a real change.
# No deadlines: an example that compiles C++ takes as long as the machine needs.
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What compiles C++ takes seconds: it is slow, beside what says so itself."""
    for item in items:
        if "cxx" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A quick test that compiles fails, whatever the cache holds: the loop stays quick."""
    Compilation.allowed = item.get_closest_marker("slow") is not None


class Compilation:
    """Whether the test that runs, its fixtures included, may compile C++ or RTL."""

    allowed = True

    @classmethod
    def demanded_by(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, refused to quick tests."""

        @functools.wraps(function)
        def guarded(*arguments: Any, **named: Any) -> Any:
            if not cls.allowed:
                pytest.fail("a quick test compiles: let it take the fixture cxx, or mark it slow")
            return function(*arguments, **named)

        return guarded


for _module, _name in ((compiler, "_compiled"), (compiler, "_run_compiler"), (verilator, "_call")):
    setattr(_module, _name, Compilation.demanded_by(getattr(_module, _name)))


def _shared_folder(name: str) -> Path:
    """`<checkout>/../shared/<name>`, which holds files too large or not ours to commit."""
    folder = CHECKOUT.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"no folder ../shared/{name} beside the checkout")
    return folder


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Folder of public quantised models (`resnet8.onnx`, ...); skips where it is absent."""
    return _shared_folder("models")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of image sets (`cifar10_jpeg_test.npz`, ...); skips where it is absent."""
    return _shared_folder("data")


@pytest.fixture(scope="session")
def cxx() -> str:
    """Path of the C++ compiler the package would use; skips where there is none."""
    for candidate in (os.environ.get("CXX"), "g++", "clang++"):
        found = shutil.which(candidate) if candidate else None
        if found:
            return found
    pytest.skip("no C++ compiler (set CXX, or install g++ or clang++)")


@pytest.fixture(scope="session", autouse=True)
def compile_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of compiled simulations for the whole run, shared by all xdist workers.

    `finn_resnet.simulation.compiler` keeps its executables in `$FINN_RESNET_CACHE_DIR`.
    """
    base = tmp_path_factory.getbasetemp()
    # An xdist worker's temporary folder lies inside that of the whole run.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    cache = shared / "compile_cache"
    cache.mkdir(exist_ok=True)
    os.environ["FINN_RESNET_CACHE_DIR"] = str(cache)
    return cache
