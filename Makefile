# What people and CI do with this repository. `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo serve test test-services check format lock screenshots bench soak

PYTHON := .venv/bin/python
PYTEST := .venv/bin/pytest

# The machine's own PostgreSQL and Redis, for the tests that need them.
SERVICES_DATABASE_URL ?= postgres://postgres@127.0.0.1:5432/evalrouter
SERVICES_BROKER_URL ?= redis://127.0.0.1:6379/9
ON_SERVICES := DATABASE_URL=$(SERVICES_DATABASE_URL) CELERY_BROKER_URL=$(SERVICES_BROKER_URL)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## the environment with the tools of development, and the database
	@script/setup all

demo: ## set up, run a first comparison and show it; serves until Ctrl-C
	@script/setup
	@exec $(PYTHON) manage.py demo --end-with-parent

serve: ## set up and serve: web, worker and beat
	@script/setup
	@$(PYTHON) manage.py load_starter_catalog >&2
	@exec $(PYTHON) manage.py serve --end-with-parent

test: ## all tests that need no service, on SQLite
	@script/setup all
	@$(PYTEST) -n 2 -m "not services and not browser"

test-services: ## all tests again on PostgreSQL and Redis, with real workers and a browser
	@script/setup all
	@$(ON_SERVICES) $(PYTEST) -n 2 --dist loadgroup --create-db -m "not browser"
	@$(ON_SERVICES) $(PYTEST) -n 2 --create-db -m browser # by themselves: the browser's driver leaves an event loop running in its process

check: ## lint, format, types, layers, migrations
	@script/setup all
	@.venv/bin/ruff check . script/lint script/prepare
	@.venv/bin/ruff format --check . script/lint script/prepare
	@$(PYTHON) script/lint
	@.venv/bin/lint-imports --no-logo
	@$(PYTHON) manage.py makemigrations --check --dry-run
	@$(PYTHON) manage.py check --fail-level WARNING
	@.venv/bin/mypy

format: ## rewrite the code in the house's format
	@script/setup all
	@.venv/bin/ruff check --fix . script/lint script/prepare
	@.venv/bin/ruff format . script/lint script/prepare

lock: ## resolve the requirements again and write the hashed lock files
	@script/uv pip compile pyproject.toml --quiet --universal --python-version 3.12 --generate-hashes --no-header --upgrade \
		--extra redis -o requirements/core.txt
	@script/uv pip compile pyproject.toml --quiet --universal --python-version 3.12 --generate-hashes --no-header --upgrade \
		-c requirements/core.txt --all-extras --group dev -o requirements/all.txt

screenshots: ## every page in light, dark and on a phone, into var/screenshots
	@script/setup all
	@KEEP="$(KEEP)" $(PYTEST) --no-header -s tests/site/screenshots.py

bench: ## measure pages, and speed against the physical limit on SQLite and on PostgreSQL with Redis
	@script/setup all
	@$(PYTHON) -m tests.bench

soak: ## power cuts in paid runs, random orders of money, eight models under faults and killed workers; for half an hour
	@script/setup all
	@$(PYTHON) -m tests.bench.outages
	@MONEY_EXAMPLES=200 $(PYTEST) --no-header -q tests/runs/test_money_stateful.py
	@$(PYTHON) -m tests.bench.soak
