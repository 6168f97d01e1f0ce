# `make` or `make help` lists the commands. Each one first creates or refreshes .venv if necessary.
# Paths are relative and programs are called as modules, so the repository can be moved, and can lie under a path
# with spaces.

.DEFAULT_GOAL := help
.PHONY: help env lab reset test notebooks lesson site slides teaching class assignment grade references lint test-class test-lowest test-browser test-anywhere mutants bench lock clean

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
# A Python that was named makes .venv anew when another version made it; a Python that was found does not.
BOOTSTRAP := $(FIND) "$$python" tools/bootstrap.py $(if $(PYTHON),--this-python)

# Each command starts many processes. With the packages' bytecode kept (in .venv and in ignored folders), they start sooner;
# images for containers often forbid it.
unexport PYTHONDONTWRITEBYTECODE

NEED_NPM := command -v npm >/dev/null || { echo "This needs Node with npm: install it and run the command again." >&2; exit 1; }

LESSON ?=
NAME ?=
LAB_ARGS ?=
TEST_ARGS ?=
NOTEBOOKS ?=
MUTANTS_ARGS ?=
REFERENCES_ARGS ?=
SITE_ARGS ?=
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
# The oldest packages call functions that newer ones beneath them have deprecated; we cannot change that.
OLD := -W ignore::DeprecationWarning

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' Makefile

env: ## create .venv from requirements.lock, or refresh it when that has changed
	@$(BOOTSTRAP)

lab: env ## open the lessons in JupyterLab (LAB_ARGS="--port=9999" passes options on)
	@$(PY) tools/lab.py $(LAB_ARGS)

reset: env ## get a fresh copy of a lesson and keep your old one beside it (LESSON=02)
	@$(PY) tools/workbook.py reset "$(LESSON)"

test: env ## all tests except those in a browser: helpers, tools, and every cell of every notebook
	$(STRICT) $(PY) $(PYTEST) $(TEST_ARGS)

notebooks: env ## run the lessons and store their outputs (NOTEBOOKS="notebooks/01_axis_intuition.ipynb")
	@$(PY) tools/record.py $(NOTEBOOKS)
	@$(PY) tools/lesson.py

lesson: env ## begin a lesson: a notebook with every part, its questions, its exercises (NAME=04_layer_norm)
	@$(PY) tools/lesson.py "$(NAME)"

assignment: env ## a lesson's exercises for nbgrader, in assignments/ (LESSON=02; ASSIGNMENT_ARGS="--points 5")
	@$(PY) tools/assignment.py "$(LESSON)" $(ASSIGNMENT_ARGS)

grade: env ## run a folder of submitted notebooks and write a table, without nbgrader (FOLDER=submissions)
	@$(PY) tools/grade.py "$(FOLDER)" $(GRADE_ARGS)

references: env ## run the frameworks of lesson 13 and store what they answer (UV_TORCH_BACKEND=cpu: PyTorch without CUDA)
	@$(FIND) "$$python" tools/bootstrap.py --extra frameworks
	@$(PY) tools/references.py $(REFERENCES_ARGS)

site: env ## the lessons as web pages in site/, which need no kernel and no network (needs Node)
	@$(NEED_NPM)
	@$(BOOTSTRAP) --extra site
	@cd tools/web && npm ci --silent --no-audit --no-fund
	@$(PY) tools/build_site.py $(SITE_ARGS)

teaching: env ## a page for the teacher and a printable handout for each lesson, in teaching/ (needs Node)
	@$(NEED_NPM)
	@cd tools/web && npm ci --silent --no-audit --no-fund
	@$(PY) tools/teaching.py $(TEACHING_ARGS)

slides: env ## a deck of slides for each lesson in site/slides/, explorers and questions alive (needs Node)
	@$(NEED_NPM)
	@cd tools/web && npm ci --silent --no-audit --no-fund
	@$(PY) tools/build_slides.py $(SLIDES_ARGS)

class: env ## a JupyterHub for a class, for trial (CLASS_REPOSITORY=... CLASS_PASSWORD=..., see class/README.md)
	@$(NEED_NPM)
	@$(BOOTSTRAP) --extra class
	@cd class && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; }
	@$(PY) -m jupyterhub --config class/jupyterhub_config.py

lint: env ## ruff: rules and format, in .py and .ipynb
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

test-lowest: env ## the same tests with the oldest packages that pyproject.toml allows
	@$(BOOTSTRAP) --lowest
	$(STRICT) .venv-lowest/$(BIN)/python $(PYTEST) $(OLD) $(TEST_ARGS)

test-browser: env ## lessons in a real JupyterLab and Chromium (needs Chromium and Node)
	@$(BOOTSTRAP) --extra browser
	@$(BOOTSTRAP) --extra site
	@if [ -f tests/browser/package.json ]; then cd tests/browser && npm ci --no-audit --no-fund; fi
	@if [ -f tools/web/package.json ]; then cd tools/web && npm ci --silent --no-audit --no-fund; fi
	$(STRICT) $(PY) -m pytest tests/browser -n 2 $(TEST_ARGS)

mutants: env ## change the helpers one thing at a time; a test must fail (MUTANTS_ARGS="norms checks")
	@$(FIND) "$$python" tools/bootstrap.py --extra mutants
	@$(STRICT) $(PY) tests/mutants.py $(MUTANTS_ARGS)

test-anywhere: env ## lessons in unusual conditions: other folders, orders, executors; no network, read-only
	EVERY_LESSON=1 $(STRICT) $(PY) -m pytest tests/anywhere tests/test_security.py tests/test_save.py tests/test_record.py \
	tests/test_pictures.py -n logical --maxprocesses=4 --dist worksteal $(TEST_ARGS)

test-class: env ## a class of three scripted students on a JupyterHub, and their assignments (needs Node and git)
	@$(BOOTSTRAP) --extra class
	@$(BOOTSTRAP) --extra nbgrader
	@if [ -f class/package.json ]; then cd class && npm ci --silent --no-audit --no-fund; fi
	$(STRICT) $(PY) -m pytest tests/classroom tests/test_class.py $(TEST_ARGS)

bench: env ## measure the speeds and sizes that the lessons promise; stores nothing
	@OMP_NUM_THREADS=1 $(PY) tools/bench.py $(BENCH_ARGS)

lock: env ## resolve pyproject.toml into requirements.lock (LOCK_ARGS="--upgrade" takes new versions)
	@$(PY) -m uv pip compile pyproject.toml --extra author --universal --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock $(LOCK_ARGS)

clean: ## remove environments and caches; workbook/ stays
	rm -rf .venv .venv-lowest .venv-newest .pytest_cache .hypothesis .ruff_cache mutants site teaching
	rm -rf tests/browser/node_modules tools/web/node_modules class/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
