"""The stand-in for pynq behaves as DMAs do, so that a wrong driver fails here too."""

from __future__ import annotations

import numpy as np
import pytest

from finn_resnet.deploy.simulated_pynq import DeviceWaits, SimulatedPynq
from finn_resnet.generation.project import generate_project

pytestmark = pytest.mark.slow

FRAME, RESULT = 192, 16


@pytest.fixture(scope="module")
def pynq(hardware_model, tmp_path_factory) -> SimulatedPynq:
    project = generate_project(hardware_model, tmp_path_factory.mktemp("device"), "small")
    return SimulatedPynq(project.directory)


@pytest.fixture
def overlay(pynq):
    return pynq.Overlay("small.bit")


def run(pynq, overlay, *, sent: int, packet: int, room: int) -> np.ndarray:
    """Send frames, with packets of ``packet`` frames and a buffer for ``room`` of them."""
    source = pynq.allocate((sent, FRAME), np.uint8)
    target = pynq.allocate((room, RESULT), np.uint8)
    source[:] = np.random.default_rng(0).integers(0, 256, source.shape)
    overlay.frames_per_packet.write(0, packet)
    overlay.dma_output.recvchannel.transfer(target)
    overlay.dma_input.sendchannel.transfer(source)
    overlay.dma_output.recvchannel.wait()
    return target


def test_a_packet_is_a_batch_of_whole_beats(pynq, overlay):
    target = run(pynq, overlay, sent=3, packet=3, room=3)
    assert target[:, :5].any() and not target[:, 5:].any()


def test_a_transfer_ends_with_its_packet(pynq, overlay):
    target = run(pynq, overlay, sent=3, packet=1, room=3)
    assert target[0].any() and not target[1:].any()
    # The next transfer gets the next frame.
    overlay.dma_output.recvchannel.transfer(target)
    overlay.dma_output.recvchannel.wait()
    assert np.array_equal(
        target[0], run(pynq, pynq.Overlay("small.bit"), sent=3, packet=3, room=3)[1]
    )


def test_a_packet_that_is_never_full_is_told(pynq, overlay):
    with pytest.raises(DeviceWaits, match="2 of 3 frames"):
        run(pynq, overlay, sent=2, packet=3, room=3)


def test_a_buffer_too_short_for_its_packet_is_an_error(pynq, overlay):
    with pytest.raises(RuntimeError, match="DMA Internal Error"):
        run(pynq, overlay, sent=3, packet=3, room=2)


def test_half_a_frame_is_told(pynq, overlay):
    source = pynq.allocate((FRAME + FRAME // 2,), np.uint8)
    with pytest.raises(DeviceWaits, match="part of a frame"):
        overlay.dma_input.sendchannel.transfer(source)


def test_transfers_keep_to_their_buffers(pynq, overlay):
    source = pynq.allocate((FRAME,), np.uint8)
    with pytest.raises(ValueError, match="past its buffer"):
        overlay.dma_input.sendchannel.transfer(source, start=16, nbytes=FRAME)
    with pytest.raises(ValueError, match="more than 67108863 bytes"):
        overlay.dma_input.sendchannel.transfer(pynq.allocate((1 << 26,), np.uint8))
    with pytest.raises(RuntimeError, match="not started"):
        overlay.dma_output.recvchannel.wait()


def test_unknown_names_are_refused(pynq, overlay):
    with pytest.raises(FileNotFoundError, match=r"big\.bit does not exist"):
        pynq.Overlay("big.bit")
    with pytest.raises(AttributeError, match="dma_weights"):
        _ = overlay.dma_weights
    with pytest.raises(ValueError, match="is not the data register"):
        overlay.frames_per_packet.write(4, 1)
