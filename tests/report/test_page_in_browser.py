"""report.html in a browser: nothing overflows at any width, and every text stands out."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from finn_resnet.report.html import write_html_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Measures what a reader sees: the page's width, texts cut off, and the contrast of every text with
# the background behind it (WCAG 2.1: 4.5, or 3 for large text).
MEASURE = """<script>addEventListener("load", () => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const shown = c => c.length === 3 || c[3] > 0;
  const behind = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (shown(c)) return c; }
    return [255, 255, 255]; };
  const faint = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("svg .graph, .graph, title, style, script")) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const one = light(parse(svg ? style.fill : style.color)), two = light(behind(e));
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
      faint.push(e.tagName + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
  }
  const root = document.documentElement;
  const unnamed = [...document.querySelectorAll("svg, [role=region]")]
    .filter(e => !e.getAttribute("aria-label")).length;
  const bare = [...document.querySelectorAll("th")].filter(e => !e.scope).length;
  document.title = JSON.stringify({width: root.scrollWidth, window: innerWidth, faint, unnamed,
    bare,
    dark: matchMedia("(prefers-color-scheme: dark)").matches});
})</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    return found or pytest.skip("no Chromium on the PATH")


def measure(browser: str, page: Path, width: int, dark: bool, tmp_path: Path) -> dict:
    text = page.read_text(encoding="utf-8").replace("</head>", MEASURE + "</head>")
    (tmp_path / "measured.html").write_text(text, encoding="utf-8")
    # Headless windows have a least width of 500: a frame stands for the phone.
    outer = f'<iframe src="measured.html" style="width:{width}px;height:2000px;border:0"></iframe>'
    script = """<script>addEventListener("load", () => setTimeout(() => {
      document.title = document.querySelector("iframe").contentDocument.title; }, 100))</script>"""
    (tmp_path / "outer.html").write_text(outer + script, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--allow-file-access-from-files"]
    command += ["--virtual-time-budget=5000", "--window-size=1400,2000"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = subprocess.run(
        [*command, (tmp_path / "outer.html").as_uri()], capture_output=True, timeout=120
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout.decode(), re.DOTALL)
    return json.loads(html.unescape(title.group(1)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_and_is_legible(browser, output, tmp_path, width, dark):
    found = measure(browser, write_html_report(output), width, dark, tmp_path)
    assert found["dark"] == dark and found["window"] == width
    assert found["width"] <= width
    assert found["faint"] == [] and found["unnamed"] == 0 and found["bare"] == 0


@pytest.mark.slow
def test_the_measurement_finds_what_is_wrong(browser, output, tmp_path):
    page = write_html_report(output)
    text = page.read_text(encoding="utf-8")
    wrong = '<p style="color: #bbb; width: 2000px">faint and wide</p><svg></svg></main>'
    page.write_text(text.replace("</main>", wrong), encoding="utf-8")
    found = measure(browser, page, 360, False, tmp_path)
    assert found["width"] > 360 and found["unnamed"] == 1
    assert len(found["faint"]) == 1 and "faint and wide" in found["faint"][0]
