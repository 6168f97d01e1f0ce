"""A folder of made pages replaces the one made before, and nobody's own files."""

import pytest

from tools.publish.replace_folder import NotOurs, replace_folder


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "made"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "page.html").write_text("new")
    return folder


@pytest.mark.parametrize("before", ["nothing", "empty", "made"])
def test_new_empty_and_earlier_places_are_taken(made, tmp_path, before):
    out = tmp_path / "site"
    if before != "nothing":
        out.mkdir()
    if before == "made":
        replace_folder(made, out)
        (out / "inner" / "old.html").touch()
    replace_folder(made, out)
    assert [path.name for path in (out / "inner").iterdir()] == ["page.html"]


def test_other_peoples_places_stay_as_they_are(made, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").touch()
    for place, words in ((theirs, "holds other files"), (theirs / "thesis.txt", "is a file")):
        with pytest.raises(NotOurs, match=words):
            replace_folder(made, place)
    assert [path.name for path in theirs.iterdir()] == ["thesis.txt"]


def test_a_kept_folder_stays_if_made_here(made, tmp_path):
    out = tmp_path / "site"
    replace_folder(made, out / "run")  # before the site itself was made
    replace_folder(made, out / "other")
    replace_folder(made, out, keep=["run"])
    assert (out / "run" / "inner" / "page.html").exists() and not (out / "other").exists()
    (out / "mine").mkdir()
    replace_folder(made, out, keep=["mine"])
    assert not (out / "mine").exists()
