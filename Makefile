# One way in: every target sets up what it needs, and a second run does not reinstall.
# Without PYTHON=…: the interpreter of an existing $(VENV), else the fastest build of python3's version (tools/fastest_python.py).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# What running needs; of .ready a part, so that `make test` serves both.
USABLE := $(if $(wildcard $(READY)),$(READY),$(VENV)/.usable)

.PHONY: up test browser check format bench docs docs-serve constraints clean

up: $(USABLE)
	@$(BIN)/proreus up $(ARGS)

test: check browser
	$(BIN)/python -m pytest -n $${PYTEST_WORKERS:-3} --dist worksteal

browser: $(READY)
	@$(BIN)/python tools/browser.py

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

# The documentation, as a site in build/docs. A warning, such as a link that leads nowhere, is an error.
MKDOCS   = NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
DIAGRAMS := build/mermaid/mermaid.min.js

docs: $(READY) $(DIAGRAMS)
	$(MKDOCS) build

docs-serve: $(READY) $(DIAGRAMS)
	$(MKDOCS) serve

$(DIAGRAMS):
	@mkdir -p $(@D)
	@cd $(@D) && npm pack --silent mermaid@11 >/dev/null 2>&1 \
	  && tar xzf mermaid-11*.tgz --strip-components=2 package/dist/mermaid.min.js && rm mermaid-11*.tgz && touch $(@F) \
	  || echo "mermaid could not be had from npm: diagrams are shown as their text"

# The pins are hashes of what was tested; no registry host is written down, pip's own setting decides.
MADE_OF := hatch_build.py hatch_kinds.py src/proreus/server/schema/enums_and_defaults.json \
           src/proreus/client/resources/builtin_table.py

$(READY): constraints.txt pyproject.toml $(MADE_OF)
	@$(SET_UP) constraints.txt
	@touch $@

$(VENV)/.usable: constraints-runtime.txt pyproject.toml $(MADE_OF)
	@$(SET_UP) constraints-runtime.txt
	@touch $@

SET_UP = command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not here: install Python 3.11 or newer" >&2; exit 1; }; \
         $(BUILD) tools/set_up.py $(VENV)
CHOSEN = $(or $(wildcard $(BIN)/python),$$($(PYTHON) tools/fastest_python.py || echo $(PYTHON)))
BUILD  = $(if $(filter file,$(origin PYTHON)),$(CHOSEN),$(PYTHON))

# Needs uv; UPGRADE=--upgrade writes the newest versions that fit pyproject.toml.
COMPILE = uv pip compile --python-version 3.11 --group build --generate-hashes --no-emit-index-url --no-header --quiet
constraints:
	$(COMPILE) --all-extras $(UPGRADE) pyproject.toml -o constraints.txt
	$(COMPILE) --extra cel --extra fast --constraint constraints.txt pyproject.toml -o constraints-runtime.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
