"""Draws what `run` found: an SVG with a group of bars per case, for browsers in light and in dark."""

import re
import textwrap
import xml.etree.ElementTree as ElementTree

WIDTH, MARGIN = 900, 20
LEFT, RIGHT = 180, 660  # between them lie the bars, names left of them and figures right
ROW, BAR = 24, 14
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1a2230; font-variant-numeric: tabular-nums; }
.page { fill: #ffffff; }
.title { font-size: 19px; font-weight: 600; }
.case, .ours text { font-weight: 600; }
.soft, .failed { fill: #5d6878; }
.command { font-family: ui-monospace, monospace; font-size: 11px; }
.bar rect { fill: #a9b2bf; }
.ours rect { fill: #2563c9; }
.whisker { fill: none; stroke: #1a2230; }
.ceiling line { stroke: #b3261e; stroke-dasharray: 5 4; }
.ceiling text { fill: #b3261e; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaf0; }
  .page { fill: #11151b; }
  .soft, .failed { fill: #98a4b3; }
  .bar rect { fill: #566274; }
  .ours rect { fill: #3f7de0; }
  .whisker { stroke: #e6eaf0; }
  .ceiling line { stroke: #ff8a80; }
  .ceiling text { fill: #ff8a80; }
}
"""
NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # such as a terminal's colours
LEGEND = ("Bar: images/s, median of the rounds; whisker: from the slowest to the fastest. Ceiling: multiply-add peak of "
          "the same run, divided by the arithmetic of direct convolutions.")


def add(parent, tag, content="", kind="", **attributes):
    element = ElementTree.SubElement(parent, tag, {"class": kind} if kind else {})
    for name, value in attributes.items():
        element.set(name.replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else str(value))
    element.text = NOT_XML.sub("?", content)
    return element


def best_peer(rows):
    """images/s; 0 where none ran."""
    return max((row["images_per_second"] for row in rows[1:] if "error" not in row), default=0)


def draw_bar(svg, row, ratio, top, x):
    """`x` turns images/s into a place; `ratio` to the best peer, or 0."""
    middle = top + ROW / 2
    group = add(svg, "g", kind="bar ours" if row["name"].split(":")[0] == "ronde" else "bar")
    add(group, "text", row["name"], x=LEFT - 10, y=middle + 4, text_anchor="end")
    if "error" in row:
        add(group, "text", textwrap.shorten(row["error"], 80, placeholder="..."), kind="failed", x=LEFT, y=middle + 4)
        return
    speed, (low, high) = row["images_per_second"], row["spread"]
    bar = add(group, "rect", x=LEFT, y=middle - BAR / 2, width=x(speed) - LEFT, height=BAR, rx=2)
    add(bar, "title", f"{row['name']}: {speed:,.0f} images/s ({low:,.0f} to {high:,.0f})")
    ends = "".join(f"M{x(end):.1f} {middle - 4:.1f}v8" for end in (low, high))
    add(group, "path", kind="whisker", d=f"M{x(low):.1f} {middle:.1f}H{x(high):.1f}{ends}")
    figure = f"{speed:,.0f}" + (f" ({ratio:.2f} × the best peer)" if ratio else "")
    add(group, "text", figure, x=RIGHT + 15, y=middle + 4)


def draw_ceiling(svg, ceiling, top, bottom, x):
    group = add(svg, "g", kind="ceiling")
    add(group, "line", x1=x(ceiling), x2=x(ceiling), y1=top, y2=bottom)
    add(group, "text", f"ceiling {ceiling:,.0f}", x=x(ceiling), y=top - 5, text_anchor="middle")


def draw_case(svg, case, title, top):
    """Returns where the next one may begin."""
    rows, ceiling = case["rows"], case["ceiling"] or 0
    most = max([ceiling, 1e-9] + [row["spread"][1] for row in rows if "error" not in row])
    add(svg, "text", title, kind="case", x=MARGIN, y=top)
    first = top + 24
    for i, row in enumerate(rows):
        peer = best_peer(rows) if i == 0 else 0
        ratio = row["images_per_second"] / peer if peer and "error" not in row else 0
        draw_bar(svg, row, ratio, first + i * ROW, lambda speed: LEFT + (RIGHT - LEFT) * speed / most)
    bottom = first + len(rows) * ROW
    if ceiling:
        draw_ceiling(svg, ceiling, first, bottom, lambda speed: LEFT + (RIGHT - LEFT) * speed / most)
    return bottom + 30


def draw_head(svg, results, top):
    """What was measured, where, when, how; returns where the cases may begin."""
    versions = dict.fromkeys(row["version"] for case in results["cases"] for row in case["rows"] if row.get("version"))
    lines = [("title", results["title"])]
    lines += [("soft", line) for line in (f"{results['cpu']}; {results['date']}", ", ".join(versions)) if line]
    lines += [("soft command", line) for line in textwrap.wrap(results["command"], 125)]
    lines += [("soft", line) for line in textwrap.wrap(LEGEND, 130)]
    for kind, line in lines:
        add(svg, "text", line, kind=kind, x=MARGIN, y=top)
        top += 24 if kind == "title" else 17
    return top + 20


def plot(results, title_of, path):
    """`results` as in `run --json`; `title_of(case)` names a group."""
    svg = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    svg.set("aria-label", results["title"])
    add(svg, "style", STYLE)
    add(svg, "rect", kind="page", width="100%", height="100%")
    top = draw_head(svg, results, 34)
    for case in results["cases"]:
        top = draw_case(svg, case, title_of(case), top)
    svg.set("viewBox", f"0 0 {WIDTH} {top - 10}")
    svg.set("width", str(WIDTH))
    ElementTree.indent(svg)
    ElementTree.ElementTree(svg).write(path, encoding="utf-8", xml_declaration=True)
