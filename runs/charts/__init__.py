"""Charts as geometry: what a template needs to draw them, in a live page and in an exported one alike."""

from runs.charts.plots import differences_chart, ranking_chart, running_chart, scores_chart
from runs.charts.rows import Chart

__all__ = ["Chart", "differences_chart", "ranking_chart", "running_chart", "scores_chart"]
