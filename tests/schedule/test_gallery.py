"""File names of a folder of results."""

from simsched.schedule.gallery import MOST_CHARACTERS, file_stem


def test_names_of_long_policies_are_cut_and_stay_distinct() -> None:
    # `kind-widths` of a graph of many kinds has more characters than a file name can have.
    taken: set[str] = set()
    one, other = (f"kind-widths[widths={'kind:1;' * 50}last:{width}]" for width in (1, 2))
    stems = [file_stem(one, taken), file_stem(other, taken)]
    assert [len(stem) for stem in stems] == [MOST_CHARACTERS, MOST_CHARACTERS + 2]
    assert stems[1] == f"{stems[0]}-2"


def test_names_keep_what_files_may_be_called() -> None:
    assert file_stem("corun[candidates=2]", set()) == "corun_candidates=2"
