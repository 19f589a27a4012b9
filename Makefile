# Two commands do everything on a machine that has python3, pip and make:
#   make demo   train on embedded data, print a table and the certificate, write plots and a page
#   make test   lint, types and tests
# Both create .venv if need be and install into it only when pyproject.toml or constraints.txt have changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
DEMO := demo-output
BOUNDSCHECK := tests/structures tests/scoring tests/estimators/test_estimators.py tests/estimators/test_chunks.py \
	tests/estimators/test_empty_inputs.py tests/estimators/test_tree_parser.py tests/estimators/test_cut_segmenter.py \
	tests/solvers/test_solvers.py tests/tagging tests/alignment/test_aligner.py tests/core/test_bounds.py

.PHONY: demo test lint types tests coverage boundscheck torture kernels docs docs-serve dist matrix bench clean

demo: $(VENV)/.installed
	$(BIN)/structlearn demo --out $(DEMO)

test: lint types tests

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

# By file: tests of one file share compiled kernels, and what they prepare for all. In one and the same order,
# so that a failure is one of the change at hand; `pytest` alone, and `make torture`, take them in another each time.
tests: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist loadfile --randomly-seed=0

# Lines and branches of Python that tests reach; compiled kernels, which no tool of Python sees, are left out.
coverage: $(VENV)/.installed-test
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -n 2 --dist loadfile --randomly-seed=0 $(TESTS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

# Kernels that check every index, compiled into a cache of their own: slow the first time.
boundscheck: $(VENV)/.installed-test
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(BOUNDSCHECK)

# Random fits whose certificates are computed again, damaged files (N fits, half as many files), the tests that
# `make test` leaves out because others try the same with fewer cases, and properties on examples that are new.
N ?= 10000
torture: $(VENV)/.installed-test
	$(BIN)/python -m tests.torture -n $(N)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "long or hypothesis" --hypothesis-profile=explore

# A wheel of compiled kernels, for those who install it beside the package: of all tasks, or of TASKS.
kernels: $(VENV)/.installed
	$(BIN)/python packaging/kernels/build.py $(TASKS) --out dist

# The site, warnings as errors, names of the reference afresh; its pages' blocks are run first, the chapters and the gallery by the build itself.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m pytest -q -m "long or not long" tests/pages
	rm -rf docs/api
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs site

docs-serve: docs
	$(BIN)/python -m http.server --directory site --bind 127.0.0.1 8000

# An sdist and a wheel, the wheel installed and tried in an empty environment.
dist: $(VENV)/.installed-test
	$(BIN)/python -m pip --disable-pip-version-check install --quiet build
	rm -rf dist build
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt "$$(echo dist/*.whl)[shell]"
	build/empty/bin/python packaging/smoke.py

# The oldest and the newest libraries, with every Python that is installed.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
LIBRARIES ?= oldest newest
matrix:
	$(PYTHON) packaging/matrix.py --pythons $(PYTHONS) --libraries $(LIBRARIES)

# All benchmarks of the folder, whose results are data (benchmarks/results) and become tables; QUICK=1 for ten minutes' worth.
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/report.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e ".[shell]"
	@touch $@

$(VENV)/.installed-test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e ".[test]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e ".[test,docs]"
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

clean:
	rm -rf site docs/api docs/chapters docs/gallery $(VENV) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache
