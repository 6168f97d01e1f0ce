"""A NameError in a lesson says what to run first. jupyter/startup.py installs this in every kernel."""

ADVICE = "If a cell further up makes `{}`, choose Run > Run All Above Selected Cell, then run this cell again."


def name_missing_in_a_cell(error, namespace):
    """The name that the notebook's own code misses, also when an Explorer passes the error on; or None."""
    missing = error if isinstance(error, NameError) else error.__cause__
    if not isinstance(missing, NameError) or isinstance(missing, UnboundLocalError):
        return None
    place = missing.__traceback__
    while place.tb_next:
        place = place.tb_next
    return missing.name if place.tb_frame.f_globals is namespace else None


def install(shell):
    """Let such errors end in our sentence; they are shown in full as before."""

    def handler(shell, kind, error, trace, tb_offset=None):
        name = name_missing_in_a_cell(error, shell.user_ns)
        if name and not hasattr(error, "__notes__"):
            error.add_note(ADVICE.format(name))
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((NameError, ValueError), handler)
