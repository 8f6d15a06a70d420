# Everything runs from .venv, which is made on the first call.
# `make help` lists the targets; `make PYTHON=python3.13 test` picks an interpreter.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What users need, and that with what developers need.
USER_STAMP := $(VENV)/.user
STAMP := $(VENV)/.stamp
CORE_COVERAGE ?= 100
# Files stay whole: their fixtures are expensive. tests/conftest.py puts the slowest first.
PARALLEL ?= -n 2 --dist loadfile --no-loadscope-reorder

# Tests of what callers meet, and not of the probes and figures of one process.
REPLICATED := $(filter-out %_operations.py, $(wildcard tests/app/test_http_*.py)) \
	tests/app/test_aims.py tests/app/test_certificates.py tests/app/test_keys.py \
	tests/app/test_key_limits.py tests/app/test_without_keys.py tests/app/test_ledger.py \
	tests/app/test_outcomes.py tests/app/test_retries.py tests/app/test_sessions.py
# Requests a minute are counted by each process for itself.
ALONE := --deselect tests/app/test_keys.py::test_too_many_requests_wait

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# What pytest makes of the test files is kept, and not made anew by each process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo free-port docs test test-all test-random test-uncompiled test-chaos test-replicas test-fuzz test-schema screenshots lighthouse axe check format test-clients compose-test bench bench-service bench-online evidence frontier buying lock clean

define check_python
@command -v $(PYTHON) >/dev/null || { \
	echo "Askless needs Python 3.11 or newer, and there is no '$(PYTHON)'. Name one: make PYTHON=/path/to/python" >&2; \
	exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "Askless needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.13" >&2; \
	exit 1; }
endef

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# `exec`: a signal to end reaches the server itself.
demo: free-port ## Train on the built-in example, play a session, then serve the API (PORT=9000: there).
	@$(MAKE) --no-print-directory $(USER_STAMP)
	@export ASKLESS_HOME=$${ASKLESS_HOME:-$(CURDIR)/.askless}; \
		exec $(BIN)/askless demo $(if $(PORT),--port $(PORT))

# Before anything is installed, so it needs nothing but Python.
free-port:
	$(check_python)
	@$(PYTHON) -I askless/app/processes/ports.py "$(PORT)"

# Kernels are compiled while the packages of developers are installed.
test: compiled ## Run the tests but those of level full: no browser, no foreign client, no kill.
	@$(BIN)/python -m pytest $(PARALLEL) -m "not full and not chaos and not schema" --durations=20

test-all: compiled ## Run the tests of all levels, the slowest files first (tests/durations.json).
	@$(BIN)/python -m pytest $(PARALLEL) --durations=20

test-random: $(STAMP) ## Run the property tests with examples drawn anew (SEED=: those of a seed).
	@seed=$${SEED:-$$RANDOM}; echo "SEED=$$seed"; \
		$(BIN)/python -m pytest -m "hypothesis and not chaos and not schema" \
		-p no:xdist --hypothesis-profile=random --hypothesis-seed=$$seed

.PHONY: compiled
compiled: $(USER_STAMP)
	@$(BIN)/askless compile-kernels & compiling=$$!; \
		$(MAKE) --no-print-directory $(STAMP); wait $$compiling

test-uncompiled: $(STAMP) ## Run the tests of core as plain Python, for its coverage (2 minutes).
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/core -p no:xdist -m "not slow" \
		--durations=20 --cov --cov-report=term-missing --cov-fail-under=$(CORE_COVERAGE)

test-chaos: $(STAMP) ## Kill processes and machines, crash databases, fill disks, send what is hostile (3 minutes).
	$(BIN)/python -m pytest tests/app -m chaos --durations=10

test-replicas: $(STAMP) ## Run the tests over HTTP with a client that takes turns between two replicas (2 minutes).
	ASKLESS_TEST_REPLICAS=1 $(BIN)/python -m pytest $(PARALLEL) $(REPLICATED) $(ALONE)

test-fuzz: $(STAMP) ## Send each door 5,000 messages that hypothesis makes up (10 minutes).
	FUZZ=5000 $(BIN)/python -m pytest tests/app/doors -k fuzz -p no:xdist

test-schema: $(STAMP) ## Send what the OpenAPI document allows and forbids; check the answers.
	@test -x build/schema/bin/schemathesis || { \
		$(PYTHON) -m venv build/schema; \
		$(call group,schema,build/schema/bin/python); }
	$(BIN)/python -m pytest tests/app/test_schema.py -m schema

docs: $(STAMP) ## Build the guide of docs/ (build/guide/site, and for servers); broken links and blocks fail.
	@$(BIN)/python -m tools.guide.build

screenshots: $(STAMP) ## Play through the pages in Chromium and write docs/img/*.png (SHOTS="home sign-in": some).
	$(BIN)/python -m tests.pages.screenshots $(SHOTS)

lighthouse: $(STAMP) ## Let Lighthouse judge the pages, on a desk and on a phone (needs npm; SHOTS="home": some).
	$(BIN)/python -m tests.pages.lighthouse $(SHOTS)

axe: $(STAMP) ## Audit each state of each page whole: light, dark and 320 px.
	ASKLESS_AXE=whole $(BIN)/python -m pytest tests/pages -k "keep"

check: $(STAMP) ## Check format, lint and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP) ## Format the code and apply the linter's safe fixes.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test-clients: $(STAMP) ## Generate clients from the OpenAPI document; each trains and plays a session.
	@test -x build/clients/bin/openapi-python-client || { \
		$(PYTHON) -m venv build/clients; \
		$(call group,clients,build/clients/bin/python); }
	$(BIN)/python -m pytest tests/clients/generated.py

compose-test: ## Build and run the containers for real (needs Docker; API_PORT, PYTHON_IMAGE, POSTGRES_IMAGE).
	@$(PYTHON) tests/compose.py

bench: $(STAMP) ## Measure speed and memory beside peers; docs/performance.md. Idle machine!
	$(call group,bench,$(BIN)/python)
	$(BIN)/python -m benchmarks.bench

bench-service: $(STAMP) ## Measure answers over HTTP beside a bare handler; docs/performance.md. Idle machine!
	$(BIN)/python -m benchmarks.service

bench-online: $(STAMP) ## Measure online boosting beside river and batch boosting; docs/learning.md (an hour).
	$(call group,bench,$(BIN)/python)
	$(BIN)/python -m benchmarks.online

evidence: $(STAMP) ## Reproduce the papers and write docs/evidence.md (QUICK=1: build/evidence).
	$(call group,bench,$(BIN)/python)
	$(BIN)/python -m benchmarks.papers $(if $(QUICK),--quick)

frontier: $(STAMP) ## Measure error against spend beside competitors; docs/frontier.md (QUICK=1: build/frontier).
	$(call group,bench,$(BIN)/python)
	$(BIN)/python -m benchmarks.frontier $(if $(QUICK),--quick)
	$(if $(QUICK),,$(BIN)/python -m benchmarks.frontier.generated)

buying: $(STAMP) ## Measure buying from priced vendors beside a tuned waterfall; docs/buying-evidence.md (QUICK=1: build/buying).
	$(call group,bench,$(BIN)/python)
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m benchmarks.buying $(if $(QUICK),--quick)

clean: ## Remove caches and build output; the environment stays (rm -rf .venv).
	rm -rf build dist htmlcov .coverage .coverage.* .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# uv installs several times as fast as pip. What pip would compile to bytecode ahead,
# most of it for nothing, Python compiles when it is imported.
install = $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --progress-bar off --no-compile)
# One set of versions for all platforms; no address in the files. Extras stay in the pins:
# pip would look for the newest `coverage[toml]` beside a pinned `coverage`.
LOCK := pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --no-header --no-strip-extras $(if $(UPGRADE),--upgrade)
show = awk '/^Collecting / {print "  " $$2; fflush()} /^Installing collected/ {print "  installing"; fflush()}'

# Their packages have no pins: nothing that is tested or shipped depends on them.
group = $(BIN)/python tools/locks.py group $(1) > build/$(1).txt && \
	$(2) -m pip install --quiet --editable . --requirement build/$(1).txt

lock: ## Write requirements*.lock and requirements.cdx.json from pyproject.toml (needs uv; UPGRADE=1: newest).
	uv pip compile $(LOCK) --extra server -o requirements.lock
	uv pip compile $(LOCK) --all-extras --group dev --constraint requirements.lock -o requirements-dev.lock
	$(PYTHON) tools/locks.py tidy

$(USER_STAMP): requirements.lock pyproject.toml
	$(check_python)
	@echo "Setting up $(VENV) with $$($(PYTHON) -V): about a minute the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(install) --require-hashes --requirement requirements.lock | $(show)
	@$(install) --no-deps --editable . | $(show)
	@touch $@

$(STAMP): $(USER_STAMP) requirements-dev.lock
	@echo "Adding what developers need: about a minute the first time"
	@$(install) --require-hashes --requirement requirements.lock --requirement requirements-dev.lock | $(show)
	@touch $@
