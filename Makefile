# `make` or `make help` lists the commands. Each one first creates or refreshes .venv if necessary.
# Paths are relative and programs are called as modules, so the repository can be moved, and can lie under a path
# with spaces.

.DEFAULT_GOAL := help
.PHONY: help env check lab reset test notebooks site lite picture slides teaching class assignment grade references bundle lint test-class test-lowest test-python test-browser test-anywhere test-everything mutants bench lock clean

ifeq ($(OS),Windows_NT)
BIN := Scripts
else
BIN := bin
endif
PY := .venv/$(BIN)/python

# The first of these that runs and is new enough is used. If all are too old, the first that runs says so.
# Name another with `make PYTHON=/path/to/python3 lab`.
PYTHONS := python3.13 python3.12 python3.11 python3.14 python3 python
FIND := python="$(PYTHON)"; \
	new='import sys; sys.exit(sys.version_info < (3, 11))'; \
	for p in $(PYTHONS); do [ -n "$$python" ] && break; "$$p" -c "$$new" </dev/null >/dev/null 2>&1 && python=$$p; done; \
	for p in python3 python; do [ -n "$$python" ] && break; "$$p" -c '' </dev/null >/dev/null 2>&1 && python=$$p; done; \
	if ! command -v "$$python" >/dev/null 2>&1; then \
	echo "No Python was found: install Python 3.11 or newer, or name one as in 'make PYTHON=/path/to/python3 lab'." >&2; \
	exit 1; fi;
# A Python that was named makes .venv again when another version made it; a Python that was found does not.
BOOTSTRAP := $(FIND) "$$python" tools/bootstrap.py $(if $(PYTHON),--this-python)

# Each command starts many processes. With the packages' bytecode kept (in .venv and in ignored folders), they start sooner;
# images for containers often forbid it.
unexport PYTHONDONTWRITEBYTECODE

NEED_NPM := command -v npm >/dev/null || { echo "This needs Node with npm: install it and run the command again." >&2; exit 1; }

LESSON ?=
LAB_ARGS ?=
TEST_ARGS ?=
NOTEBOOKS ?=
MUTANTS_ARGS ?=
SITE_ARGS ?=
LITE_ARGS ?=
TEACHING_ARGS ?=
SLIDES_ARGS ?=
FOLDER ?=
GRADE_ARGS ?=
ASSIGNMENT_ARGS ?=

# Unit, property and notebook tests in one call. Each notebook runs from top to bottom in one worker, in strict mode
# (a failing check raises), and every stored output is compared.
PYTEST := -m pytest tests notebooks --nbval --nbval-current-env --nbval-cell-timeout=60 \
	-n logical --maxprocesses=4 --dist loadscope
STRICT := HELPERS_STRICT=1 OMP_NUM_THREADS=1
# Those of them that another package or another Python could break; the others read texts of this repository.
OTHER := $(subst tests notebooks,$(addprefix tests/,helpers lessons/test_pictures.py lessons/test_12_bug_gallery.py \
	$(addprefix tools/test_,assignment.py grade.py record.py save.py workbook.py)) notebooks,$(PYTEST))
BROWSER_TESTS ?= tests/browser
# The oldest packages call functions that newer ones beneath them have deprecated; we cannot change that.
OLD := -W ignore::DeprecationWarning

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' Makefile

env: ## create .venv from requirements.lock, or refresh it when that has changed
	@$(BOOTSTRAP)

check: env ## test all rules for one lesson, in half a minute; records it if it has changed (LESSON=05)
	@$(STRICT) $(PY) -m tools.author.check "$(LESSON)"

lab: env ## open the lessons in JupyterLab (LAB_ARGS="--port=9999" passes options on)
	@$(PY) -m tools.learner.lab $(LAB_ARGS)

reset: env ## get a fresh copy of a lesson and keep your old one beside it (LESSON=02)
	@$(PY) -m tools.learner.workbook reset "$(LESSON)"

test: env ## all tests except those in a browser: helpers, tools, every cell of every notebook (TEST_ARGS="-k rms")
	$(STRICT) $(PY) $(PYTEST) $(TEST_ARGS)

notebooks: env ## run the lessons and store their outputs (NOTEBOOKS="notebooks/01_axis_intuition.ipynb")
	@$(PY) -m tools.author.record $(NOTEBOOKS)
	@$(PY) -m tools.author.lists

assignment: env ## a lesson's exercises for nbgrader, in assignments/ (LESSON=02; ASSIGNMENT_ARGS="--points 5")
	@$(PY) -m tools.classroom.assignment "$(LESSON)" $(ASSIGNMENT_ARGS)

grade: env ## run a folder of submitted notebooks and write a table, without nbgrader (FOLDER=submissions)
	@$(PY) -m tools.classroom.grade "$(FOLDER)" $(GRADE_ARGS)

references: env ## run the frameworks of lesson 13 and store what they answer (UV_TORCH_BACKEND=cpu: PyTorch without CUDA)
	@$(FIND) "$$python" tools/bootstrap.py --extra frameworks
	@$(PY) -m tools.author.references

site: env ## the lessons as web pages in site/, which need no kernel and no network (needs Node)
	@$(NEED_NPM)
	@$(BOOTSTRAP) --extra site
	@cd tools/publish/web && npm ci --silent --no-audit --no-fund
	@$(PY) -m tools.publish.site $(SITE_ARGS)

lite: env ## the lessons to run in a browser, in site/run/ (`make lite site`: with pages that lead there; PYODIDE_DIST=folder)
	@$(PY) tools/bootstrap.py --lite
	@$(PY) -m tools.publish.lite $(LITE_ARGS)

picture: site ## README's picture, taken from the site (needs Node and Chromium)
	@$(BOOTSTRAP) --extra browser
	@$(PY) -m tools.author.picture

teaching: env ## a page for the teacher and a printable handout for each lesson, in teaching/ (needs Node)
	@$(NEED_NPM)
	@cd tools/publish/web && npm ci --silent --no-audit --no-fund
	@$(PY) -m tools.publish.teaching $(TEACHING_ARGS)

slides: env ## a deck of slides for each lesson in site/slides/, with interactive explorers and questions (needs Node)
	@$(NEED_NPM)
	@cd tools/publish/web && npm ci --silent --no-audit --no-fund
	@$(PY) -m tools.publish.slides $(SLIDES_ARGS)

class: env ## a JupyterHub for a class, for trial (CLASS_REPOSITORY=... CLASS_PASSWORD=..., see tools/classroom/hub/README.md)
	@$(NEED_NPM)
	@$(BOOTSTRAP) --extra class
	@cd tools/classroom/hub && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; }
	@$(PY) -m jupyterhub --config tools/classroom/hub/jupyterhub_config.py

bundle: ## check the JavaScript of widgets, site and JupyterLab's extension, and bundle it (needs Node)
	@$(NEED_NPM)
	@cd tools/author/bundle && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; }
	@cd tools/author/bundle && npm run --silent format && npm run --silent types && npm run --silent build

lint: env ## ruff: rules and format, in .py and .ipynb
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

test-lowest: env ## the tests that depend on packages, with the oldest that pyproject.toml allows
	@$(BOOTSTRAP) --lowest
	$(STRICT) .venv-lowest/$(BIN)/python $(OTHER) $(OLD) $(TEST_ARGS)

test-python: env ## the tests that another Python could fail, after `make test` has run (PYTHON=/path/to/python3)
	$(STRICT) $(PY) $(OTHER) $(TEST_ARGS)

test-browser: env ## lessons in a real JupyterLab and Chromium (needs Chromium and Node; BROWSER_TESTS=a file)
	@$(BOOTSTRAP) --extra browser
	@$(BOOTSTRAP) --extra site
	@$(PY) tools/bootstrap.py --lite
	@if [ -f tests/browser/package.json ]; then cd tests/browser && npm ci --no-audit --no-fund; fi
	@if [ -f tools/publish/web/package.json ]; then cd tools/publish/web && npm ci --silent --no-audit --no-fund; fi
	$(STRICT) $(PY) -m pytest $(BROWSER_TESTS) -n 2 $(TEST_ARGS)

mutants: env ## change the helpers one thing at a time; a test must fail (MUTANTS_ARGS="norms checks")
	@$(FIND) "$$python" tools/bootstrap.py --extra mutants
	@$(STRICT) $(PY) tests/mutants.py $(MUTANTS_ARGS)

test-anywhere: env ## lessons in unusual conditions: another processor, folder, order, executor; no network, read-only
	$(STRICT) $(PY) -m pytest tests/robustness -n logical --maxprocesses=4 --dist worksteal $(TEST_ARGS)

test-everything: env ## the tests that take an hour: every lesson in every condition and browser test, all processors, all conclusions
	EVERYTHING=1 $(STRICT) $(PY) -m pytest tests/conclusions $(TEST_ARGS)
	EVERYTHING=1 $(STRICT) $(PY) -m pytest tests/robustness tests/test_security.py tests/tools/test_save.py \
	tests/tools/test_record.py tests/lessons/test_pictures.py -n logical --maxprocesses=4 --dist worksteal $(TEST_ARGS)
	EVERYTHING=1 $(MAKE) test-browser test-class

test-class: env ## a class of three scripted students on a JupyterHub, and their assignments (needs Node and git)
	@$(BOOTSTRAP) --extra class
	@$(BOOTSTRAP) --extra nbgrader
	@if [ -f tools/classroom/hub/package.json ]; then cd tools/classroom/hub && npm ci --silent --no-audit --no-fund; fi
	$(STRICT) $(PY) -m pytest tests/classroom tests/tools/test_class.py -n 2 --dist loadscope $(TEST_ARGS)

bench: env ## measure the speeds and sizes that the lessons promise; stores nothing
	@OMP_NUM_THREADS=1 $(PY) -m tools.author.bench

lock: env ## resolve pyproject.toml into requirements.lock (LOCK_ARGS="--upgrade" takes new versions)
	@$(PY) -m uv pip compile pyproject.toml --extra author --universal --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock $(LOCK_ARGS)

clean: ## remove environments and caches; workbook/ stays
	rm -rf .venv .venv-lite .venv-lowest .venv-newest .pytest_cache .hypothesis .ruff_cache mutants site teaching
	rm -rf tools/author/bundle/node_modules tests/browser/node_modules tools/publish/web/node_modules tools/classroom/hub/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
