"""Formulas as HTML: typeset by KaTeX while pages are built, so that a page needs only its style sheet and fonts."""

from pathlib import Path

WEB = Path(__file__).resolve().parent / "web"
KATEX = WEB / "node_modules" / "katex" / "dist"


def typeset(formula, display, output="htmlAndMathml"):
    """HTML of a formula, with MathML inside for screen readers; "mathml" alone needs no style sheet."""
    from sphinxcontrib import katex

    katex.KaTeXServer.katex_path = KATEX / "katex.min.js"
    options = {"displayMode": display, "output": output, "throwOnError": True, "strict": "ignore"}
    return katex.render_latex(formula, options)
