# make demo   set up .venv and run programs on graphs
# make test   set up .venv and run every test, the linter and the type checker
#
# Set-up happens once: what is installed is remembered under a checksum of pyproject.toml, and later calls of either
# target need no network.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	&& echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
KEY := $(shell cksum pyproject.toml | cut -d' ' -f1)
WORKERS ?= 2

.PHONY: demo test lint clean

demo: $(VENV)/.base-$(KEY)
	@echo '$$ vlang run pagerank karate --top 5' && $(BIN)/vlang run pagerank karate --top 5
	@echo && echo '$$ vlang run bfs karate source=1 --top 5 --verify' && \
		$(BIN)/vlang run bfs karate source=1 --top 5 --verify
	@echo && echo '$$ vlang run pagerank kron:16 --top 5' && $(BIN)/vlang run pagerank kron:16 --top 5

test: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --hypothesis-profile=ci

lint: $(VENV)/.dev-$(KEY)
	$(BIN)/ruff check .
	$(BIN)/mypy

$(VENV)/.base-$(KEY): | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev-$(KEY): | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.base-$(KEY)

$(VENV)/bin/pip:
	@test -n '$(PYTHON)' || { echo 'vlang needs CPython 3.11, 3.12 or 3.13; name it: make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist vlang.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
