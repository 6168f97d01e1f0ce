# `make` lists the commands. Each one first makes or refreshes what it needs: .venv from requirements.lock, extras and
# node modules. Paths are relative, so the repository may be moved, and may lie under a path with spaces.
.DEFAULT_GOAL := help
.PHONY: help lab reset test check lint notebooks grade site lite slides bundle lock test-browser test-everything
unexport PYTHONDONTWRITEBYTECODE # each command starts many processes, which start sooner with the bytecode kept

PYTHON ?= python3
RUN := .venv/bin/python
UV := .venv/bin/uv pip install --quiet
PUBLISH := tools/publish/web/node_modules
# A failing check raises, and each process computes with one thread. As many processes as there are cores.
PYTEST = HELPERS_STRICT=1 OMP_NUM_THREADS=1 $(RUN) -m pytest -n logical --maxprocesses=4
STORED = notebooks/$(LESSON)*.ipynb

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' Makefile

lab: .venv/locked ## open the lessons in JupyterLab (LAB_ARGS="--port=9999" passes options on)
	@$(RUN) -m tools.learner.lab $(LAB_ARGS)

reset: .venv/locked ## get a fresh copy of a lesson and keep your old one beside it (LESSON=02)
	@$(RUN) -m tools.learner.workbook reset "$(LESSON)"

test: .venv/locked ## the unit tests, then every cell of every lesson; stops early (LESSON=05, TEST_ARGS="-k rms")
	$(PYTEST) tests/helpers tests $$(ls -r $(STORED)) --maxfail=5 $(TEST_ARGS) # the shortest lessons last: no core waits

check: .venv/locked ## record one lesson if it has changed, and test all that it must keep (LESSON=05)
	@HELPERS_STRICT=1 OMP_NUM_THREADS=1 $(RUN) -m tools.author.check "$(LESSON)"

lint: .venv/locked ## ruff: rules and format, in .py and .ipynb
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

notebooks: .venv/locked ## run the lessons and store their outputs (LESSON=05)
	@$(RUN) -m tools.author.record $(STORED)
	@$(RUN) -m tools.author.lists

grade: .venv/locked ## run a folder of submitted notebooks and write a table (FOLDER=submissions)
	@$(RUN) -m tools.classroom.grade "$(FOLDER)" $(GRADE_ARGS)

site: .venv/site $(PUBLISH) ## the lessons as web pages in site/, which need no kernel and no network
	@$(RUN) -m tools.publish.site

lite: .venv-lite/made ## the lessons to run in a browser, in site/run/ (`make lite site`: with pages that lead there)
	@$(RUN) -m tools.publish.lite

slides: .venv/site $(PUBLISH) ## a deck for each lesson in site/slides/; names slides that are too full, where Chromium is
	@$(RUN) -m tools.publish.slides

bundle: tools/author/bundle/node_modules ## check the JavaScript of widgets and pages, and bundle it
	@cd tools/author/bundle && npm run --silent format && npm run --silent types && npm run --silent build

lock: .venv/locked ## resolve pyproject.toml into requirements.lock (LOCK_ARGS="--upgrade" takes new versions)
	@.venv/bin/uv pip compile pyproject.toml --extra author --universal --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header --quiet --output-file requirements.lock $(LOCK_ARGS)
	@echo "requirements.lock is resolved: git diff shows what changed, and the next command refreshes .venv"

test-browser: .venv/browser .venv/site .venv-lite/made $(PUBLISH) tests/browser/node_modules ## lessons, site and slides in Chromium (TEST_ARGS="-m smoke")
	$(PYTEST) tests/browser --maxprocesses=2 $(TEST_ARGS)

test-everything: .venv/torch .venv/class .venv/browsers .venv-lowest/made .venv-newest/made ## before a release, hours: all browsers' tests, processors, conclusions, oldest and newest packages
	EVERYTHING=1 $(PYTEST) tests tests/conclusions tests/robustness tests/classroom $(TEST_ARGS)
	for which in lowest newest; do HELPERS_STRICT=1 OMP_NUM_THREADS=1 .venv-$$which/bin/python -m pytest tests/helpers \
	notebooks -n logical --maxprocesses=4 -W ignore::DeprecationWarning $(TEST_ARGS) || exit 1; done
	EVERYTHING=1 $(MAKE) test-browser

# What the commands stand on; a file says that it was made, and is older than what it was made from if that changed.
.venv/locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Python 3.11 or newer is needed: \
	install it, or name one, as in make PYTHON=/path/to/python3 lab" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(RUN) -m pip install --quiet --disable-pip-version-check "uv>=0.9"
	.venv/bin/uv pip sync --quiet --require-hashes requirements.lock
	@touch $@

.venv/site .venv/browser .venv/browsers .venv/torch .venv/class: .venv/%: .venv/locked pyproject.toml
	$(UV) -r pyproject.toml --extra $*
	@touch $@

.venv-lite/made .venv-lowest/made .venv-newest/made: .venv-%/made: .venv/locked pyproject.toml
	.venv/bin/uv venv --quiet --clear --python $(RUN) .venv-$*
	$(UV) --python .venv-$* $(if $(filter lite,$*),--group lite,-r pyproject.toml) $(if $(filter lowest,$*),--resolution lowest-direct)
	@touch $@

%/node_modules: %/package-lock.json
	@command -v npm >/dev/null || { echo "This needs Node with npm: install it and run the command again." >&2; exit 1; }
	npm ci --silent --no-audit --no-fund --prefix $*
	@touch $@
