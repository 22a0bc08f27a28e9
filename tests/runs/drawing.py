"""Documents to draw in tests of charts, and what is asked of every drawing."""

from typing import Any
from xml.etree import ElementTree

from django.template.loader import render_to_string
from hypothesis import settings
from hypothesis import strategies as st

from runs.statistics import wilson

drawing = settings(deadline=None, max_examples=40)
"""For properties that render templates, which are read from disk the first time."""

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = """</title><script>alert(1)</script>"'&<b onload=x> {{ x }} {% x %}"""


def interval(low: float, high: float) -> dict[str, Any]:
    return {"low": low, "high": high, "level": 0.95, "method": "wilson"}


def subject(
    index: int,
    label: str = "",
    *,
    correct: int | None = 5,
    n: int = 10,
    cost: int | None = 1000,
    kind: str = "managed",
    p50: int | None = 100,
    groups: dict[str, tuple[int, int] | None] | None = None,
    stopped: str | None = None,
    figures: tuple[float, float, float] | None = None,
) -> dict[str, Any]:
    """A subject of a result: `correct` of `n`, `cost` micro-USD in all, groups as name to (correct, n); or `figures`: score, low, high."""
    quantiles = p50 and {f"p{share}": p50 * (share + 10) // 60 for share in (5, 10, 25, 50, 75, 90, 95, 99)}
    return {
        "index": index,
        "label": label or f"model-{index}",
        "kind": kind,
        "stopped": stopped,
        "headline": {"name": "Accuracy", **(_figures(correct, n) if figures is None else _stated(*figures))},
        "groups": [
            {"group": name, "planned": counts[1] if counts else 3, **_figures(*(counts or (None, 0)))}
            for name, counts in (groups or {}).items()
        ],
        "counts": {"graded": 0 if correct is None else n},
        "latency_ms": {"p50": p50, "p95": quantiles and quantiles["p95"], "quantiles": quantiles},
        "charge_microusd": str(cost or 0),
        "answers_charge_microusd": None if cost is None else str(cost),
    }


def _stated(value: float, low: float, high: float) -> dict[str, Any]:
    return {"value": value, "interval": interval(low, high)}


def _figures(correct: int | None, n: int) -> dict[str, Any]:
    if correct is None:
        return {"value": None, "n": 0, "interval": None}
    found = wilson(correct, n)
    return {"value": correct / n, "n": n, "interval": interval(found.low, found.high)}


def ranked(index: int, label: str, score: float, low: float, high: float, group: str = "a") -> dict[str, Any]:
    return {"subject_index": index, "label": label, "score": score, "interval": interval(low, high), "group": group}


def pair(a: int, b: int, difference: float, low: float, high: float, *, separable: bool) -> dict[str, Any]:
    return {"a": a, "b": b, "difference": difference, "interval": interval(low, high), "separable": separable}


def subjects(*, most: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """One to eight subjects of every kind, identical ones, free ones and ones without an answer among them."""
    one = st.tuples(
        st.sampled_from([None, 0, 1, 5, 9, 10]),
        st.sampled_from([0, 1, 1000, 1000, 5000, 40_000, 10**9]),
        st.sampled_from(["managed", "managed", "connection", "baseline"]),
        st.sampled_from([0, 1, 100, 100, 2500, 90_000]),
        st.sampled_from(["m", "acme/a-model-of-some-length", "provider/" + "very-long-" * 12, HOSTILE]),
    )

    def build(drawn: list[tuple[int | None, int, str, int, str]]) -> list[dict[str, Any]]:
        return [
            subject(
                index,
                f"{label}{index}",
                correct=correct,
                cost=None if kind == "connection" else cost,
                kind=kind,
                p50=p50 if correct is not None else None,
            )
            for index, (correct, cost, kind, p50, label) in enumerate(drawn)
        ]

    return st.lists(one, min_size=1, max_size=most).map(build)


def share_of(place: str) -> float:
    """A coordinate in percent as a share; it must be within the drawing."""
    share = float(place.removesuffix("%")) / 100
    assert place.endswith("%") and 0 <= share <= 1, place
    return share


def drawn(name: str, chart: Any, **context: Any) -> ElementTree.Element:
    """The rendered figure as a tree: well-formed, with a title and a description, without inline style, script or a number that is none."""
    html = render_to_string(f"runs/charts/{name}.html", {"chart": chart, **context})
    figure = ElementTree.fromstring(html[html.index("<figure") :].replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"'))
    svg = figure.find(f".//{SVG}svg[@role='img']")
    assert svg is not None
    ids = {element.get("id"): element.text for element in svg.iter() if element.get("id")}
    assert [ids[part] for part in (svg.get("aria-labelledby") or "").split()] == [chart.title, chart.description or None]
    for element in figure.iter():
        assert not element.tag.endswith(("script", "style", "foreignObject"))
        for attribute, value in element.attrib.items():
            assert attribute != "style" and not attribute.startswith("on")
            assert not {"nan", "inf", "none"} & set(value.lower().replace("%", " ").split()) or attribute in {
                "fill",
                "display",
                "preserveAspectRatio",
            }
    return figure


def texts(figure: ElementTree.Element, css_class: str) -> list[str]:
    """What stands in the elements of a class."""
    return [" ".join("".join(element.itertext()).split()) for element in figure.iter() if css_class in (element.get("class") or "").split()]


def table_of(figure: ElementTree.Element) -> list[list[str | None]]:
    return [[cell.text for cell in row] for row in figure.iter("tr")]
