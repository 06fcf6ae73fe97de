"""The Markdown of a report: complete, and with names that start no markup."""

import re

import pytest

import simsched as ss

SECTIONS = [
    "Policies", "Why it takes so long", "More and fewer cores", "Layouts", "The graph", "The machine",
    "How far to trust it",
]  # fmt: skip


def test_all_sections_are_there(three):
    titles = re.findall(r"^## (.*)$", three.markdown, re.MULTILINE)
    assert [title for title in titles if title in SECTIONS] == SECTIONS
    assert three.markdown.startswith("# three on generic[cores=2]\n")
    assert "| fifo | 2x1 | replays | 4 s |" in three.markdown


def test_tables_are_whole(three):
    blocks = re.findall(r"(?:^\|.*\n)+", three.markdown, re.MULTILINE)
    assert len(blocks) > 10
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_hostile_names_start_nothing(hostile):
    text = hostile.markdown
    assert "\x1b" not in text
    assert "<script" not in text
    assert "</table>" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "@somebody" not in text
    assert "#12" not in text
    assert not re.search(r"(?<!\\)[`$]", text)
    assert set(re.findall(r"<[^>]*>", text)) == {"<details>", "</details>", "<summary>", "</summary>"}


def test_it_is_saved_by_suffix(three, tmp_path):
    three.save(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text("utf-8") == three.markdown
    with pytest.raises(ss.SimschedError, match=r"\.html"):
        three.save(tmp_path / "report.pdf")
    with pytest.raises(ss.SimschedError, match="there is no folder"):
        three.save(tmp_path / "none" / "report.md")


def test_same_question_same_bytes(three):
    question = three.findings.question
    again = ss.report(question.graph, question.machine, question.policies, seeds=2, replays=8)
    assert again.markdown == three.markdown
