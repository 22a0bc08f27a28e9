"""The statistics of results: pure functions, without Django."""

from runs.statistics.metric import Metric

__all__ = ["Metric"]
