# Everything below sets itself up: a virtual environment in .venv, and others in .nox (noxfile.py), nothing elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NOX := $(BIN)/nox --reuse-existing-virtualenvs --session
CHECKED := src tests benchmarks scripts examples noxfile.py

.PHONY: docs demo test test-fast test-lowest browser-test pictures test-annif torture test-label-studio lint format bench peers reproduction image package clean

demo: $(VENV)/.installed
	@echo "the first run compiles the kernels that it needs: about half a minute, once"
	$(BIN)/neartag demo

# Two processes; the one that is ready first takes tests from the other. Byte code is kept even where the environment
# says otherwise: many tests start Python anew, and each time it would compile everything again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal

test: $(VENV)/.kernels
	$(PYTEST)

test-fast: $(VENV)/.kernels
	$(PYTEST) -m "not slow and not real"

# Fuzzed files, harmed folders, kills, full disks, rivals, odd requests; tests/torture says how. Five minutes unless
# TORTURE says otherwise: make torture TORTURE="--minutes 60 --seed 7", make torture TORTURE="kills --cases 500".
torture: $(VENV)/.kernels
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m torture $(TORTURE)

lint: $(VENV)/.lint
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py

# neartag beside other tools on the same data (benchmarks/README.md), in an environment of their own.
# PEERS passes options and names on: make peers PEERS="bibtex --repeat 1", make peers PEERS="--tuned --resume".
# The second command holds neartag against the best of them; it needs the labels that the first keeps.
peers: $(VENV)/.nox
	$(NOX) peers -- $(PEERS)

# The paper's tables and figures into docs/reproduction.md, going on from the results that are kept there (hours).
# REPRODUCE passes options on: make reproduction REPRODUCE="--only table3 --data bibtex"
reproduction: $(VENV)/.plot
	$(BIN)/neartag reproduce --out docs --results docs/reproduction/results $(REPRODUCE)

# The suite on the declared lower bounds, in an environment of its own.
test-lowest: $(VENV)/.nox
	$(NOX) lowest

# The server's page in Debian's Chromium, with screenshots. Chromium is installed where it is missing and may be.
browser-test: $(VENV)/.nox
	$(NOX) browser
	@echo "screenshots: $(CURDIR)/build/screenshots"

# The README's picture of the page: a model of the embedded corpus, a real server, Debian's Chromium.
pictures: $(VENV)/.nox
	$(NOX) browser -- scripts/page_picture.py docs/page.png

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "setting up neartag in $(VENV) with pip: about two minutes, once"
	$(BIN)/python -m pip install --disable-pip-version-check --editable ".[serve]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	@echo "adding the tests' tools to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,test,fuzz,mcp]"
	touch $@

$(VENV)/.kernels: scripts/compile_kernels.py src/neartag/core/jit.py $(shell find src -name "*kernels.py") | $(VENV)/.test
	@echo "compiling the kernels: half a minute, once and after each change in one of them"
	$(BIN)/python scripts/compile_kernels.py
	touch $@

$(VENV)/.nox: | $(VENV)/bin/python
	@echo "adding nox to $(VENV) with pip: some seconds, once, and silent"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nox
	touch $@

$(VENV)/.plot: $(VENV)/.installed
	@echo "adding matplotlib to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,plot]"
	touch $@

$(VENV)/.lint: $(VENV)/.installed
	@echo "adding the linters to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,lint]"
	touch $@

# The documentation site into build/site: open build/site/index.html. Links are checked, and the notebooks are run.
docs: $(VENV)/.nox
	$(NOX) docs
	@echo "the site: $(CURDIR)/build/site/index.html"

# The backend for Annif in a real Annif, in an environment of its own.
test-annif: $(VENV)/.nox
	$(NOX) annif

# The backend for Label Studio with Label Studio's own packages, of which one is on GitHub only.
test-label-studio: $(VENV)/.nox
	$(NOX) label_studio

# Wheel and source archive into dist/, and what must be true of them (RELEASING.md).
package: $(VENV)/.nox
	$(NOX) package

# The image of the Dockerfile, with docker or podman; IMAGE_FROM=packages makes the base from Debian's packages.
image:
	sh scripts/build_image.sh $(IMAGE_FROM)

clean:
	rm -rf $(VENV) .nox .pytest_cache .ruff_cache .mypy_cache .import_linter_cache dist build
