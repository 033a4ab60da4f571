# Everything below sets itself up: a virtual environment of its own in .venv, nothing installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: docs demo test test-fast test-lowest browser-test pictures test-annif lint format bench peers reproduction clean

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

lint: $(VENV)/.lint
	$(BIN)/ruff check src tests benchmarks scripts examples
	$(BIN)/ruff format --check src tests benchmarks scripts examples
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint
	$(BIN)/ruff check --fix src tests benchmarks scripts examples
	$(BIN)/ruff format src tests benchmarks scripts examples

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py

# neartag beside other tools on the same data (benchmarks/README.md), in an environment of their own.
# PEERS passes options and names on: make peers PEERS="bibtex --repeat 1", make peers PEERS="--tuned --resume".
# The second command holds neartag against the best of them; it needs the labels that the first keeps.
peers: .venv-peers/.installed
	.venv-peers/bin/python benchmarks/peers.py --write $(PEERS)
	-.venv-peers/bin/python benchmarks/refined.py --write $(filter --tuned,$(PEERS))

# The paper's tables and figures into docs/reproduction.md, going on from the results that are kept there (hours).
# REPRODUCE passes options on: make reproduction REPRODUCE="--only table3 --data bibtex"
reproduction: $(VENV)/.plot
	$(BIN)/neartag reproduce --out docs --results docs/reproduction/results $(REPRODUCE)

# The suite on the declared lower bounds, in an environment of its own.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -q -m "not slow"

# The server's page in Debian's Chromium, with screenshots. Chromium is installed where it is missing and may be.
browser-test: .venv-browser/.installed
	sh scripts/need_chromium.sh
	.venv-browser/bin/python -m pytest -q tests/browser
	@echo "screenshots: $(CURDIR)/build/screenshots"

# The README's picture of the page: a model of the embedded corpus, a real server, Debian's Chromium.
pictures: .venv-browser/.installed
	sh scripts/need_chromium.sh
	.venv-browser/bin/python scripts/page_picture.py docs/page.png

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "setting up neartag in $(VENV) with pip: about two minutes, once"
	$(BIN)/python -m pip install --disable-pip-version-check --editable ".[serve]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	@echo "adding the tests' tools to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,test,fuzz]"
	touch $@

$(VENV)/.kernels: scripts/compile_kernels.py src/neartag/core/jit.py $(shell find src -name "*kernels.py") | $(VENV)/.test
	@echo "compiling the kernels: half a minute, once and after each change in one of them"
	$(BIN)/python scripts/compile_kernels.py
	touch $@

$(VENV)/.plot: $(VENV)/.installed
	@echo "adding matplotlib to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,plot]"
	touch $@

$(VENV)/.lint: $(VENV)/.installed
	@echo "adding the linters to $(VENV) with pip: a minute or two, once, and silent"
	$(BIN)/python -m pip install --quiet --editable ".[serve,lint]"
	touch $@

.venv-lowest/.installed: pyproject.toml scripts/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) scripts/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable ".[test]"
	touch $@

.venv-browser/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-browser
	.venv-browser/bin/python -m pip install --quiet --editable ".[serve,test,browser]"
	touch $@

# Where libpecos or libmultilabel does not install (the latter needs a C++ compiler), the others are measured without it.
.venv-peers/.installed: pyproject.toml benchmarks/peers-requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers-requirements.txt --editable .
	-.venv-peers/bin/python -m pip install --quiet --no-deps libpecos==1.2.8
	-.venv-peers/bin/python -m pip install --quiet --constraint benchmarks/peers-requirements.txt libmultilabel==0.10.0
	touch $@

# The documentation site into build/site: open build/site/index.html. Links are checked, and the notebooks are run.
docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet
	@echo "the site: $(CURDIR)/build/site/index.html"

.venv-docs/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --editable ".[serve,docs]"
	touch $@

# The example backend in a real Annif, in an environment of its own.
test-annif: .venv-annif/.installed
	.venv-annif/bin/python -m pytest -q examples/annif_backend

.venv-annif/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-annif
	.venv-annif/bin/python -m pip install --quiet annif pytest pytest-timeout --editable .
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-peers .venv-browser .venv-annif .venv-docs .pytest_cache .ruff_cache .mypy_cache .import_linter_cache dist build
