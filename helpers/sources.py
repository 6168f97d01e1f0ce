"""The JavaScript and CSS files of the widgets, as they are sent to the browser."""


def slim(path):
    """Text of a source file without its comment lines and indentation.

    Every widget stored in a notebook carries its own copy of the code: a lesson pays for each line many times.
    """
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*"))) + "\n"
