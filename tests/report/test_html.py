"""report.html is one self-contained file with every figure, and says what was not run."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from finn_resnet.report.html import write_html_report
from finn_resnet.report.report_file import start_report, update_report
from tests.report.test_table import LAYERS, REPORT

_VOID = {"meta", "br", "hr", "img", "input", "link"}


class TagChecker(HTMLParser):
    """Collects tags left open or closed out of order, and everything loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in _VOID:
            self.open.append(tag)
        self.faults += [f"{tag} loads {v}" for k, v in attrs if k in ("src", "href")]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> out of order")


def page(folder) -> str:
    return write_html_report(folder).read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_self_contained(output):
    checker = TagChecker()
    checker.feed(page(output))
    assert checker.faults == [] and checker.open == []


def test_the_page_holds_every_figure(output):
    text = page(output)
    for figure in ("8,192 cycles per frame", "30,518 frames/s", "0 of 99,999 codes", "1,234.5"):
        assert figure in text
    assert 'bottleneck"' in text
    assert "cap lut at 77 % (70 now): 7,168 cycles a frame" in text
    assert text.count('<svg class="ranges"') == 2
    assert "relu_q: least, quartiles, greatest 0, 0, 0, 2, 3 of 0 to 3" in text
    assert "up to 17 of 20 tokens" in text and "frame 1: cycles 8,192 to 16,384" in text
    assert text.count('<svg class="graph"') == 2
    assert text.count(">StreamConv</text>") == 2 * 7
    assert re.search(r"cost model: 376\.8 GMAC/s", text), "12,345,678 MACs at 30,517.6 frames/s"


def test_sections_not_run_say_so(tmp_path):
    start_report(tmp_path)
    text = page(tmp_path)
    for words in ("Not estimated", "Not simulated", "saved no intermediate models"):
        assert words in text
    checker = TagChecker()
    checker.feed(text)
    assert checker.faults == []


def test_names_cannot_break_the_page(output):
    report = dict(REPORT["layers"][0], name="<script>alert(1)</script>")
    update_report(output, "layers", [report])
    assert "<script>" not in page(output)


def test_each_parameter_memory_stands_under_its_layer(output):
    update_report(output, "layers", LAYERS)
    names = re.findall(r'<tr class="([^"]*)">\s*<th scope="row">([^<]*)</th>', page(output))
    layers = [name for _, name in names]
    served = [name for kind, name in names if "part" in kind]
    assert served, "the report has helpers"
    for name in served:
        before = layers[: layers.index(name)]
        owner = [layer for layer in before if layer not in served][-1]
        assert name.startswith(owner)
