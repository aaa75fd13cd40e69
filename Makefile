# Needs Python 3.11 to 3.14 and make; all else comes from package indexes by lock files, and from Debian.

PYTHON ?= python3
PORT ?= 8080
SEED ?= 1
WORKERS ?= 3
TESTS ?= tests
CASES ?= $(addprefix tests/,crash/test_spark_deaths.py pipeline sinks spark)
UNIT ?= $(addprefix tests/,blocks ledger options pipeline records sinks spark storage)
PYTEST_ARGS ?=
BENCH_ARGS ?=
DEMO_ARGS ?=
CRASH_ARGS ?=

# Tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
# A given PYTHON recreates .venv with it; without one, an existing .venv is used as it is.
READY := $(VENV)/.ready$(if $(filter-out file,$(origin PYTHON)),-$(notdir $(PYTHON)))
UV_VERSION := 0.13.8
UV = $$(uv --version >/dev/null 2>&1 && echo uv || echo .uv/bin/uv)
RUN = home="$$($(VENV)/bin/python tools/java_home.py)" && JAVA_HOME="$$home" PATH="$(abspath $(VENV))/bin:$$PATH"

# Most JVMs of the tests do little but start: without the second compiler, and with the classes of an archive, in half the time.
# So do Spark's Python processes: with its modules compiled, in a third of the time.
CLASSES := $(VENV)/spark.jsa
QUICK_JVM = -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
QUICK = SPARK_LAUNCHER_OPTS="$(QUICK_JVM)" \
  SPARK_SUBMIT_OPTS="$(QUICK_JVM) -XX:SharedArchiveFile=$(abspath $(CLASSES)) -Xlog:cds*=off"

.DEFAULT_GOAL := help
.PHONY: help setup servers check hooks unit test docs screenshots package compatibility audit secrets bench demo up try exactness fuzz crash cases stress readers format clean

help: ## List the targets.
	@echo "Targets (PYTHON=$(PYTHON) chooses the interpreter):"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

setup: $(READY) ## Create .venv from the lock file, and find or install a Java runtime.
	@home="$$($(VENV)/bin/python tools/java_home.py)" && echo "Ready: $$($(VENV)/bin/python --version), Java at $$home"

servers: ## Install what tests start (Ceph, sshd, Azurite, Chromium) where it is missing, which needs root or sudo.
	@tools/servers.sh

check: $(READY) ## Check format, lint, types, import contracts and the architecture's rules.
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m pytest -q tests/architecture tests/remedies/test_catalog.py

hooks: $(READY) ## Run the linters of `make check` before each commit.
	$(VENV)/bin/pre-commit install

test: $(READY) $(CLASSES) ## Run all tests, in an order given by SEED, in WORKERS processes; TESTS=tests/records runs some.
	$(RUN) $(QUICK) INSTALL_SERVERS=1 SEED=$(SEED) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),10) \
	  python -m pytest $(TESTS) --numprocesses=$(WORKERS) --no-loadscope-reorder --randomly-seed=$(SEED) $(PYTEST_ARGS)

unit: $(READY) ## Run the tests that need no server, database, JVM or Airflow, with few random examples.
	$(VENV)/bin/python -m pytest $(UNIT) -m "not (slow or spark or airflow or postgres or system or crash)" \
	  --ignore=tests/spark/engines/test_airflow.py --hypothesis-profile=unit --numprocesses=logical --randomly-seed=$(SEED) $(PYTEST_ARGS)

docs: $(READY) ## Build the documentation into dist/site; a dead link or anchor is an error.
	$(VENV)/bin/zensical build --clean --strict

screenshots: $(READY) ## Take the pictures of pages in docs/pictures again, from a ledger with a past, in Airflow and Chromium.
	@$(RUN) python tools/screenshots.py

package: $(READY) ## Build wheel and sdist into dist, check them, and install them into empty environments.
	rm -f dist/*.whl dist/*.tar.gz
	$(UV) build --quiet --out-dir dist
	$(RUN) BLOCKREAD_DIST="$(CURDIR)/dist" python -m pytest tests/packaging $(PYTEST_ARGS)

compatibility: $(READY) ## Run the unit tests on each installed Python from 3.11 to 3.14, and with the lowest dependencies.
	@tools/compatibility.sh

audit: $(READY) ## Ask OSV, a public service, for known vulnerabilities of the locked dependencies.
	@$(UV) audit --frozen --preview-features audit-command || { \
	  echo "Either the dependencies above have known vulnerabilities, or https://api.osv.dev was not reached." >&2; exit 1; }

fuzz: $(READY) ## Try random files of every format for FUZZ_SECONDS (1800), then the property tests on random data.
	$(RUN) python -m tests.fuzz --seconds $(or $(FUZZ_SECONDS),1800)
	$(RUN) python -m pytest $(TESTS) -m hypothesis --hypothesis-profile=deep --timeout=0 $(PYTEST_ARGS)

bench: $(READY) ## Compare the speed with Spark, DuckDB and polars (BENCH_ARGS=quick takes two minutes).
	$(RUN) python -m benchmarks $(BENCH_ARGS)

exactness: $(READY) ## Read hard files with Spark, DuckDB, pandas, Dask and pyarrow; write docs/exactness.md.
	$(RUN) python -m benchmarks.exactness

demo: $(READY) ## Create files, run the example DAG on them, and show its output; DEMO_ARGS=--add adds more files.
	$(RUN) python dags/demo.py $(DEMO_ARGS)

up: $(READY) ## Start Airflow with the example DAGs on http://127.0.0.1:PORT; Ctrl-C stops it.
	@$(RUN) python dags/demo.py --only-files
	@$(RUN) python tools/up.py --port $(PORT)

secrets: ## Write random passwords and keys for docker-compose.yml into .env.
	@$(PYTHON) tools/compose.py secrets

try: ## Run demo and up from a fresh clone of the last commit, on each installed Python from 3.11 to 3.14.
	@tools/try.sh

crash: $(READY) ## Kill a process at every fault point, in every scenario, or once each (CRASH_ARGS=--quick).
	$(RUN) python -m tests.crash --seed $(SEED) --table docs/crashes.md $(CRASH_ARGS)

cases: $(READY) $(CLASSES) ## Run each case of the tests of which `make test` runs a sample: every sink, every place to die.
	$(RUN) $(QUICK) ALL_CASES=1 python -m pytest $(CASES) --numprocesses=$(WORKERS) --no-loadscope-reorder $(PYTEST_ARGS)

readers: $(READY) ## Read tables with chDB and DuckDB, and use a REST catalog, all installed for that (1.5 GB).
	@tools/readers.sh

stress: $(READY) ## Kill 8 processes on 200 windows at random; then plan 1 M files while groups complete.
	$(RUN) python -m tests.crash.load.stress --windows 200 --processes 8 --seed $(SEED)
	$(RUN) python -m tests.crash.load.latency --files 1000000

format: $(READY) ## Format the code and apply safe lint fixes.
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .

clean: ## Remove everything that make has created.
	rm -rf $(VENV) .uv .java .demo .servers .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CLASSES): tools/spark_classes.py tools/spark_modules.py | $(READY)
	@echo "Archiving Spark's classes for the tests' JVMs, and compiling its modules for their Python"
	@$(VENV)/bin/python tools/spark_modules.py
	@$(RUN) SPARK_SUBMIT_OPTS="-XX:+UseSerialGC -XX:ArchiveClassesAtExit=$(abspath $@) -Xlog:cds*=off" \
	  spark-submit --master 'local[2]' --conf spark.ui.enabled=false $< >/dev/null 2>&1 || true

$(READY): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || { \
	  echo "Needs Python 3.11 to 3.14, but $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Install one of those and name it: make setup PYTHON=python3.12" >&2; exit 1; }
	@uv --version >/dev/null 2>&1 || test -x .uv/bin/uv || { \
	  echo "Fetching uv $(UV_VERSION)"; rm -rf .uv; \
	  { $(PYTHON) -m venv .uv >/dev/null 2>&1 && .uv/bin/python -m pip install --quiet uv==$(UV_VERSION); } || \
	  $(PYTHON) -m pip install --quiet --target .uv uv==$(UV_VERSION); }
	@echo "Filling $(VENV) from uv.lock"
	@UV_PROJECT_ENVIRONMENT=$(VENV) UV_PYTHON_DOWNLOADS=never $(UV) sync --quiet --frozen --compile-bytecode --all-extras --all-groups \
	  --python "$$(command -v $(PYTHON))"
	@rm -f $(VENV)/.ready* && touch $(VENV)/.ready $@
