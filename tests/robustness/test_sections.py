"""After a restart in mid-lesson a learner runs the setup cell and any section, or is told which name is missing."""

import matplotlib

from helpers import checks
from tests.shared import every_lesson, everything, read


def sections_of(cells):
    """The code cells of each part that a heading begins, without the count of all checks at the end."""
    parts = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and "\n## " in f"\n{cell.source}":
            parts.append([])
        elif cell.cell_type == "code" and cell.source.strip() != "summary()":
            parts[-1].append(cell.source)
    return [part for part in parts[1:] if part]


def run_or_name_what_is_missing(cells):
    """Run all cells, and pass every check; only a name that an earlier section makes may be missing."""
    namespace = {"__name__": "lesson"}
    for source in cells:
        try:
            exec(source, namespace)
        except Exception as error:
            missing = error if isinstance(error, NameError) else error.__cause__  # what an Explorer passes on
            assert isinstance(missing, NameError) or "is not defined" in str(error), (source, error)
            return


@everything
@every_lesson
def test_any_section_runs_after_a_restart(lesson, monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    matplotlib.use("agg")
    cells = read(lesson).cells
    setup = next(cell.source for cell in cells if cell.cell_type == "code")
    for part in sections_of(cells):
        checks.reset()
        run_or_name_what_is_missing([setup, *part])
