"""`make check` runs the tests of its lesson, and no other's."""

from tests.shared import LESSONS
from tools.author import check


def test_the_lesson_and_its_exercises_choose_the_tests():
    (lesson,) = [path for path in LESSONS if path.stem == "08_power_iteration"]
    *_, wanted = check.tests_of(lesson)
    names = wanted.split(" or ")
    assert names[0] == lesson.stem and names[-len(check.ALSO) :] == check.ALSO
    assert len(names) >= 6 and all(name.startswith("my_") for name in names[1 : -len(check.ALSO)])
