# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := python -m pip --disable-pip-version-check --quiet install -c constraints.txt
PIP := $(BIN)/$(INSTALL)
RECIPE := pyproject.toml constraints.txt

# One BLAS thread a worker: the tests run side by side.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST_ARGS ?= -n auto --maxprocesses 8 --dist worksteal --cov --cov-report=term --cov-fail-under=95
SUITE ?= paper-solver
OLDEST := $(VENV)/oldest
RELEASE := build/release

# The paper's data: ANMIN_DATA, or a folder beside the checkout; without, they are downloaded.
PAPER_DATA := $(or $(ANMIN_DATA),$(abspath $(wildcard ../shared/data/paper)))

.DEFAULT_GOAL := help
.PHONY: help demo test check test-oldest bench paper lint docs release clean

help:  ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/demo.done  ## Fit a shape drawn in code, print a table, write anmin-demo.png
	$(BIN)/anmin demo

test: $(VENV)/test.done  ## Run the tests and measure their coverage
	$(TEST_ENV) $(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/test.done  ## Run the fast tests, in less than a minute
	$(TEST_ENV) $(BIN)/python -m pytest tests -m 'not slow' -n auto --maxprocesses 8 --dist worksteal

test-oldest: $(OLDEST)/test.done  ## Run the tests with the oldest NumPy, SciPy and scikit-learn
	$(TEST_ENV) $(OLDEST)/bin/python -m pytest tests -n auto --maxprocesses 8 --no-cov

bench: $(VENV)/test.done  ## Time ours against the rivals (SUITE=..., see benchmarks/README.md)
	$(BIN)/python -m benchmarks --suite $(SUITE) --json bench-$(SUITE).json

paper: $(VENV)/paper.done  ## Reproduce the paper's tables and figures (QUICK=1: small, a few minutes)
	ANMIN_DATA='$(PAPER_DATA)' $(BIN)/python -m paper run $(if $(QUICK),--quick) $(PAPER_ARGS)

lint: $(VENV)/lint.done  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs.done  ## Run the examples and build the site in build/docs
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

# Each file is installed into a new environment, and the demo runs there, away from the checkout.
release: $(VENV)/release.done  ## Build wheel and sdist, check both, run the demo from each
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	for file in dist/*; do \
	  new=$(RELEASE)/$${file##*.} && $(PYTHON) -m venv $$new && \
	  $$new/bin/$(INSTALL) "$$file[cli,fast]" && \
	  (cd $$new && bin/anmin demo) || exit 1; \
	done
	@echo "Built, checked and tried:" && ls -l dist

clean:  ## Remove the environment and what the tools leave behind
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist docs/gallery

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "anmin needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -f $@; exit 1; }

# A stamp a set of extras: a second call installs nothing.
$(VENV)/demo.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[cli,fast]'
	@touch $@

$(VENV)/test.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[test,fast,torch,cli,parquet,dask,export,shapes]'
	@touch $@

$(VENV)/paper.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[paper,fast]'
	@touch $@

$(VENV)/lint.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/release.done: $(RECIPE) | $(BIN)/python
	$(PIP) build twine
	@touch $@

$(VENV)/docs.done: $(RECIPE) | $(BIN)/python
	$(PIP) -e '.[docs,fast,cli,parquet,dask,shapes]'
	@touch $@

$(OLDEST)/test.done: pyproject.toml constraints-oldest.txt | $(BIN)/python
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet install \
	  -c constraints-oldest.txt -e '.[test]'
	@touch $@
