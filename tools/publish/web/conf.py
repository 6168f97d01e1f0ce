"""Sphinx's settings for the reading site, and the few things that its extensions do otherwise.

`tools/publish/site.py` writes the pages and calls Sphinx with this folder's settings.
"""

import html
import os
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinxcontrib import katex

from tools.publish.typeset import KATEX

HERE = Path(__file__).resolve().parent

project = "Normalization Notebooks"
html_title = project
extensions = ["myst_nb", "sphinxcontrib.katex"]
exclude_patterns = ["_static"]
templates_path = [str(HERE / "templates")]
# The terms of the glossary are headings of the third level under the first.
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]

nb_execution_mode = "off"
nb_ipywidgets_js = {}  # host.js shows the widgets
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# Formulas are typeset here; a formula that KaTeX cannot read ends the build.
katex_prerender = True
katex_js_path = str(KATEX / "katex.min.js")
katex_css_path = "katex/katex.min.css"
katex.KATEX_DEFAULT_OPTIONS.update(throwOnError=True, strict="ignore")

html_theme = "sphinx_book_theme"
html_static_path = [str(HERE / "static"), os.environ["SITE_STATIC"]]
html_css_files = ["theme.css", "host.css", "site.css"]
html_js_files = [("host.js", {"defer": "defer"})]
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": project},
    "search_bar_text": "Search the lessons",
    "toc_title": "On this page",
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "use_download_button": False,  # each lesson has a link of its own, to the notebook as a learner gets it
    "use_fullscreen_button": False,
    "navigation_with_keys": False,  # arrow keys belong to the sliders
    "navbar_persistent": [],  # no upper bar: its buttons stand above the text already
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_content_items": [],
}


def visit_fold(translator, node):
    translator.body.append(f'<details class="fold"><summary>{html.escape(node["prompt_show"])}</summary>\n')


def depart_fold(translator, node):
    translator.body.append("</details>\n")


def hide_from_search(app, doctree, docname):
    """The search finds no hint, no solution, no model answer, and nothing that answers a prediction."""
    for node in doctree.findall(nodes.Element):
        inside = False  # whether this child stands between the two ends of a fold
        for child in node.children:
            marks = child.astext() if isinstance(child, nodes.raw) else ""
            opens, closes = "<details" in marks and 'class="deeper"' not in marks, "</details" in marks
            if isinstance(child, HideCodeCellNode) or (opens if closes else inside):
                child["classes"].append("no-search")
            inside = (inside or opens) and not closes


def setup(app):
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_fold))
    app.connect("doctree-resolved", hide_from_search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
