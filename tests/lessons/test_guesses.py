"""Nothing that a learner sees before a guess, or right below it, answers the question.

A prediction names in its file what would give its answer away (`giveaway`, regular expressions). From the heading of
its section to the end of the section, whatever is visible before the learner commits may not match: text, headings,
names in visible code, outputs. What explains the answer carries the tag `answer`: in workbook/, on the site and on
slides the output of such a code cell, or the text of such a Markdown cell, stays back until the guess is made. Only the
takeaway below is always in sight.
"""

import re
import tomllib

from helpers.widgets.quiz.questions import FOLDER
from tests.shared import every_lesson, is_hidden, printed, read


def predictions(lesson):
    table = tomllib.loads((FOLDER / lesson.stem / "questions.toml").read_text(encoding="utf-8"))
    return [question for question in table["question"] if question["kind"] == "prediction"]


def sections(cells):
    """The cells of a lesson, cut before each heading of level 2 or 3."""
    found = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and re.search(r"^##+ ", cell.source, re.MULTILINE):
            before, heading, after = re.split(r"^(?=(##+ ))", cell.source, maxsplit=1, flags=re.MULTILINE)
            found[-1].append({**cell, "source": before})
            found.append([{**cell, "source": after}])
        else:
            found[-1].append(cell)
    return found


def is_answer(cell):
    return "answer" in cell["metadata"].get("tags", [])


def is_quiz(cell):
    return cell["cell_type"] == "code" and cell["source"].startswith("Quiz(")


def visible(cell):
    """What a learner sees of a cell before the guess; questions are left out."""
    if is_quiz(cell):
        return ""
    if cell["cell_type"] == "markdown":
        return "" if is_answer(cell) else cell["source"]
    source = cell["source"].partition("\n")[0] if is_hidden(cell) else cell["source"]
    return source if is_answer(cell) else f"{source}\n{printed(cell)}"


def behind(cell):
    """What answers: what a learner sees of a cell only after the guess, and the takeaway."""
    if cell["source"].startswith("**Takeaway"):
        return cell["source"]
    return "" if not is_answer(cell) else cell["source"] if cell["cell_type"] == "markdown" else printed(cell)


def given_away(question, cells):
    """The patterns of a question that match before its guess, each with the line that matches."""
    asks = f'only="{question["key"]}"'
    asked = next((k for k, cell in enumerate(cells) if is_quiz(cell) and asks in cell["source"]), len(cells))
    above, below = cells[:asked], [cell for cell in cells[asked:] if not cell["source"].startswith("**Takeaway")]
    text = "\n".join(visible(cell) for cell in above + below)
    hits = [(pattern, re.search(f".*(?:{pattern}).*", text)) for pattern in question.get("giveaway", [])]
    return [f"{pattern!r} in: {hit[0].strip()[:100]}" for pattern, hit in hits if hit]


def section_of(question, lesson):
    asks = f'only="{question["key"]}"'
    (found,) = (part for part in sections(read(lesson).cells) if any(is_quiz(c) and asks in c["source"] for c in part))
    return found


@every_lesson
def test_nothing_visible_answers_a_prediction_before_the_guess(lesson):
    found = {q["key"]: given_away(q, section_of(q, lesson)) for q in predictions(lesson)}
    assert {key: hits for key, hits in found.items() if hits} == {}


@every_lesson
def test_what_gives_away_stands_behind_the_guess(lesson):
    missing = []
    for question in predictions(lesson):
        right = next(option for option in question["option"] if option.get("right"))
        answer = "\n".join(behind(cell) for cell in section_of(question, lesson))
        answer += f"\n{right['text']}\n{right['why']}"
        patterns = question.get("giveaway", ["no giveaway is written"])
        missing += [(question["key"], pattern) for pattern in patterns if not re.search(pattern, answer)]
    assert missing == []


def test_giveaways_in_outputs_names_and_sentences_are_found():
    question = {"key": "one", "giveaway": ["circle", r"\b0\.8\b"]}

    def code(source, output="", tags=()):
        outputs = [{"text": output}]
        return {"cell_type": "code", "source": source, "outputs": outputs, "metadata": {"tags": list(tags)}}

    told = {"cell_type": "markdown", "source": "They lie on a circle.", "metadata": {}}
    assert given_away(question, [told]) and given_away(question, [code("on_circle = 1")])
    assert given_away(question, [code("print(x)", "0.8")])
    assert not given_away(question, [code("print(x)", "0.8", ["answer"])])
    assert not given_away(question, [told | {"metadata": {"tags": ["answer"]}}])
