"""Wheel, source distribution and plain checkout hold everything and work from any folder."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent

# Top-level folders and where setup.cfg maps them.
PACKAGE_FOLDERS = {
    "finn_resnet": "finn_resnet",
    "custom_ops": "finn_resnet/custom_ops",
    "hls": "finn_resnet/hls",
    "rtl": "finn_resnet/rtl",
    "build_configs": "finn_resnet/build_configs",
}

# Run from outside the checkout: imports, data files and the command line of one installation.
PROBE = """
import sys
from importlib import resources
from finn_resnet.cli import run
from finn_resnet.config import load_config
import finn_resnet.custom_ops
print(finn_resnet.__file__)
assert finn_resnet.custom_ops.custom_op
assert resources.files("finn_resnet.hls").joinpath("stream.hpp").is_file()
assert resources.files("finn_resnet.rtl").joinpath("fifo_srl.sv").is_file()
assert load_config("resnet20_ultra96_paper").mode == "paper"
assert run(["boards"]) == 0
sys.exit(run(["check", "no_such_model.onnx"]))
"""


def tracked_files() -> list[str]:
    if not (CHECKOUT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout, so the list of files is unknown")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    # A file deleted but not yet committed is still listed.
    return [name for name in listing.stdout.splitlines() if (CHECKOUT / name).is_file()]


def build(hook: str, source: Path, target: Path) -> Path:
    """Run a build hook of setuptools on `source`, without network."""
    program = f"from setuptools import build_meta; print(build_meta.{hook}({str(target)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory) -> tuple[Path, Path]:
    """A source distribution of the tracked files, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("packaging")
    for name in tracked_files():
        copy = folder / "tree" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, copy)
    sdist = build("build_sdist", folder / "tree", folder)
    shutil.unpack_archive(sdist, folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    return sdist, build("build_wheel", unpacked, folder)


def probe(python_path: Path, cwd: Path) -> str:
    """Run PROBE and return the file finn_resnet was imported from."""
    environment = {**os.environ, "PYTHONPATH": str(python_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: model file 'no_such_model.onnx'"), done.stderr
    assert "KV260" in done.stdout
    return done.stdout.splitlines()[0]


def test_ci_installs_what_the_documents_say():
    wanted = {
        name: set(
            re.findall(r"install [^\n]*-e '(\.\[test[^']*\])'", (CHECKOUT / name).read_text())
        )
        for name in ("README.md", "CONTRIBUTING.md", ".ci/run")
    }
    assert all(extras == wanted["README.md"] for extras in wanted.values()), wanted
    assert len(wanted["README.md"]) == 1


def test_setup_lists_every_package():
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    found = {
        ".".join([mapped, *path.parent.relative_to(CHECKOUT / folder).parts]).replace("/", ".")
        for folder, mapped in PACKAGE_FOLDERS.items()
        for path in (CHECKOUT / folder).rglob("__init__.py")
    }
    assert listed == found


def test_the_wheel_holds_every_tracked_file_of_the_packages(distributions):
    expected = {
        mapped + name.removeprefix(folder)
        for name in tracked_files()
        for folder, mapped in PACKAGE_FOLDERS.items()
        if name.startswith(folder + "/")
    }
    held = set(zipfile.ZipFile(distributions[1]).namelist())
    assert expected - held == set()
    assert {name for name in held if ".dist-info/" not in name} == expected


def test_the_source_distribution_holds_the_tests_and_documents(distributions):
    with tarfile.open(distributions[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    for name in tracked_files():
        if not name.startswith((".git", ".clang-format")):
            assert name in held


def test_the_wheel_works_from_any_folder(distributions, tmp_path):
    with zipfile.ZipFile(distributions[1]) as wheel:
        wheel.extractall(tmp_path / "site")
    assert probe(tmp_path / "site", tmp_path).startswith(str(tmp_path / "site"))


def test_a_plain_checkout_works_from_any_folder(tmp_path):
    assert probe(CHECKOUT, tmp_path).startswith(str(CHECKOUT))
