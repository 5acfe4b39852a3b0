"""The C++ host program against DMAs by their register description, in front of the compiled C++."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from finn_resnet.boards import load_board
from finn_resnet.deploy.block_design import block_design
from finn_resnet.deploy.deploy_folder import write_deploy_folder
from finn_resnet.deploy.simulated_pynq import SimulatedPynq
from finn_resnet.generation.project import generate_project

PHYSICAL = 0x7_0000_0000
RESET, HALTED, DONE, INTERNAL_ERROR = 4, 1, 0x1000, 0x10


class Devices:
    """AXI DMAs (direct register mode) and the packet counter, by address; see AMD's PG021."""

    def __init__(self, project, board, memory: np.ndarray) -> None:
        self.memory = memory
        design = block_design(project, board)
        overlay = SimulatedPynq(project.directory).Overlay(f"{project.top}.bit")
        self.counter_address, self.counter = design.counter_address, overlay.frames_per_packet
        self.dmas = {}
        for dma in design.dmas:
            to_memory = dma in design.writers
            block = getattr(overlay, dma.cell)
            channel = block.recvchannel if to_memory else block.sendchannel
            self.dmas[dma.address] = {
                "channel": channel,
                "base": 0x30 if to_memory else 0,
                "status": HALTED,
                "registers": {},
                "waiting": False,
            }

    def write(self, address: int, offset: int, value: int) -> None:
        if address == self.counter_address:
            self.counter.write(offset, value)
            return
        dma = self.dmas[address]
        offset -= dma["base"]
        dma["registers"][offset] = value
        if offset == 0:
            dma["status"] = HALTED if value & RESET or not value & 1 else dma["status"] & ~HALTED
        elif offset == 4:
            dma["status"] &= ~(value & DONE)
        elif offset == 0x28:
            self._start(dma, value)

    def _start(self, dma, length: int) -> None:
        assert not dma["status"] & HALTED, "a length starts nothing in a channel that is halted"
        physical = dma["registers"][0x18] | dma["registers"][0x1C] << 32
        begin = physical - PHYSICAL
        assert begin >= 0 and begin + length <= len(self.memory)
        if dma["base"]:
            dma["waiting"], dma["span"] = True, (begin, length)
            dma["target"] = np.zeros(length, np.uint8)
            dma["channel"].transfer(dma["target"])
        else:
            dma["channel"].transfer(np.array(self.memory[begin : begin + length]))
            dma["status"] |= DONE

    def read(self, address: int, offset: int) -> int:
        dma = self.dmas[address]
        offset -= dma["base"]
        if offset == 0:
            return dma["registers"].get(0, 0) & ~RESET
        if dma["waiting"]:
            begin, length = dma["span"]
            try:
                dma["channel"].wait()
                self.memory[begin : begin + length] = dma["target"]
                dma["status"] |= DONE
            except RuntimeError:
                dma["status"] |= INTERNAL_ERROR
            dma["waiting"] = False
        return dma["status"]


@pytest.fixture(scope="module")
def deployed(hardware_model, tmp_path_factory, cxx):
    folder = tmp_path_factory.mktemp("host")
    board = load_board("KV260")
    project = generate_project(hardware_model, folder, "small")
    host = write_deploy_folder(hardware_model, project, board, folder, 250.0) / "host"
    header = Path(__file__).with_name("host_registers.hpp")
    switches = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f'-DHOST_REGISTERS="{header}"']
    subprocess.run([cxx, *switches, "main.cpp", "-o", "host"], cwd=host, check=True)
    # With the real registers it compiles too; it runs on boards alone.
    subprocess.run(["make", "-C", str(host), "host", "-B", "-n"], check=True, capture_output=True)
    subprocess.run([cxx, *switches[:4], "-fsyntax-only", "main.cpp"], cwd=host, check=True)
    return project, board, host


def run_host(deployed, *arguments: str, memory_bytes: int = 1 << 16, devices=Devices):
    project, board, host = deployed
    paths = {name: host / name for name in ("requests", "answers")}
    for path in paths.values():
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    store = host / "memory"
    memory = np.memmap(store, np.uint8, "w+", shape=(memory_bytes,))
    environment = {
        **os.environ,
        "HOST_REQUESTS": str(paths["requests"]),
        "HOST_ANSWERS": str(paths["answers"]),
        "HOST_MEMORY": str(store),
    }
    process = subprocess.Popen(
        ["./host", *arguments],
        cwd=host,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    device = devices(project, board, memory)
    with open(paths["requests"]) as requests, open(paths["answers"], "w") as answers:
        for line in requests:
            kind, *numbers = line.split()
            address, offset, value = map(int, numbers)
            result = device.read(address, offset) if kind == "r" else None
            if kind == "w":
                device.write(address, offset, value)
            answers.write(f"{result or 0}\n")
            answers.flush()
    out, err = process.communicate()
    return process.returncode, out, err


def test_codes_are_those_of_the_vectors(deployed):
    status, out, err = run_host(deployed, "input.bin", "result_")
    assert (status, err) == (0, "")
    assert re.match(r"3 frames in ", out)
    host = deployed[2]
    expected = sorted(host.glob("expected_*.bin"))
    assert expected
    for path in expected:
        found = host / path.name.replace("expected_", "result_")
        assert found.read_bytes() == path.read_bytes()


def test_many_frames_go_in_batches(deployed):
    host = deployed[2]
    (host / "many.bin").write_bytes(4 * (host / "input.bin").read_bytes())
    status, _, err = run_host(deployed, "many.bin", "many_", memory_bytes=1100)
    assert (status, err) == (0, "")
    (path,) = host.glob("expected_*.bin")
    found = host / path.name.replace("expected_", "many_")
    assert found.read_bytes() == 4 * path.read_bytes()


def test_an_error_of_a_dma_is_told(deployed):
    class Forgetful(Devices):
        """Counts four frames to a packet where three are sent."""

        def write(self, address, offset, value):
            super().write(address, offset, 4 if address == self.counter_address else value)

    status, _, err = run_host(deployed, "input.bin", "bad_", devices=Forgetful)
    assert status == 2 and "reports an error" in err


def test_half_a_frame_is_refused(deployed):
    host = deployed[2]
    (host / "half.bin").write_bytes(b"\0" * 100)
    done = subprocess.run(
        ["./host", "half.bin", "x_"], cwd=host, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "no whole frames of 192 bytes" in done.stderr
