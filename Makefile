# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install -c constraints.txt
RECIPE := pyproject.toml constraints.txt

# One BLAS thread a worker: the tests run side by side.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST_ARGS ?= -n auto --maxprocesses 8 --dist worksteal --cov --cov-report=term --cov-fail-under=95
SUITE ?= paper-solver

.DEFAULT_GOAL := help
.PHONY: help demo test bench lint clean

help:  ## Say what each target does
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/demo.done  ## Fit a shape drawn in code, print a table, write anmin-demo.png
	$(BIN)/anmin demo

test: $(VENV)/test.done  ## Run the tests and measure their coverage
	$(TEST_ENV) $(BIN)/python -m pytest $(PYTEST_ARGS)

bench: $(VENV)/test.done  ## Time ours against the rivals (SUITE=..., see benchmarks/README.md)
	$(BIN)/python -m benchmarks --suite $(SUITE) --json bench-$(SUITE).json

lint: $(VENV)/lint.done  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:  ## Remove the environment and what the tools leave behind
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "anmin needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -f $@; exit 1; }

# A stamp a set of extras: a second call installs nothing.
$(VENV)/demo.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[cli]'
	@touch $@

$(VENV)/test.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[test,torch,cli,parquet]'
	@touch $@

$(VENV)/lint.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[dev,cli]'
	@touch $@
