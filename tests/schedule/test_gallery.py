"""File names of a folder of results."""

from pathlib import Path

import pytest

from simsched.errors import SimschedError
from simsched.schedule.export import MOST_CHARACTERS, file_stem, make_folder


def test_names_of_long_policies_are_cut_and_stay_distinct() -> None:
    # `kind-widths` of a graph of many kinds has more characters than a file name can have.
    taken: set[str] = set()
    one, other = (f"kind-widths[widths={'kind:1;' * 50}last:{width}]" for width in (1, 2))
    stems = [file_stem(one, taken), file_stem(other, taken)]
    assert [len(stem) for stem in stems] == [MOST_CHARACTERS, MOST_CHARACTERS + 2]
    assert stems[1] == f"{stems[0]}-2"


def test_names_keep_what_files_may_be_called() -> None:
    assert file_stem("corun[candidates=2]", set()) == "corun_candidates=2"


def test_a_folder_is_not_called_as_a_picture(tmp_path: Path) -> None:
    with pytest.raises(
        SimschedError, match=r"charts\.png: what is written is a folder of files.* as in charts$"
    ):
        make_folder(tmp_path / "charts.png")
    assert not any(tmp_path.iterdir())
    make_folder(tmp_path / "charts-0.2")
