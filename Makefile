# make demo       set up .venv and run programs on graphs
# make test       set up .venv and run every test, the linter and the type checker
# make quick      the tests that tests/quick.txt lists
# make lint       the linter and the type checker
# make nightly    what takes hours: long tests, random programs, mutants, mutations; it goes on where it was ended
# make docs       the documentation as a site, in build/site
# make coverage   every test, and which lines and branches of the Python text they run
# make clean      remove the virtual environments and what tools have left
#
# With PYTHON=python3.12, or a path, each of them uses that interpreter, in a virtual environment of its own (.venv-3.12).
#
# Set-up happens once: what is installed is remembered under a checksum of pyproject.toml, and later calls of any
# target need no network.

ifdef PYTHON
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := .venv-$(or $(VERSION),none)
else
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $$p && break; done)
VERSION := $(if $(PYTHON),found)
VENV := .venv
endif
BIN := $(VENV)/bin
KEY := $(shell cksum pyproject.toml | cut -d' ' -f1)
WORKERS ?= 2
PROGRAMS ?= 2000
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --hypothesis-profile=ci

# Tests start hundreds of processes. These read cached byte code, as the processes of users do.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick lint nightly docs coverage clean

demo: $(VENV)/.base-$(KEY)
	@echo '$$ vlang run pagerank karate --top 5' && $(BIN)/vlang run pagerank karate --top 5
	@echo && echo '$$ vlang run bfs karate source=1 --top 5 --verify' && \
		$(BIN)/vlang run bfs karate source=1 --top 5 --verify
	@echo && echo '$$ vlang run pagerank kron:16 --top 5' && $(BIN)/vlang run pagerank kron:16 --top 5

# The type checker uses one processor, so the tests begin beside it; its messages follow theirs.
test: $(VENV)/.dev-$(KEY)
	$(BIN)/ruff check .
	@mkdir -p build
	$(BIN)/mypy >build/mypy.txt 2>&1 & types=$$!; $(PYTEST); failed=$$?; \
		wait $$types || failed=$$?; cat build/mypy.txt; exit $$failed

quick: $(VENV)/.dev-$(KEY)
	$(PYTEST) @tests/quick.txt

nightly: $(VENV)/.dev-$(KEY)
	$(BIN)/pip install --quiet --editable '.[ray]' || echo 'Ray is not installed: its tests are skipped'
	VLANG_EXHAUSTIVE=1 VLANG_MUTANTS=50000 VLANG_KILLS=200 $(PYTEST) @tests/nightly.txt
	$(BIN)/python -m tests.packaging.extras
	$(BIN)/python -m tests.fuzz.long --count $(PROGRAMS) --results build/nightly/fuzz/results.jsonl
	$(BIN)/python -m tests.fuzz.mutants --count $$((2 * $(PROGRAMS)))
	$(BIN)/python -m tests.mutation --jobs $$(( ($$(nproc) + 1) / 2 )) --results build/nightly/mutation/results.jsonl

lint: $(VENV)/.dev-$(KEY)
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.dev-$(KEY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

coverage: $(VENV)/.dev-$(KEY)
	$(PYTEST) --cov --cov-report=term --cov-report=html:build/coverage

$(VENV)/.base-$(KEY): | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev-$(KEY): | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --no-compile --editable '.[dev]'  # most modules are never imported
	@touch $@ $(VENV)/.base-$(KEY)

$(VENV)/bin/pip:
	@test -n '$(VERSION)' || { echo 'vlang needs CPython 3.11 to 3.14$(if $(PYTHON),: $(PYTHON) does not run,); name one: make demo PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf .venv .venv-3.* build dist vlang.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
