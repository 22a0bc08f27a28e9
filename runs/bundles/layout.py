"""What is in a bundle, by name. `docs/bundles.md` says the same to whoever reads one."""

SCHEMA = "evalrouter.bundle.v1"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
RESULT = "result.json"
SUMMARY = "summary.json"
QUOTE = "quote.json"
BENCHMARK = "benchmark.json"
TASKS = "tasks.json"
SAMPLES = "samples.jsonl"
README = "README.md"
SIGNED = (README, RESULT, SUMMARY, QUOTE, BENCHMARK, TASKS, SAMPLES)
"""The files whose hashes the manifest states; the last two are left out where the licence lets only aggregates leave."""
