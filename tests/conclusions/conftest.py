"""After a run: the table of conclusions."""

from tests.conclusions.conclusion import table


def pytest_terminal_summary(terminalreporter):
    """The reports carry the results, so that it makes no difference in which process a test ran."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    properties = [property for report in reports if report.when == "call" for property in report.user_properties]
    results = [value for name, value in properties if name == "conclusion"]
    if not results:
        return
    terminalreporter.section("conclusions")
    for line in table(results):
        terminalreporter.write_line(line)
