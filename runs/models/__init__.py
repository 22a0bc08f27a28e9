"""Quotes, runs and everything that hangs on them, one module for each thing. What a run itself is made of is imported from here."""

from runs.models import exports, gradings, groups, notices, reviews, sharing
from runs.models.exports import Export
from runs.models.running import EmptyAnswers, Event, Quote, ResultVersion, Run, RunBenchmark, Sample, Shard, Subject

__all__ = [
    "EmptyAnswers",
    "Event",
    "Export",
    "Quote",
    "ResultVersion",
    "Run",
    "RunBenchmark",
    "Sample",
    "Shard",
    "Subject",
    "exports",
    "gradings",
    "groups",
    "notices",
    "reviews",
    "sharing",
]
