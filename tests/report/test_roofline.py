"""The roofline's limits follow from the board's DSPs, clock and port width."""

from __future__ import annotations

import re

import pytest

from finn_resnet.report.roofline import (
    DesignPoint,
    board_roofline,
    draw_roofline,
    products_roofline,
)


def test_limits_of_a_board():
    roofline = board_roofline(dsp=1000, clock_mhz=250)
    assert roofline.peak == 500  # 1000 DSPs, 2 products each, 0.25 GHz
    assert roofline.bandwidth == 8  # 16 bytes in and 16 out per cycle
    assert roofline.limit(10) == 80
    assert roofline.limit(1000) == 500


@pytest.mark.parametrize("rate", [0.001, 1, 499, 500])
def test_a_design_is_drawn_at_or_below_the_roof(rate):
    drawing = draw_roofline(board_roofline(1000, 250), [DesignPoint("x", 4000, rate)])
    roof = re.search(r'<polyline class="roof" points="([^"]*)"', drawing).group(1)
    ridge = float(roof.split()[1].split(",")[1])
    point = float(re.search(r'cy="([\d.]+)"', drawing).group(1))
    # Pixels count downwards.
    assert point >= ridge - 0.1


def test_labels_are_escaped():
    assert "<b>" not in draw_roofline(board_roofline(10, 100), [DesignPoint("<b>", 10, 1)])


def test_multipliers_in_luts_are_a_roof_of_their_own():
    built = products_roofline(2600, 250, "built")
    point = DesignPoint("x", 4000, 640)
    drawing = draw_roofline(board_roofline(1000, 250), [point], [built])
    lines = re.findall(r'<polyline class="(roof[^"]*)" points="([^"]*)"', drawing)
    levels = {kind: float(points.split()[-1].split(",")[1]) for kind, points in lines}
    at = float(re.search(r'cy="([\d.]+)"', drawing).group(1))
    # Pixels count downwards: above what the DSPs alone can do, below what was built.
    assert levels["roof built"] < at < levels["roof"]
    assert "solid: all 1,000 DSPs" in drawing and "dashed: built, 650 GMAC/s" in drawing
