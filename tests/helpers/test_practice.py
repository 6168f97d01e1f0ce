"""The practice without a browser: what is sent, its static twins, the order of questions as Node computes it.

How it looks and answers is tried in `tests/browser/test_practice_in_browser.py`.
"""

import calendar
import html
import itertools
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from helpers.exercises import all_exercises
from helpers.widgets.quiz import Practice, Progress, Quiz, Solved, lesson_names, read_questions
from helpers.widgets.quiz.questions import FOLDER
from tests.shared import ROOT

NODE = shutil.which("node")
TODAY = "2026-11-22"
WIDGETS = ROOT / "helpers" / "widgets"
SETTING = f"""
import {{ createInterface }} from "node:readline";
const Clock = Date;
globalThis.Date = class extends Clock {{
  constructor(...given) {{ super(...(given.length ? given : ["{TODAY}T12:00:00Z"])); }}
}};
globalThis.kept = {{}};
globalThis.heard = [];
globalThis.localStorage = Object.create({{
  getItem: (key) => kept[key] ?? null,
  setItem(key, text) {{ this[key] = kept[key] = text; }},
  removeItem(key) {{ delete this[key]; delete kept[key]; }},
}});
globalThis.window = Object.assign(new EventTarget(), {{ dispatchEvent: ({{ key }}) => heard.push(key) }});
globalThis.document = new EventTarget();
globalThis.StorageEvent = class extends Event {{ constructor(name, {{ key }}) {{ super(name); this.key = key; }} }};
for (const name of ["answers.js", "quiz/lessons.js", "quiz/practice.js"])
  Object.assign(globalThis, await import("{WIDGETS.as_uri()}/" + name));
const Asynchronous = (async () => {{}}).constructor;
for await (const line of createInterface(process.stdin)) {{
  const [code, v] = JSON.parse(line);
  const answer = new Asynchronous("v", "return " + code)(v);
  const said = await answer.then((value) => ({{ value }}), (error) => ({{ error: String(error) }}));
  console.log(JSON.stringify(said));
}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The value of a JavaScript expression that may use the practice's functions and `v`, the values; on TODAY.

    One Node answers all tests of this module; `kept` is its store and `heard` the events that were sent.
    """
    if NODE is None:
        pytest.skip("Node is not installed")
    script = tmp_path_factory.mktemp("node") / "setting.mjs"
    script.write_text(SETTING, encoding="utf-8")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    with subprocess.Popen([NODE, script], env=os.environ | {"TZ": "UTC"}, **pipes) as node:

        def run(code, *values):
            node.stdin.write(json.dumps([code, values]) + "\n")
            node.stdin.flush()
            said = json.loads(node.stdout.readline())
            assert "error" not in said, said["error"]
            return said.get("value")

        yield run
        node.stdin.close()


@pytest.fixture
def practice():
    practice = Practice()
    yield practice
    practice.close()


# What Python sends


def test_questions_are_sent_as_their_files_say(practice):
    read = [(name, *read_questions(FOLDER / name / "questions.toml")) for name in lesson_names()]
    asked = [[q for q in lesson["questions"] if q["kind"] != "exercise"] for lesson in practice.lessons]
    sent = zip(practice.lessons, asked, strict=True)
    assert [(lesson["name"], lesson["title"], questions) for lesson, questions in sent] == read


def test_every_exercise_that_can_be_written_again_comes_back(practice):
    sent = [q for lesson in practice.lessons for q in lesson["questions"] if q["kind"] == "exercise"]
    assert [q["key"] for q in sent] == [e.name for e in all_exercises().values() if e.given is None]
    for question in sent:
        end = f'\n    ...\n\n\ncheck_exercise("{question["key"]}", {question["key"]})'
        assert re.match("(def|class) my_", question["code"]) and question["code"].endswith(end)


def test_a_solved_exercise_is_the_question_that_practice_asks(practice):
    solved = Solved("my_rms_norm")
    (lesson,) = [lesson for lesson in practice.lessons if lesson["name"] == solved.lesson]
    assert lesson["name"][:2] == "05" and solved.question in lesson["questions"]
    assert solved.at > moment("2026-01-01")
    solved.close()


def test_answers_are_kept_by_one_module_only():
    for kind in (Quiz, Practice, Progress):
        assert kind.javascript.count("localStorage.setItem") == 1
    sources = [path for folder in ("helpers", "tools") for path in (ROOT / folder).rglob("*.js")]
    ours = [path for path in sources if not {"node_modules", "bundle", "static"} & set(path.parts)]
    storing = {path.name for path in ours if re.search(r"localStorage\.\w+Item", path.read_text(encoding="utf-8"))}
    assert len(ours) > 15 and storing == {"answers.js"}


def test_progress_is_sent_no_texts(practice):
    progress = Progress()
    for mine, whole in zip(progress.lessons, practice.lessons, strict=True):
        assert (mine["name"], mine["title"], mine["to"]) == (whole["name"], whole["title"], f"{whole['name']}.ipynb")
        for key, asked in zip(mine["questions"], whole["questions"], strict=True):
            assert key == {**key, **{name: asked[name] for name in ("key", "right", "mark")}}
            assert key["options"] == "ABCDE"[: len(asked["options"])] and len(key) == 4
    assert progress.practice == "16_practice.ipynb"
    progress.close()


@pytest.mark.parametrize("kind", [Practice, Progress])
def test_twins_name_every_lesson_on_every_run(kind):
    widget, again = kind(), kind()
    data, metadata = widget._repr_mimebundle_()
    assert metadata == {}
    assert data["text/plain"] == again._repr_mimebundle_()[0]["text/plain"]
    for text in (data["text/plain"], html.unescape(data["text/html"])):
        assert all(f"{lesson['name'][:2]} {lesson['title']}" in text for lesson in widget.lessons)
    widget.lessons = [{"name": "77_x", "title": "<img src=x onerror=alert(1)>", "questions": []}]
    assert "<img" not in widget._repr_mimebundle_()[0]["text/html"]
    widget.close()
    again.close()


# Boxes and days, as the browser computes them


def moment(day):
    """The millisecond with which a day begins."""
    return calendar.timegm(time.strptime(day, "%Y-%m-%d")) * 1000


def record(choice=0, box=1, due=TODAY, when="2026-11-01", **more):
    at = moment(when)
    answer = {"choice": choice, "right": choice == 0, "when": when, "at": at, "began": at, "tries": 1}
    return answer | {"first": choice, "mark": "m", "box": box, "due": due} | more


def question(key="q", kind="check"):
    return {"key": key, "kind": kind, "prompt": "?", "options": ["a", "b", "c"], "right": 0, "mark": "m"}


def test_right_answers_climb_through_all_boxes(run):
    days = "[...Array(7)].reduce((all) => [...all, boxAfter(all.at(-1) ?? null, true, all.at(-1)?.due ?? v[0])], [])"
    found = run(days, TODAY)
    assert [answer["box"] for answer in found] == [1, 2, 3, 4, 4, 4, 4]
    assert [answer["due"] for answer in found[:4]] == ["2026-11-25", "2026-12-02", "2026-12-16", "2027-01-15"]


@pytest.mark.parametrize(
    ("before", "right", "box", "due"),
    [
        (None, True, 1, "2026-11-25"),
        (None, False, 0, "2026-11-23"),
        (record(box=4, due=TODAY), False, 0, "2026-11-23"),
        (record(box=3, due="2026-11-24"), True, 3, "2026-11-24"),  # early: nothing is gained
        (record(box=3, due="2026-11-24"), False, 0, "2026-11-23"),
        (record(box=0, due="2026-11-23"), True, 0, "2026-11-23"),  # corrected on the same day
        (record(box=2, due="2026-10-01"), True, 3, "2026-12-06"),  # late: counted from today
    ],
)
def test_an_answer_moves_a_question_so(run, before, right, box, due):
    assert run("boxAfter(...v)", before, right, TODAY) == {"box": box, "due": due}


BROKEN = [
    ({"choice": 0, "mark": "m"}, {"box": 1, "due": "2026-11-25", "first": 0, "tries": 1, "when": TODAY}),
    (record(at="now", began=None), {"at": moment("2026-11-01"), "began": moment("2026-11-01")}),
    (record(at=moment("2027-05-01")), {"at": moment("2026-11-01")}),  # a day to come
    (record(began=moment("2026-11-20")), {"began": moment("2026-11-01")}),  # after its last answer
    ({"choice": 1, "mark": "m", "when": "2026-11-20"}, {"box": 0, "due": "2026-11-21", "right": False}),
    ({"choice": 0, "mark": "m", "when": "2027-05-01"}, {"when": TODAY}),
    (record(box=99), {"box": 1, "due": "2026-11-04"}),
    (record(box=1, due="9999-01-01"), {"box": 1, "due": "2026-11-04"}),
    (record(first=7, tries=-3, extra="x"), {"first": 0, "tries": 1}),
    (record(right=False), {"right": True}),
]


def test_a_broken_kept_answer_is_made_good_or_is_none(run):
    for broken, wanted in BROKEN:
        found = run("complete(...v)", broken, question())
        assert set(found) == set(record()) and found | wanted == found, broken
    for answer in [None, 3, [], {}, record(mark="other"), record(3), record("0"), record(-1)]:
        assert run("complete(...v)", answer, question()) is None, answer


# What a store keeps


def test_answers_join_what_another_tab_has_written(run):
    turn = """(() => {
        answer("a", v[0], 0);
        kept.a = JSON.stringify({ ...JSON.parse(kept.a), choice: 2, first: 1, tries: 7, began: 5 });
        kept.b = "of another tab";
        answer("a", v[0], 1);
        return [JSON.parse(kept.a), kept.b, heard.splice(0)];
    })()"""
    found, other, heard = run(turn, question())
    assert (found["choice"], found["first"], found["tries"], found["began"]) == (1, 1, 8, 5)
    assert found["at"] == moment(TODAY) + 12 * 3600 * 1000
    assert other == "of another tab" and heard == ["a", "a"]


def test_forgetting_one_lesson_leaves_the_others(run):
    names = [f"normalization-notebooks/{name}" for name in ("01_a/x", "01_a/y", "02_b/x")] + ["theme"]
    stored = "Object.keys(kept).filter((name) => v[0].includes(name))"
    run("v[0].forEach((name) => localStorage.setItem(name, '{}'))", names)
    assert run(f"(forget('01_a/'), {stored})", names) == names[2:]
    assert run(f"(forget(''), {stored})", names) == ["theme"]


def test_followers_hear_changes_once_per_turn(run):
    turn = """(async () => {
        const [calls, ending, dispatch] = [[], new AbortController(), window.dispatchEvent];
        window.dispatchEvent = EventTarget.prototype.dispatchEvent;
        follow(() => calls.push(kept.f ?? null), ending.signal);
        save("f", "1");
        save("f", "2");
        await 0;
        document.dispatchEvent(new Event("visibilitychange"));
        await 0;
        window.dispatchEvent(new Event("pageshow"));
        ending.abort();
        await 0;
        save("f", "3");
        await 0;
        window.dispatchEvent = dispatch;
        return calls;
    })()"""
    assert run(turn) == [None, "2", "2"]


def test_answers_to_changed_texts_do_not_count(run):
    for text, changed in ((record(mark="of before"), True), (record(), False), ({"choice": 1}, False)):
        found = run("[parse(...v), hasChanged(...v)]", json.dumps(text), question())
        assert found == [None if text != record() else record(), changed]
    assert run("reasonFor(...v)", {"record": None, "changed": True}, TODAY) == "changed since you answered it"
    assert run("reasonFor(...v)", {"record": None, "changed": False}, TODAY) == "not asked yet"


# The order


def cards(**records):
    """Cards whose name tells lesson and key: a1 is question a1 of lesson a; p makes a prediction, e an exercise."""

    def kind(name):
        return "prediction" if "p" in name else "exercise" if "e" in name else "check"

    return [
        {"lesson": name[0], "title": "", "place": name, "record": answer} | {"question": question(name, kind(name))}
        for name, answer in records.items()
    ]


WRONG, DUE, KNOWN = record(1, 0, "2026-11-23"), record(due="2026-11-22"), record(due="2026-11-23")
ORDERS = {
    "missed, due, new": (cards(a1=None, a2=KNOWN, a3=DUE, a4=WRONG, a5=None), "a4 a3 a1 a5"),
    "what waits longest": (
        cards(a15=record(due="2026-11-15"), a11=record(due="2026-11-11"), b14=WRONG, b12=WRONG | {"due": "2026-11-12"}),
        "b12 b14 a11 a15",
    ),
    "skill checks after their lessons only": (
        cards(a1=None, b1=None, b2=KNOWN, c1=None, cp=KNOWN, d1=None, dp=None, dp2=None, dp3=KNOWN),
        "b1 c1",
    ),
    "predictions after their lessons only": (cards(ap1=None, ap2=record(1, 0), ap3=record()), "ap2 ap3"),
    "exercises after they were solved": (cards(ae1=None, ae2=DUE, ae3=WRONG, a4=DUE, a5=KNOWN), "a4 ae3 ae2"),
}


def test_questions_are_asked_in_this_order(run):
    for name, (deck, order) in ORDERS.items():
        assert [card["place"] for card in run("toAsk(...v)", deck, TODAY)] == order.split(), name


def test_a_question_just_asked_waits_for_three_others(run):
    deck = cards(a1=None, a2=None, a3=None, a4=None, a5=None)
    turns = "[...Array(10)].reduce((asked) => [...asked, pick(v[0], asked).place], [])"
    asked = run(turns, deck)
    assert asked[:6] == ["a1", "a2", "a3", "a4", "a5", "a1"]
    assert all(len(set(asked[k : k + 4])) == 4 for k in range(7))
    assert run(turns, deck[:1]) == ["a1"] * 10


def test_a_lesson_counts_its_questions_by_their_answers(run):
    deck = cards(a1=None, a2=DUE, a3=KNOWN, a4=WRONG, ap=None)
    counts = {"all": 5, "answered": 3, "known": 1, "due": 1, "missed": 1, "new": 2}
    assert run("countsOf(...v)", deck, TODAY) == counts
    words = "inWords(countsOf(...v))"
    assert run(words, deck, TODAY) == "3 of 5 answered, 1 missed, 1 due"
    assert run(words, cards(a1=KNOWN, a2=None), TODAY) == "1 of 2 answered"


def test_nothing_to_ask_names_the_next_day(run):
    deck = cards(a1=record(due="2026-12-01"), a2=record(due="2026-11-25"), a3=record(due="2026-11-25"))
    text = "There is nothing to ask today. The next 2 questions will be due on 2026-11-25."
    assert run("doneFor(...v)", deck, TODAY) == text
    assert run("doneFor(...v)", deck + cards(bp=None), TODAY).startswith(text)
    assert run("doneFor(...v)", cards(bp=None), TODAY).startswith("There is nothing to ask yet.")


def test_a_wrong_answer_comes_back_sooner_in_words(run):
    wrong, right = {"right": False, "due": "2026-11-23"}, {"right": True, "due": "2026-12-06"}
    for *given, said in (
        (wrong, TODAY, 9, "today, after 3 other questions or more."),
        (wrong, TODAY, 1, "today, after 1 other question or more."),
        (wrong, TODAY, 0, "next."),
        (right, TODAY, 9, "in 14 days, on 2026-12-06."),
        (right, "2026-12-05", 9, "tomorrow, on 2026-12-06."),
        (right, "2026-12-07", 9, "now, in Practice."),
    ):
        assert run("returnOf(...v)", *given) == f"It comes back {said}"


def test_all_orders_of_options_come_without_loss(run):
    orders = run("[...Array(400)].map(() => shuffled(3).join(''))")
    assert set(orders) == {"".join(order) for order in itertools.permutations("012")}


# Files


def file_of(answers, version=1):
    return json.dumps({"format": f"normalization-notebooks answers {version}", "answers": answers})


@pytest.mark.parametrize(
    ("mine", "theirs", "taken"),
    [
        (None, record(), True),
        (record(when="2026-11-01"), record(1, 0, when="2026-11-02"), True),
        (record(when="2026-11-02", began=moment("2026-11-01")), record(1, 0), False),
        (record(at=moment("2026-11-01") + 1), record(1, 0, at=moment("2026-11-01") + 2), True),  # of the same day
        (record(), record(1, 0, tries=2), True),  # of the same moment: that with more tries
        (record(), record(), False),
        (record(), record(1, 0), False),  # of the same moment and as many tries: what is here stays
    ],
)
def test_of_two_answers_the_later_one_counts(run, mine, theirs, taken):
    found = run("readAnswers(...v)", file_of({"a/a1": theirs}), cards(a1=mine))
    assert [answer["choice"] for _, answer in found["kept"]] == ([theirs["choice"]] if taken else [])
    assert found["older"] == (not taken)


EARLY, MIDDLE, LATE = moment("2026-11-03"), moment("2026-11-10"), moment("2026-11-20")
ON_THE_TRAIN = record(0, when="2026-11-20", at=LATE, began=EARLY, first=2, tries=3)
AT_SCHOOL = record(1, 0, when="2026-11-10", at=MIDDLE, began=MIDDLE, tries=2)
AT_NIGHT = AT_SCHOOL | {"at": LATE + 1, "when": "2026-11-20"}


def test_merged_answers_keep_later_choice_and_first_try(run):
    both = AT_NIGHT | {"first": 2, "began": EARLY, "tries": 3}
    for one, other, merged in ((ON_THE_TRAIN, AT_SCHOOL, ON_THE_TRAIN), (ON_THE_TRAIN, AT_NIGHT, both)):
        assert run("merge(...v)", one, other) == run("merge(...v)", other, one) == merged


def test_a_file_read_again_changes_nothing_more(run):
    theirs = cards(a1=ON_THE_TRAIN, a2=record(), a3=None)
    again = "readAnswers(writeAnswers(v[0]), v[1])"
    (card, once), (_, new) = run(again, theirs, cards(a1=AT_SCHOOL, a2=None, a3=record()))["kept"]
    assert (card["place"], once, new) == ("a1", ON_THE_TRAIN, record())
    found = run(again, theirs, cards(a1=once, a2=new, a3=record()))
    assert (found["kept"], found["older"], found["unknown"]) == ([], 2, 0)


def test_notes_go_with_the_answers_and_never_over_other_notes(run):
    place, name = "normalization-notebooks/16_practice/your notes", "15_practice/your notes"
    deck = [card | {"lesson": "16_practice"} for card in cards(a1=None)]
    assert run("writeAnswers(v[0])", deck) is None
    once = run("(save(v[1], JSON.stringify('mine')), readAnswers(writeAnswers(v[0]), v[0]))", deck, place)
    assert (once["kept"], once["notes"]) == ([], 0)
    assert run("readAnswers(...v).notes", file_of({name: "theirs"}), deck) == 1
    found = run(
        "(save(v[2], null), readAnswers(v[0], v[1]))", file_of({name: "theirs", "z/your notes": "x"}), deck, place
    )
    assert found["kept"] == [[{"place": place}, "theirs"]] and found["unknown"] == 1


def test_older_files_without_moments_are_read(run):
    old = {name: value for name, value in record(when="2026-11-02").items() if name not in ("at", "began")}
    mine = cards(a1=record(when="2026-11-01", first=1), b1=record(when="2026-11-03", began=1))
    found = run("readAnswers(...v)", file_of({"a/a1": old, "b/b1": old}), mine)
    ((card, answer),) = found["kept"]
    assert (card["place"], answer["when"], answer["first"], found["older"]) == ("a1", "2026-11-02", 1, 1)


def test_old_or_foreign_answers_are_counted_and_dropped(run):
    answers = {name: record() for name in ("a/a1", "a/gone", "z/a1", "__proto__")}
    text = file_of(answers | {"b/b1": record(mark="old"), "b/b2": 7})
    found = run("readAnswers(...v)", text, cards(a1=None, b1=None, b2=None))
    assert [card["place"] for card, _ in found["kept"]] == ["a1"] and found["unknown"] == 5


FOREIGN = {
    "This file holds no answers of these lessons": [
        *("", "{", "[" * 100_000, "\x00\x01PNG", "null", "[1, 2]", '{"answers": {}}', '{"format": ["answers", 1]}'),
        *('{"format": "normalization-notebooks answers 1"}', file_of([]), file_of(None)),
    ],
    "This file was saved by a newer version of these lessons": [file_of({}, version=2)],
}


def test_a_foreign_file_is_refused_in_one_sentence(run):
    attempt = "(() => { try { return readAnswers(...v); } catch (error) { return error.message; } })()"
    for message, texts in FOREIGN.items():
        for text in texts:
            assert run(attempt, text, []) == f'{message}: choose a file that was saved here with "Save my answers".'
