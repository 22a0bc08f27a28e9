"""The demo's steps, through the HTTP API of the running product: find the benchmark, quote, start, watch, read."""

import time
from pathlib import Path
from typing import Any, TextIO

from common.money import format_usd
from evalrouter_site.demo.account import DemoState
from evalrouter_site.demo.client import Api, ApiError
from evalrouter_site.demo.models import FoundModel
from evalrouter_site.demo.terminal import ProgressBar, result_table

BASELINES = ("random-choice", "most-frequent-answer")
TASKS_WITH_MODEL = 50
"""A model on a small machine takes seconds a task; the baselines alone work the whole benchmark."""
TERMINAL = frozenset({"completed", "partial", "cancelled", "failed"})


class DemoFlow:
    """One demo over the API; `say` prints, `state` remembers for the next time."""

    def __init__(self, api: Api, state: DemoState, state_path: Path, out: TextIO) -> None:
        self.api = api
        self.state = state
        self.state_path = state_path
        self.out = out

    def say(self, text: str = "") -> None:
        self.out.write(text + "\n")
        self.out.flush()

    def run(self, found: FoundModel | None) -> dict[str, Any]:
        """Show the finished comparison, made now or before; returns the run's document."""
        connection_id = self.connect(found) if found else None
        benchmark = self.pick_benchmark()
        subjects: list[dict[str, str]] = [{"kind": "baseline", "name": name} for name in BASELINES]
        if connection_id:
            subjects.append({"kind": "connection", "connection_id": connection_id})
        made_for = f"{benchmark['slug']} {connection_id or ''}".strip()
        run = self.finished(made_for)
        if run is None:
            run = self.evaluate(benchmark, subjects)
            self.state.runs[made_for] = run["id"]
            self.state.save(self.state_path)
        self.show(run)
        return run

    def pick_benchmark(self) -> dict[str, Any]:
        """The starter benchmark to show: one with choices, where guessing has a floor worth seeing."""
        listed = self.api.get("/benchmarks?limit=100")["data"]
        public = [benchmark for benchmark in listed if not benchmark["private"]]
        if not public:
            raise ApiError(404, "benchmark_not_found", "the starter catalog is empty")
        details = [self.api.get(f"/benchmarks/{benchmark['slug']}") for benchmark in public]
        chosen = [benchmark for benchmark in details if _has_choices(benchmark)]
        return max(chosen or details, key=lambda benchmark: (int(benchmark["task_count"]), str(benchmark["slug"])))

    def connect(self, found: FoundModel) -> str | None:
        """The ID of a connection to the model that was found, checked; None where the check failed."""
        made_for = f"{found.endpoint} {found.model}"
        connection_id = self.state.connections.get(made_for)
        try:
            if connection_id is None:
                made = self.api.post(
                    "/connections",
                    {
                        "name": f"{found.model} ({count + 1})" if (count := len(self.state.connections)) else found.model,
                        "endpoint": found.endpoint,
                        "model": found.model,
                        "api_key": found.api_key,
                        "protocol": "openai",
                    },
                )
                connection_id = self.state.connections[made_for] = str(made["id"])
                self.state.save(self.state_path)
            checked = self.api.post(f"/connections/{connection_id}/check", {})
        except ApiError as error:
            self.say(f"  {found.model} at {found.endpoint} is left out: {error}")
            return None
        if not checked["ok"]:
            self.say(f"  {found.model} at {found.endpoint} is left out: {checked['error']}")
            return None
        return connection_id

    def finished(self, made_for: str) -> dict[str, Any] | None:
        """The run that an earlier demo made for the same, if it ended with a result."""
        run_id = self.state.runs.get(made_for)
        if run_id is None:
            return None
        try:
            run = self.api.get(f"/runs/{run_id}")
        except ApiError:
            return None
        if run["status"] not in TERMINAL:
            self.say("  The run of the last demo goes on:")
            run = self.watch(run)
        return run if run["status"] == "completed" else None

    def evaluate(self, benchmark: dict[str, Any], subjects: list[dict[str, str]]) -> dict[str, Any]:
        """Quote, start and watch; returns the ended run."""
        has_model = any(subject["kind"] != "baseline" for subject in subjects)
        sampled = has_model and int(benchmark["task_count"]) > TASKS_WITH_MODEL
        coverage = {"mode": "sample", "sample_count": TASKS_WITH_MODEL, "seed": 0} if sampled else {"mode": "full"}
        quote = self.api.post(
            "/quotes",
            {
                "subjects": subjects,
                "selection": {"profile_ids": [f"{benchmark['slug']}@{benchmark['latest_version']}"]},
                "coverage": coverage,
                "name": "Demo comparison",
            },
        )
        plan = quote["plan"]
        self.say(f"  Benchmark  {plan['benchmark']['name']} ({plan['benchmark']['profile_id']})")
        self.say(f"  Models     {', '.join(subject['label'] for subject in plan['subjects'])}")
        self.say(f"  Tasks      {plan['total_tasks']:,} of {plan['coverage']['population']:,}")
        self.say(f"  Costs      at most {_usd(plan['pricing']['ceiling_microusd'])} of credit")
        self.say()
        return self.watch(self.api.post("/runs", {"quote_id": quote["id"]}))

    def watch(self, run: dict[str, Any]) -> dict[str, Any]:
        """Show the progress until the run has ended."""
        bar = ProgressBar(self.out)
        while run["status"] not in TERMINAL:
            bar.show(run["progress"])
            time.sleep(0.4)
            run = self.api.get(f"/runs/{run['id']}")
        bar.show(run["progress"])
        bar.end()
        return run

    def show(self, run: dict[str, Any]) -> None:
        """Print the result's table and what the comparison says."""
        result = self.api.get(f"/runs/{run['id']}/results")
        self.say()
        self.say(f"  {result['benchmark']['name']}, {result['coverage']['graded']:,} of {result['coverage']['planned']:,} tasks")
        for line in result_table(result):
            self.say(line)
        if len(result["subjects"]) > 1:
            self.say()
            self.say(f"  {self.api.get(f'/runs/{run["id"]}/compare')['summary']}")


def _has_choices(benchmark: dict[str, Any]) -> bool:
    return any((version.get("manifest") or {}).get("grader") == "multiple_choice" for version in benchmark["versions"])


def _usd(microusd: str) -> str:
    return format_usd(int(microusd))
