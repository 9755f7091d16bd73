# Everything needs only Python 3.11+, git and make. The environment lives in .venv.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
ARGS ?=
ALL ?=

.PHONY: run test pytest sweep explore lint bench snapshots setup setup-dev clean help

help:
	@echo "make run        the workbench on the sample workspace (ARGS=--no-replay to keep it still)"
	@echo "make test       tests, lint, types and import contracts (ALL=1: the slow tests too)"
	@echo "make sweep      writes killed and failed at every step, and raced, in full, the server under load, and whole benchmarks; some minutes"
	@echo "make explore    the tests of generated input, with input never tried before"
	@echo "make lint       lint, types and import contracts"
	@echo "make bench      benchmarks (DATA=folder with the benchmark data)"
	@echo "make snapshots  redraw the screens in snapshots/"

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or name it with PYTHON=" >&2; exit 1; }
	@echo "making the environment in $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

run: setup
	@$(BIN)/autopoiesis demo build/sample $(ARGS)

# Without bytecode, each of hundreds of processes would compile the program again.
test pytest sweep explore: export PYTHONDONTWRITEBYTECODE :=

# Beside the lint, half of which uses one CPU.
test: setup-dev
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

# Tests of one file stay together, and with them what they share, until a worker has nothing left to do.
# The slow ones (tests/slow.txt) take two thirds of the time and reach hardly a line that the others do not.
pytest: setup-dev
	@$(BIN)/python -m pytest -n auto --dist worksteal $(if $(ALL),,--quick)

sweep: setup-dev
	@$(BIN)/python -m pytest -n 0 -s -m thorough

explore: setup-dev
	@$(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-profile=explore

lint: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --num-workers auto
	@$(BIN)/lint-imports

bench: setup-dev
	@$(BIN)/python -m tests.benchmarks $(if $(DATA),--data $(DATA)) $(ARGS)

snapshots: setup-dev
	@$(BIN)/python -m pytest -n auto tests/tui --snapshot-update

clean:
	rm -rf $(VENV) build *.egg-info
