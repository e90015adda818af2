# One way in: every target sets up what it needs, and a second run does not reinstall.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: up test check format bench constraints clean

up: $(READY)
	$(BIN)/proreus up $(ARGS)

test: check
	$(BIN)/python -m pytest -n $${PYTEST_WORKERS:-3} --dist worksteal

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m benchmarks

# The pins are hashes of what was tested; no registry host is written down, pip's own setting decides.
MADE_OF := hatch_build.py hatch_kinds.py src/proreus/server/schema/enums_and_defaults.json \
           src/proreus/client/resources/builtin_table.py

$(READY): constraints.txt pyproject.toml $(MADE_OF)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

# Needs uv; writes the newest versions that fit pyproject.toml.
constraints:
	uv pip compile --python-version 3.11 --all-extras --generate-hashes --no-emit-index-url --no-header --quiet --upgrade pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
