"""The pages of runs, one module a page."""

from runs.views.changes import cancellation, continuation, start
from runs.views.comparing import comparison, comparison_table, disagreements
from runs.views.difference import difference
from runs.views.downloads import export, exports
from runs.views.gradings import grading, gradings
from runs.views.history import benchmark_health, benchmark_results, history
from runs.views.leaderboard import leaderboard, publishing, withdrawal
from runs.views.new import new_evaluation
from runs.views.quote import quote
from runs.views.report import report
from runs.views.reviews import note, note_deletion, notes, override, override_withdrawal, reviews
from runs.views.samples import sample, samples
from runs.views.sharing import sharing, sharing_preview, sharing_revocation
from runs.views.spending import spending

__all__ = [
    "benchmark_health",
    "benchmark_results",
    "cancellation",
    "comparison",
    "comparison_table",
    "continuation",
    "difference",
    "disagreements",
    "export",
    "exports",
    "grading",
    "gradings",
    "history",
    "leaderboard",
    "new_evaluation",
    "note",
    "note_deletion",
    "notes",
    "override",
    "override_withdrawal",
    "publishing",
    "quote",
    "report",
    "reviews",
    "sample",
    "samples",
    "sharing",
    "sharing_preview",
    "sharing_revocation",
    "spending",
    "start",
    "withdrawal",
]
