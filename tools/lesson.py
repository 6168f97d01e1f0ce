"""Begin a lesson, and keep README's table of lessons equal to the lessons' titles.

python tools/lesson.py 04_layer_norm    a new lesson with every part, made from the texts in tools/new_lesson/
python tools/lesson.py                  only write README's table anew
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "new_lesson"
MARKS = "<!-- lessons: made by make notebooks -->\n\n", "\n<!-- end of lessons -->"
QUESTION = """
[[question]]
key = "{key}"
kind = "{kind}"
prompt = "TODO: what is the mean of 1, 2, 3 and 6 ({key})?"
"""
OPTION = '[[question.option]]\ntext = "{text}"\n{right}why = "TODO: why {text} is {word}; the next cell shows it."\n'


def questions(title):
    """A valid file of questions: three predictions and five checks, the right option each time at another place."""
    keys = [("prediction", f"{word}_prediction") for word in ("first", "second", "third")]
    keys += [("check", f"{word}_check") for word in ("first", "second", "third", "fourth", "fifth")]
    text = f'title = "{title}"\n'
    for number, (kind, key) in enumerate(keys):
        text += QUESTION.format(key=key, kind=kind)
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
        raise SystemExit(f"{name!r} names no lesson: say two digits and words, as in `make lesson NAME=04_layer_norm`.")
    title = name[3:].replace("_", " ").capitalize()
    lesson = root / "notebooks" / f"{name}.ipynb"
    quiz = root / "helpers" / "quiz" / f"{name}.toml"
    exercises = root / "helpers" / "exercises" / f"{name[3:]}.py"
    taken = [*lesson.parent.glob(f"{name[:2]}_*.ipynb"), *(path for path in (quiz, exercises) if path.exists())]
    if taken:
        raise SystemExit(f"{taken[0].relative_to(root)} exists already: choose another number or name.")
    text = (TEMPLATES / "exercises.txt").read_text(encoding="utf-8").replace("NN", name[:2])
    exercises.write_text(text, encoding="utf-8")
    quiz.write_text(questions(title), encoding="utf-8")
    nbformat.write(notebook(name, title), lesson)
    return [lesson, quiz, exercises]


def table(root=ROOT):
    """README's table: number, title and question of each lesson, from its first line `# 04 Title: question?`."""
    rows = ["| | lesson | the question |", "| --- | --- | --- |"]
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        heading = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
        number, title, question = re.fullmatch(r"# (\d\d) ([^:]+)(?:: (.+))?", heading).groups()
        rows.append(f"| {number} | [{title}](notebooks/{path.name}) | {question or ''} |")
    return "\n".join(rows) + "\n"


def readme(root=ROOT):
    """README's text with the table of today's lessons between its two marks."""
    before, _, rest = (root / "README.md").read_text(encoding="utf-8").partition(MARKS[0])
    return before + MARKS[0] + table(root) + MARKS[1] + rest.partition(MARKS[1])[2]


def main(arguments):
    for name in arguments:
        print("Made " + ", ".join(str(path.relative_to(ROOT)) for path in make_lesson(name)))
        print(f"Replace every TODO, then run `make notebooks NOTEBOOKS=notebooks/{name}.ipynb` and `make test`.")
        print("Its exercises also need a case each that is worked by hand, in BY_HAND of tests/test_exercises.py.")
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
