"""Made pages take the place of pages made before, and of nothing else."""

import pytest

from tools.publish.replace_folder import NotOurs, replace_folder


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "index.html").write_text("new")
    return folder


def files_in(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_new_empty_and_made_folders_are_accepted(made, tmp_path):
    out = tmp_path / "out"
    replace_folder(made, out)
    (out / "old.html").write_text("of a lesson that is gone")
    replace_folder(made, out)
    assert files_in(out) == ["index.html"]
    (tmp_path / "empty").mkdir()
    replace_folder(made, tmp_path / "empty")
    assert files_in(tmp_path / "empty") == ["index.html"]


def test_a_folder_holding_only_a_made_folder_works(made, tmp_path):
    replace_folder(made, tmp_path / "site" / "slides")
    replace_folder(made, tmp_path / "site")
    assert files_in(tmp_path / "site") == ["index.html"]


def test_a_kept_folder_stays_if_made_here(made, tmp_path):
    out = tmp_path / "site"
    replace_folder(made, out)
    replace_folder(made, out / "run")
    (out / "notes").mkdir()
    replace_folder(made, out, keep=["run", "notes"])
    assert files_in(out) == ["index.html", "run"] and files_in(out / "run") == ["index.html"]
    replace_folder(made, out)
    assert files_in(out) == ["index.html"]


@pytest.mark.parametrize("beside_a_made_folder", [False, True])
def test_a_folder_with_foreign_files_is_refused(made, tmp_path, beside_a_made_folder):
    mine = tmp_path / "Documents"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    if beside_a_made_folder:
        replace_folder(made, mine / "slides")
    with pytest.raises(NotOurs, match="holds other files: name a folder that is empty or new"):
        replace_folder(made, mine)
    assert (mine / "thesis.txt").read_text() == "years of work"


def test_a_file_is_refused(made, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotOurs, match="is a file: name a folder"):
        replace_folder(made, tmp_path / "file")
