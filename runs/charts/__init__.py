"""Charts as geometry: what a template needs to draw them, in a live page and in an exported one alike.

Each function takes documents that the API serves and returns what `templates/runs/charts/` draws, or None where there is nothing to draw.
"""

from runs.charts.days import DaysChart, days_chart
from runs.charts.parts import groups_chart, latency_chart
from runs.charts.planes import Plane
from runs.charts.plots import differences_chart, ranking_chart, running_chart, scores_chart
from runs.charts.progress import Pace, ProgressChart, paces_of, progress_chart
from runs.charts.rows import Chart
from runs.charts.tradeoffs import cost_chart, speed_chart

STYLE_SHEETS = ("css/tokens.css", "css/components/figure.css", "css/components/chart.css")
"""All that a file with charts needs of the static files; without them the drawings are black, and their words above and below the marks."""

__all__ = [
    "STYLE_SHEETS",
    "Chart",
    "DaysChart",
    "Pace",
    "Plane",
    "ProgressChart",
    "cost_chart",
    "days_chart",
    "differences_chart",
    "groups_chart",
    "latency_chart",
    "paces_of",
    "progress_chart",
    "ranking_chart",
    "running_chart",
    "scores_chart",
    "speed_chart",
]
