"""Begin a lesson, and keep the two lists of lessons, README's table and the map in lesson 00, equal to their titles.

python -m tools.author.new_lesson 04_layer_norm    a new lesson with every part, made from the texts in templates/
python -m tools.author.new_lesson                  only write the two lists again
"""

import re
import sys
from pathlib import Path

import nbformat

from tools.author import record
from tools.lessons import all_lessons

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent / "templates"
MARKS = "<!-- lessons: made by make notebooks -->\n\n", "\n<!-- end of lessons -->"
QUESTION = """
[[question]]
key = "{key}"
kind = "{kind}"
prompt = "TODO: what is the mean of 1, 2, 3 and 6 ({key})?"
{giveaway}"""
OPTION = '[[question.option]]\ntext = "{text}"\n{right}why = "TODO: why {text} is {word}."\n'


def questions(title):
    """A valid file of questions: three predictions and five checks, the right option each time at another place."""
    keys = [("prediction", f"{word}_prediction") for word in ("first", "second", "third")]
    keys += [("check", f"{word}_check") for word in ("first", "second", "third", "fourth", "fifth")]
    text = f'title = "{title}"\n'
    for number, (kind, key) in enumerate(keys):
        giveaway = 'giveaway = ["TODO: why 3 is right"]\n' if kind == "prediction" else ""
        text += QUESTION.format(key=key, kind=kind, giveaway=giveaway)
        for place, wrong in enumerate(("2", "4", "12")):
            right = place == number % 3
            marked = {"right": "right = true\n", "word": "right"} if right else {"right": "", "word": "wrong"}
            text += "\n" + OPTION.format(text="3" if right else wrong, **marked)
    return text


def notebook(name, title):
    import jupytext

    text = (TEMPLATES / "lesson.txt").read_text(encoding="utf-8")
    before, exercise, after = re.split(r"(?=^# %% \[markdown\]\n# (?:### Exercise K|## Skill check))", text, flags=re.M)
    text = before + "".join(exercise.replace("_K", f"_{k}").replace(" K\n", f" {k}\n") for k in (1, 2, 3)) + after
    text = text.replace("NAME", name).replace("NN", name[:2]).replace("TITLE", title)
    return jupytext.reads(text, fmt="py:percent")


def make_lesson(name, root=ROOT):
    """Write the notebook, its questions and its exercises; return their paths."""
    if not re.fullmatch(r"\d\d(_[a-z0-9]+)+", name):
        raise SystemExit(
            f"{name!r} is not the name of a lesson: use two digits and words, as in `make lesson NAME=04_layer_norm`."
        )
    title = name[3:].replace("_", " ").capitalize()
    lesson = root / "notebooks" / f"{name}.ipynb"
    quiz = root / "helpers" / "lessons" / name / "questions.toml"
    exercises = quiz.with_name("exercises.py")
    taken = [*lesson.parent.glob(f"{name[:2]}_*.ipynb"), *(path for path in (quiz, exercises) if path.exists())]
    if taken:
        raise SystemExit(f"{taken[0].relative_to(root)} exists already: choose another number or name.")
    quiz.parent.mkdir(parents=True, exist_ok=True)  # a lesson that was deleted may leave a __pycache__
    text = (TEMPLATES / "exercises.txt").read_text(encoding="utf-8").replace("NN", name[:2])
    exercises.write_text(text, encoding="utf-8")
    quiz.write_text(questions(title), encoding="utf-8")
    nbformat.write(notebook(name, title), lesson)
    return [lesson, quiz, exercises]


def table(root=ROOT):
    """README's table: number, title and question of each lesson, from its first line `# 04 Title: question?`."""
    rows = ["| | lesson | the question |", "| --- | --- | --- |"]
    for each in all_lessons(root):
        rows.append(f"| {each.number} | [{each.title}](notebooks/{each.name}.ipynb) | {each.question} |")
    return "\n".join(rows) + "\n"


def with_map(source, lessons):
    """The text of the map in lesson 00 with a row for each lesson; its own row, and what comes first, stay.

    A new lesson comes after the last one that it needs.
    """
    row = re.compile(r"^\| \[?(\d\d) .*\| (.*) \| \d+ \|$", re.MULTILINE)
    stored = {found[1]: found for found in row.finditer(source)}
    rows = [stored["00"][0]]
    for each in lessons[1:]:
        needed = re.findall(r"\b\d\d\b", re.search(r"\*\*You need\*\*.*", each.first)[0])
        after = stored[each.number][2] if each.number in stored else (needed or [""])[-1]
        rows.append(f"| [{each.number} {each.title}]({each.name}.ipynb) | {each.question} | {after} | {each.minutes} |")
    last = list(stored.values())[-1]
    return source[: stored["00"].start()] + "\n".join(rows) + source[last.end() :]


def write_map(root=ROOT):
    lessons = all_lessons(root)
    path = root / "notebooks" / f"{lessons[0].name}.ipynb"
    nb = record.read_notebook(path)
    (cell,) = [cell for cell in nb.cells if "| lesson | the question | after | minutes |" in cell.source]
    source = with_map(cell.source, lessons)
    if source != cell.source:
        cell.source = source
        path.write_bytes(record.notebook_bytes(nb))
        print(f"{path.name}: the map of lessons is updated.")


def readme(root=ROOT):
    """README's text with the table of today's lessons between its two marks."""
    before, _, rest = (root / "README.md").read_text(encoding="utf-8").partition(MARKS[0])
    return before + MARKS[0] + table(root) + MARKS[1] + rest.partition(MARKS[1])[2]


def write_lists(root=ROOT):
    (root / "README.md").write_text(readme(root), encoding="utf-8")
    write_map(root)


def main(arguments):
    made = [path for name in arguments for path in make_lesson(name)]
    lessons = [path for path in made if path.suffix == ".ipynb"]
    failed = bool(record.record_all(lessons))
    write_lists()
    if not lessons:
        return 0
    failed |= bool(record.record_others())
    print(
        "Made "
        + ", ".join(str(path.relative_to(ROOT)) for path in made)
        + ", and entered it into README and lesson 00."
    )
    print(f"Now replace every TODO in these files and run `make check LESSON={lessons[0].name[:2]}`.")
    print("It will ask for a case of each exercise worked by hand, in BY_HAND of tests/helpers/test_exercises.py.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
