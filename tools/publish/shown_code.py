"""What a slide shows of a cell of code: its listing, without what only formats, and what it printed, checks apart."""

import ast
import html
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tools.lessons import is_hidden, text
from tools.marks import CHECK, printed_by


def formats(node):
    """Whether a statement only formats, prints or checks."""
    if isinstance(node, (ast.For, ast.If)):
        rest = [one for one in node.body if not (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name))]
        return bool(rest) and all(map(formats, rest))
    call = node.items[0].context_expr if isinstance(node, ast.With) else getattr(node, "value", None)
    name = getattr(getattr(call, "func", None), "id", "")
    return isinstance(node, (ast.Expr, ast.With)) and name.startswith(("print", "check_", "not_counted"))


def listing(source):
    """The code of a cell without what only formats its numbers."""
    gone = {k for node in ast.parse(source).body if formats(node) for k in range(node.lineno - 1, node.end_lineno)}
    kept = "\n".join(line for k, line in enumerate(source.splitlines()) if k not in gone)
    return re.sub(r"\n{3,}", "\n\n", kept).strip("\n")


def found_by(printed):
    """What checks found, a line each, in words for a class; of a group the line that stands for all."""
    lines = [" ".join(found[0].split()) for found in CHECK.finditer(printed) if not found[0].startswith(" ")]
    jargon = r": (\d+ checks?$|(all \d+|both) values are between \S+ and \S+ (?=from )|\d+ values match, shape .*)"
    lines = [re.sub(jargon, ": ", line).removesuffix(": ") for line in lines]
    return [line.replace("PASS - ", "✓ ", 1).replace("FAIL - ", "✗ ", 1) for line in lines]


def code_of(cell):
    """(a cell's code and what it printed as HTML, lines of code); checks only where nothing else was printed."""
    source, printed = "" if is_hidden(cell) else listing(text(cell["source"])), printed_by(cell)
    words = CHECK.sub("", printed).strip("\n") or "\n".join(found_by(printed))
    colored = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip()
    made = [f'<pre class="code"><code>{colored}</code></pre>'] * bool(source)
    return made + [f'<pre class="printed">{html.escape(words)}</pre>'] * bool(words), len(source.splitlines())
