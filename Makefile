# make run    sets up and answers three questions about a recorded training step, each by a table and a picture in out/
# make test   sets up and runs lint, types, tests, doctests, notebooks and the code of the docs
# make coverage   runs the tests and says which lines of Python none of them reaches; fails below 90 % (pages in out/coverage/html)
# make docs   builds the site into out/docs, with every notebook run; begin at out/docs/index.html
# make dist   builds the sdist and wheels into dist/, and tests them in clean environments (PYTHONS="python3.11 python3.13": for these)
# make lowest tests the core and every extra with the oldest libraries that are supported (tests/lowest.txt)
# make sanitize   runs the tests of the compiled module, the planners and the engines under ASan and UBSan, the executor under TSan (build/sanitize, build/threads)
PYTHON ?= python3
PYTHONS ?= $(PYTHON)
VENV   ?= .venv
BIN    := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard simsched/native/*.?pp simsched/native/*.inl simsched/native/*.cmake)
SAMPLES := traces/samples
STEP := $(SAMPLES)/lstm4.kineto.json.gz --execution-trace $(SAMPLES)/lstm4.et.json.gz
, := ,

# Thousands of tests start Python, which, where this is set, would compile the same files each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test suite lint types coverage docs dist lowest sanitize clean
.DELETE_ON_ERROR:

# $(call ask,QUESTION,ARGUMENTS,PICTURE): a question, the command that answers it, its answer and where its picture is.
define ask
	@printf '\n%s\n\n$$ simsched %s\n\n' '$(1)' '$(strip $(2))'
	@$(BIN)/simsched $(strip $(2))
	@printf 'picture: %s\n' '$(3)'
endef

run: $(VENV)/ready-all
	@mkdir -p out
	$(call ask,1. Which policy? A recorded training step of an LSTM on a Knights Landing with 68 cores,\
	  compare $(STEP) -m knl-7250 -p sequential -p fifo -p critical-path -p corun --out out/policies,out/policies/comparison.png)
	$(call ask,2. How many cores? The same step on fewer and more of them,\
	  predict $(STEP) -m knl-7250 --cores 16$(,)34$(,)68$(,)136 --out out/cores.png,out/cores.png)
	$(call ask,3. Which chip? The same step on six of them,\
	  machines $(STEP) grace a64fx epyc-9654x2 xeon-8470 graviton4 knl-7250 --out out/chips.png,out/chips.png)
	@printf '\nout/policies also has Gantt charts (*.png) and Chrome traces (*.trace.json.gz), which open in https://ui.perfetto.dev.\n'

# Lint and types run beside the tests, some of which wait for a browser, a process or a kernel: one worker more than cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)' 2>/dev/null || echo auto)

test:
	@$(MAKE) --no-print-directory --jobs suite types lint

suite: $(VENV)/ready-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests simsched

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror simsched/native/*.cpp simsched/native/*.hpp

types: $(VENV)/ready-dev
	$(BIN)/mypy

coverage: $(VENV)/ready-dev
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term --cov-report=html:out/coverage/html tests simsched

docs: $(VENV)/ready-docs
	$(BIN)/python -m sphinx -W --keep-going -c docs . out/docs

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "simsched needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv module is missing; on Debian: apt install python3-venv"; exit 1; }

# One stamp an extra: what is installed is what the goal needs, and again when the build changes.
$(VENV)/ready-%: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

dist:
	PYTHONS='$(PYTHONS)' tests/dist.sh

# pip installs what is here, as a user would: the tests see no sources.
lowest:
	rm -rf build/lowest
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c tests/lowest.txt '.[test]'
	tests/installed.sh . build/lowest/bin/python \
	  cli plots panel exact study sweep traces execute/kernels browser/test_jupyterlab.py docs/test_site.py

sanitize:
	PYTHON=$(PYTHON) tests/native/sanitize.sh -q
	tests/native/threads.sh

clean:
	rm -rf $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
