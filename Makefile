# Everything needs only Python 3.11+, git and make. The environment lives in .venv.
PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
ARGS ?=

.PHONY: run test lint bench snapshots setup setup-dev clean help

help:
	@echo "make run        the workbench on the sample workspace (ARGS=--no-replay to keep it still)"
	@echo "make test       tests, lint, types and import contracts"
	@echo "make lint       lint, types and import contracts"
	@echo "make bench      benchmarks (DATA=folder with the benchmark data)"
	@echo "make snapshots  redraw the screens in snapshots/"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
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

test: lint
	@$(BIN)/python -m pytest -n auto

lint: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup-dev
	@$(BIN)/python -m tests.benchmarks $(if $(DATA),--data $(DATA)) $(ARGS)

snapshots: setup-dev
	@$(BIN)/python -m pytest -n auto tests/tui --snapshot-update

clean:
	rm -rf $(VENV) build *.egg-info
