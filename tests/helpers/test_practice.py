"""The practice without a browser: what is sent, its static twins, the order of questions as Node computes it.

How it looks and answers is tried in `tests/browser/test_practice_in_browser.py`.
"""

import calendar
import html
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from helpers.widgets.quiz import Practice, Progress, Quiz, lesson_names, read_questions
from helpers.widgets.quiz.questions import FOLDER
from tests.shared import ROOT, for_each

NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")
TODAY = "2026-11-22"


@pytest.fixture
def practice():
    practice = Practice()
    yield practice
    practice.close()


CLOCK = f"""
const Clock = Date;
globalThis.Date = class extends Clock {{
    constructor(...given) {{ super(...(given.length ? given : ["{TODAY}T12:00:00Z"])); }}
}};
"""


# The modules that the practice is made of; they listen to keys of the window.
MODULES = ["answers.js", "quiz/lessons.js", "quiz/practice.js"]
IMPORTS = "globalThis.window ??= { addEventListener() {}, dispatchEvent() {} };\n" + "\n".join(
    f"Object.assign(globalThis, await import({(ROOT / 'helpers' / 'widgets' / name).as_uri()!r}));" for name in MODULES
)


def run(expression, *values, before=""):
    """The value of a JavaScript expression that may use the practice's own functions and `v`, the values; on TODAY."""
    call = f"const v = {json.dumps(values)};\nconsole.log(JSON.stringify({expression}));"
    source = "\n".join([CLOCK, before, IMPORTS, call])
    command = [NODE, "--input-type=module", "-"]
    environment = os.environ | {"TZ": "UTC"}
    done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# What Python sends


def test_questions_are_sent_as_their_files_say(practice):
    assert [lesson["name"] for lesson in practice.lessons] == lesson_names()
    for lesson in practice.lessons:
        title, questions = read_questions(FOLDER / lesson["name"] / "questions.toml")
        assert (lesson["title"], lesson["questions"]) == (title, questions)


def test_state_leaves_room_in_400_kb(practice):
    assert len(json.dumps(practice.lessons)) + len(Practice.javascript) + len(Practice.css) < 240_000


def test_python_and_browser_know_the_same_days():
    assert len(Practice.days) == 5
    answers = (ROOT / "helpers" / "widgets" / "answers.js").read_text(encoding="utf-8")
    assert f"export const DAYS = {list(Practice.days)};" in answers


def test_answers_are_kept_by_one_module_only():
    for kind in (Quiz, Practice, Progress):
        assert kind.javascript.count("localStorage.setItem") == 1
    sources = [path for folder in ("helpers", "tools") for path in (ROOT / folder).rglob("*.js")]
    ours = [path for path in sources if not {"node_modules", "bundle", "static"} & set(path.parts)]
    storing = {path.name for path in ours if re.search(r"localStorage\.\w+Item", path.read_text(encoding="utf-8"))}
    assert len(ours) > 15 and storing == {"answers.js", "deck.js"}, "the deck keeps light or dark"


def test_progress_is_sent_no_texts(practice):
    progress = Progress()
    for mine, whole in zip(progress.lessons, practice.lessons, strict=True):
        assert (mine["name"], mine["title"], mine["to"]) == (whole["name"], whole["title"], f"{whole['name']}.ipynb")
        for key, asked in zip(mine["questions"], whole["questions"], strict=True):
            assert {**key, "options": len(key["options"])} == {
                **{name: asked[name] for name in ("key", "right", "mark")},
                "options": len(asked["options"]),
            }
    assert progress.practice == "15_practice.ipynb"
    for text in progress._repr_mimebundle_()[0]["text/plain"], html.unescape(progress._as_html()):
        assert all(f"{each['name'][:2]} {each['title']}" in text for each in progress.lessons)
    progress.close()


def test_twins_say_the_same_on_every_run(practice):
    again = Practice()
    data, metadata = practice._repr_mimebundle_()
    assert data["text/plain"] == again._repr_mimebundle_()[0]["text/plain"]
    again.close()
    assert metadata == {}
    assert repr(practice) == "Practice()"
    for text in (data["text/plain"], html.unescape(data["text/html"])):
        assert all(f"{lesson['name'][:2]} {lesson['title']}" in text for lesson in practice.lessons)


def test_markup_in_titles_is_escaped_in_html(practice):
    practice.lessons = [{"name": "77_x", "title": "<img src=x onerror=alert(1)>", "questions": []}]
    assert "<img" not in practice._repr_mimebundle_()[0]["text/html"]


# Boxes and days, as the browser computes them


def moment(day):
    """The millisecond with which a day begins."""
    return calendar.timegm(time.strptime(day, "%Y-%m-%d")) * 1000


def record(choice=0, box=1, due=TODAY, when="2026-11-01", **more):
    return {
        "choice": choice,
        "right": choice == 0,
        "when": when,
        "at": moment(when),
        "began": moment(when),
        "tries": 1,
        "first": choice,
        "mark": "m",
        "box": box,
        "due": due,
    } | more


def question(key="q", kind="check"):
    return {
        "key": key,
        "kind": kind,
        "prompt": "?",
        "options": ["a", "b", "c"],
        "whys": ["", "", ""],
        "right": 0,
        "mark": "m",
    }


@with_node
def test_right_answers_climb_through_all_boxes():
    days = "[...Array(7)].reduce((all) => [...all, boxAfter(all.at(-1) ?? null, true, all.at(-1)?.due ?? v[0])], [])"
    found = run(days, TODAY)
    assert [answer["box"] for answer in found] == [1, 2, 3, 4, 4, 4, 4]
    assert [answer["due"] for answer in found[:4]] == ["2026-11-25", "2026-12-02", "2026-12-16", "2027-01-15"]


@with_node
@for_each(
    ("before", "right", "after"),
    [
        (None, True, {"box": 1, "due": "2026-11-25"}),
        (None, False, {"box": 0, "due": "2026-11-23"}),
        (record(box=4, due=TODAY), False, {"box": 0, "due": "2026-11-23"}),
        (record(box=3, due="2026-11-24"), True, {"box": 3, "due": "2026-11-24"}),  # early: nothing is gained
        (record(box=3, due="2026-11-24"), False, {"box": 0, "due": "2026-11-23"}),
        (record(box=0, due="2026-11-23"), True, {"box": 0, "due": "2026-11-23"}),  # corrected on the same day
        (record(box=2, due="2026-10-01"), True, {"box": 3, "due": "2026-12-06"}),  # late: counted from today
    ],
)
def test_an_answer_moves_a_question_so(before, right, after):
    assert run("boxAfter(...v)", before, right, TODAY) == after


@with_node
@for_each(
    ("kept", "wanted"),
    [
        ({"choice": 0, "mark": "m"}, {"box": 1, "due": "2026-11-25", "first": 0, "tries": 1, "when": TODAY}),
        ({"choice": 0, "mark": "m"}, {"at": moment(TODAY), "began": moment(TODAY)}),
        (record(at="now", began=None), {"at": moment("2026-11-01"), "began": moment("2026-11-01")}),
        (record(at=moment("2027-05-01")), {"at": moment("2026-11-01")}),  # a day to come
        (record(began=moment("2026-11-20")), {"began": moment("2026-11-01")}),  # after its last answer
        ({"choice": 1, "mark": "m", "when": "2026-11-20"}, {"box": 0, "due": "2026-11-21", "right": False}),
        ({"choice": 0, "mark": "m", "when": "2027-05-01"}, {"when": TODAY}),
        (record(box="1"), {"box": 1, "due": "2026-11-04"}),
        (record(box=99), {"box": 1, "due": "2026-11-04"}),
        (record(box=1, due="9999-01-01"), {"box": 1, "due": "2026-11-04"}),
        (record(box=1, due="soon"), {"due": "2026-11-04"}),
        (record(first=7, tries=-3, extra="x"), {"first": 0, "tries": 1}),
        (record(right=False), {"right": True}),
    ],
)
def test_a_broken_kept_answer_is_made_good(kept, wanted):
    found = run("complete(...v)", kept, question())
    assert set(found) == set(record())
    assert found | wanted == found


@with_node
@for_each(
    "kept",
    [
        None,
        3,
        [],
        {},
        {"choice": 0, "mark": "other"},
        {"choice": 3, "mark": "m"},
        {"choice": "0", "mark": "m"},
        {"choice": -1, "mark": "m"},
    ],
)
def test_an_answer_not_fitting_its_question_is_none(kept):
    assert run("complete(...v)", kept, question()) is None


# What a store keeps

# A store without a page, and the events that it sends.
STORE = """
const kept = {};
globalThis.localStorage = Object.create({
    getItem: (key) => kept[key] ?? null, setItem(key, text) { this[key] = kept[key] = text; },
    removeItem(key) { delete this[key]; delete kept[key]; },
});
const heard = [];
globalThis.window = Object.assign(new EventTarget(), { dispatchEvent: ({ key }) => heard.push(key) });
globalThis.document = new EventTarget();
globalThis.StorageEvent = class extends Event { constructor(name, { key }) { super(name); this.key = key; } };
"""


@with_node
def test_answers_join_what_another_tab_has_written():
    turn = """(() => {
        answer("a", v[0], 0);
        kept.a = JSON.stringify({ ...JSON.parse(kept.a), choice: 2, first: 1, tries: 7, began: 5 });
        kept.b = "of another tab";
        answer("a", v[0], 1);
        return [JSON.parse(kept.a), kept.b, heard];
    })()"""
    found, other, heard = run(turn, question(), before=STORE)
    assert (found["choice"], found["first"], found["tries"], found["began"]) == (1, 1, 8, 5)
    assert found["at"] == moment(TODAY) + 12 * 3600 * 1000
    assert other == "of another tab" and heard == ["a", "a"]


@with_node
def test_forgetting_one_lesson_leaves_the_others():
    names = [
        "normalization-notebooks/01_a/x",
        "normalization-notebooks/01_a/y",
        "normalization-notebooks/02_b/x",
        "theme",
    ]
    turn = """(() => {
        v[0].forEach((name) => localStorage.setItem(name, "{}"));
        forget("01_a/");
        const one = Object.keys(kept);
        forget("");
        return [one, Object.keys(kept)];
    })()"""
    assert run(turn, names, before=STORE) == [names[2:], ["theme"]]


@with_node
def test_followers_hear_changes_once_per_turn():
    turn = """await (async () => {
        const [calls, ending] = [[], new AbortController()];
        window.dispatchEvent = EventTarget.prototype.dispatchEvent;
        follow(() => calls.push(kept.a ?? null), ending.signal);
        save("a", "1");
        save("a", "2");
        await 0;
        document.dispatchEvent(new Event("visibilitychange"));
        await 0;
        window.dispatchEvent(new Event("pageshow"));
        ending.abort();
        await 0;
        save("a", "3");
        await 0;
        return calls;
    })()"""
    assert run(turn, before=STORE) == [None, "2", "2"]


@with_node
def test_answers_to_changed_texts_do_not_count():
    asked = question()
    old, broken = json.dumps(record() | {"mark": "of before"}), '{"choice": 1}'
    for text, expected in ((old, [None, True]), (json.dumps(record()), [False, False]), (broken, [None, False])):
        found = run("[parse(v[0], v[1]) && false, hasChanged(v[0], v[1])]", text, asked)
        assert found == expected, text
    assert run("reasonFor(...v)", {"record": None, "changed": True}, TODAY) == "changed since you answered it"
    assert run("reasonFor(...v)", {"record": None, "changed": False}, TODAY) == "not asked yet"


# The order


def cards(**records):
    """Cards whose name tells lesson and key: a1 is question a1 of lesson a; p in the name makes a prediction."""
    return [
        {
            "lesson": name[0],
            "title": "",
            "place": name,
            "record": kept,
            "question": question(name, "prediction" if "p" in name else "check"),
        }
        for name, kept in records.items()
    ]


def order(deck):
    return [card["place"] for card in run("toAsk(...v)", deck, TODAY)]


@with_node
def test_missed_questions_precede_due_and_new_ones():
    wrong, due, known = record(1, 0, "2026-11-23"), record(due="2026-11-22"), record(due="2026-11-23")
    assert order(cards(a1=None, a2=known, a3=due, a4=wrong, a5=None)) == ["a4", "a3", "a1", "a5"]


@with_node
def test_what_waits_longest_comes_first():
    due = {f"a{day}": record(due=f"2026-11-{day}") for day in (15, 11, 20)}
    wrong = {f"b{day}": record(1, 0, f"2026-11-{day}") for day in (14, 12)}
    assert order(cards(**due, **wrong)) == ["b12", "b14", "a11", "a15", "a20"]


@with_node
def test_questions_of_begun_lessons_come_before_others():
    assert order(cards(a1=None, b1=None, b2=record(due="2026-12-01"), c1=None)) == ["b1", "a1", "c1"]


@with_node
def test_practice_asks_predictions_only_after_their_lessons():
    assert order(cards(ap1=None, ap2=record(1, 0), ap3=record())) == ["ap2", "ap3"]


@with_node
def test_a_question_just_asked_waits_for_three_others():
    deck = cards(a1=None, a2=None, a3=None, a4=None, a5=None)
    turns = "[...Array(10)].reduce((asked) => [...asked, pick(v[0], asked).place], [])"
    asked = run(turns, deck)
    assert asked[:5] == ["a1", "a2", "a3", "a4", "a1"]
    assert all(len(set(asked[k : k + 4])) == 4 for k in range(7))
    assert run(turns, deck[:1]) == ["a1"] * 10


@with_node
def test_lesson_numbers_are_counted_from_answers():
    deck = cards(a1=None, a2=record(), a3=record(due="2026-12-01"), a4=record(1, 0), ap=None)
    counts = run("countsOf(...v)", deck, TODAY)
    assert counts == {"all": 5, "answered": 3, "known": 1, "due": 1, "missed": 1, "new": 2}


@with_node
@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"a1": None, "a2": None}, "0 of 2 answered"),
        ({"a1": record(due="2026-12-01"), "a2": None}, "1 of 2 answered"),
        ({"a1": record(1, 0), "a2": record(), "a3": record(2, 0)}, "3 of 3 answered, 2 missed, 1 due"),
    ],
)
def test_a_lesson_counts_answered_missed_and_due_questions(answers, words):
    assert run("inWords(countsOf(...v))", cards(**answers), TODAY) == words


@with_node
def test_nothing_to_ask_names_the_next_day():
    deck = cards(a1=record(due="2026-12-01"), a2=record(due="2026-11-25"), a3=record(due="2026-11-25"))
    text = "There is nothing to ask today. The next 2 questions will be due on 2026-11-25."
    assert run("doneFor(...v)", deck, TODAY) == text
    assert run("doneFor(...v)", deck + cards(bp=None), TODAY).startswith(text + " The predictions that are left")
    assert run("doneFor(...v)", cards(bp=None), TODAY).startswith("There is nothing to ask yet.")


# Files


@with_node
def test_written_files_can_be_read_again():
    deck = cards(a1=record(), a2=None, b1=record(1, 0))
    empty = [card | {"record": None} for card in deck]
    found = run("readAnswers(writeAnswers(v[0]), v[1])", deck, empty)
    assert [(card["place"], kept["choice"]) for card, kept in found["kept"]] == [("a1", 0), ("b1", 1)]
    assert (found["older"], found["unknown"]) == (0, 0)


@with_node
@for_each(
    ("mine", "theirs", "taken"),
    [
        (None, record(), True),
        (record(when="2026-11-01"), record(1, 0, when="2026-11-02"), True),
        (record(when="2026-11-02"), record(when="2026-11-01"), False),
        (record(at=moment("2026-11-01") + 1), record(1, 0, at=moment("2026-11-01") + 2), True),  # of the same day
        (record(), record(1, 0, tries=2), True),  # of the same moment: that with more tries
        (record(), record(), False),
        (record(), record(1, 0), False),  # of the same moment and as many tries: what is here stays
    ],
)
def test_of_two_answers_the_later_one_counts(mine, theirs, taken):
    text = json.dumps({"format": "normalization-notebooks answers 1", "answers": {"a/a1": theirs}})
    found = run("readAnswers(...v)", text, cards(a1=mine))
    assert (len(found["kept"]), found["older"]) == (1, 0) if taken else (0, 1)
    if taken:
        assert found["kept"][0][1]["choice"] == theirs["choice"]


EARLY, MIDDLE, LATE = moment("2026-11-03"), moment("2026-11-10"), moment("2026-11-20")
ON_THE_TRAIN = record(0, when="2026-11-20", at=LATE, began=EARLY, first=2, tries=3)
AT_SCHOOL = record(1, 0, when="2026-11-10", at=MIDDLE, began=MIDDLE, tries=2)


@with_node
@pytest.mark.parametrize(("mine", "theirs"), [(ON_THE_TRAIN, AT_SCHOOL), (AT_SCHOOL, ON_THE_TRAIN)])
def test_merged_answers_keep_later_choice_and_first_try(mine, theirs):
    assert run("merge(...v)", mine, theirs) == ON_THE_TRAIN
    late = AT_SCHOOL | {"at": LATE + 1, "when": "2026-11-20"}
    both = late | {"first": 2, "began": EARLY, "tries": 3}
    other = {ON_THE_TRAIN["tries"]: ON_THE_TRAIN, AT_SCHOOL["tries"]: late}
    assert run("merge(...v)", other[mine["tries"]], other[theirs["tries"]]) == both


@with_node
def test_loading_a_file_twice_changes_nothing_more():
    text = "writeAnswers(v[0])"
    mine, theirs = cards(a1=AT_SCHOOL, a2=None, a3=record()), cards(a1=ON_THE_TRAIN, a2=record(), a3=None)
    (card, once), (_, new) = run(f"readAnswers({text}, v[1])", theirs, mine)["kept"]
    assert (card["place"], once, new) == ("a1", ON_THE_TRAIN, record())
    again = run(f"readAnswers({text}, v[1])", theirs, cards(a1=once, a2=new, a3=record()))
    assert (again["kept"], again["older"]) == ([], 2)


@with_node
def test_older_files_without_moments_are_read():
    old = {k: v for k, v in record(when="2026-11-02").items() if k not in ("at", "began")}
    text = json.dumps({"format": "normalization-notebooks answers 1", "answers": {"a/a1": old, "b/b1": old}})
    mine = cards(a1=record(when="2026-11-01", first=1), b1=record(when="2026-11-03", began=1))
    found = run("readAnswers(...v)", text, mine)
    ((card, kept),) = found["kept"]
    assert (card["place"], kept["when"], kept["first"], found["older"]) == ("a1", "2026-11-02", 1, 1)


@with_node
def test_old_or_foreign_answers_are_counted_and_dropped():
    answers = {
        "a/a1": record(),
        "a/gone": record(),
        "z/a1": record(),
        "b/b1": record(mark="old"),
        "__proto__": record(),
        "b/b2": 7,
    }
    text = json.dumps({"format": "normalization-notebooks answers 1", "answers": answers})
    found = run("readAnswers(...v)", text, cards(a1=None, b1=None, b2=None))
    assert [card["place"] for card, _ in found["kept"]] == ["a1"]
    assert found["unknown"] == 5


@with_node
@for_each(
    ("text", "message"),
    [
        ("", "This file cannot be read as JSON"),
        ("{", "This file cannot be read as JSON"),
        ("[" * 100_000, "This file cannot be read as JSON"),
        ("\x00\x01PNG", "This file cannot be read as JSON"),
        ("null", "This file holds no answers of these lessons"),
        ("[1, 2]", "This file holds no answers of these lessons"),
        ('{"answers": {}}', "This file holds no answers of these lessons"),
        ('{"format": ["normalization-notebooks answers", 1]}', "This file holds no answers of these lessons"),
        ('{"format": "normalization-notebooks answers 2", "answers": {}}', "This file was saved by a newer version of"),
        ('{"format": "normalization-notebooks answers 1"}', "The answers in this file are broken"),
        ('{"format": "normalization-notebooks answers 1", "answers": [1]}', "The answers in this file are broken"),
        ('{"format": "normalization-notebooks answers 1", "answers": null}', "The answers in this file are broken"),
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(text, message):
    attempt = "(() => { try { return readAnswers(...v); } catch (error) { return error.message; } })()"
    said = run(attempt, text, [])
    assert said.startswith(message) and said.endswith(': choose a file that was saved here with "Save my answers".')
    assert said.count(".") == 1


@with_node
def test_all_orders_of_options_come_without_loss():
    orders = run("[...Array(400)].map(() => shuffled(3).join(''))")
    assert {"".join(sorted(order)) for order in orders} == {"012"}
    assert len(set(orders)) == 6


@with_node
def test_a_wrong_answer_comes_back_sooner_in_words():
    wrong, right = {"right": False, "due": "2026-11-23"}, {"right": True, "due": "2026-12-06"}
    assert (
        run("returnOf(v[0], v[2], 9)", wrong, right, TODAY) == "It comes back today, after 3 other questions or more."
    )
    assert run("returnOf(v[0], v[2], 1)", wrong, right, TODAY) == "It comes back today, after 1 other question or more."
    assert run("returnOf(v[0], v[2], 0)", wrong, right, TODAY) == "It comes back next."
    assert run("returnOf(v[1], v[2], 9)", wrong, right, TODAY) == "It comes back in 14 days, on 2026-12-06."
