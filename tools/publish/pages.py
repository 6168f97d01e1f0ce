"""What site and slides share: the templates in web/, Markdown with formulas, and the command."""

import functools
import json
import shutil
import sys
import time
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.lessons import LessonError
from tools.publish.replace_folder import NotOurs
from tools.publish.typeset import KATEX, WEB


class PublishError(Exception):
    """Ends the program with one sentence."""


@functools.cache
def environment():
    loader = FileSystemLoader(WEB)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def fill(template, **known):
    """A template of web/ with what it asks for; what is no Markup is escaped."""
    return environment().get_template(template).render(**known)


def reader(formula, **options):
    """A reader of Markdown; `formula(words, display)` gives the HTML of a formula."""
    parser = MarkdownIt("commonmark", options).enable("table")
    rendered = {"renderer": lambda words, how: formula(words, how["display_mode"])}
    return parser.use(dollarmath_plugin, **rendered)


def copy_katex(folder):
    """Put the style sheet and the fonts that typeset formulas need into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(KATEX / "katex.min.css", folder)
    shutil.copytree(KATEX / "fonts", folder / "fonts", ignore=shutil.ignore_patterns("*.woff", "*.ttf"))


def known_questions():
    """A line of JavaScript with what it takes to judge the answers that a browser keeps."""
    from helpers.widgets.quiz.questions import all_lessons, answer_keys

    return f"globalThis.normalizationLessons = {json.dumps(list(map(answer_keys, all_lessons())))};\n"


def run(build, options):
    """Build into `options.out`, say what was made and where; the exit code."""
    began = time.monotonic()
    try:
        made = build(options)
    except (PublishError, NotOurs, LessonError) as reason:
        print(reason, file=sys.stderr)
        return 1
    print(f"{made} in {time.monotonic() - began:.0f} s: open {Path(options.out) / 'index.html'}")
    return 0
