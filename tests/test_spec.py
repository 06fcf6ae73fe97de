"""Specs whose values are specs."""

from dataclasses import dataclass

import pytest

from simsched.errors import SpecError
from simsched.graph.cleanup import cleanup
from simsched.policy import policy
from simsched.spec import Spec, made, parse, parse_path, split


def test_a_value_may_have_brackets_of_its_own():
    text = "swtvm[machine=sw26010[ldm.gemm_m=32,ldm.gemm_n=128],groups=true]"
    spec = parse(text)
    assert dict(spec.params) == {"machine": "sw26010[ldm.gemm_m=32,ldm.gemm_n=128]", "groups": True}
    assert str(spec) == text
    assert dict(parse("a[b=c[],d=1]").params) == {"b": "c[]", "d": 1}


@pytest.mark.parametrize("text", ["a[b=d[e[f=1]]]", "a[b=c][d=e]", "[a=1]", "a,b"])
def test_deeper_ones_and_several_are_no_specs(text):
    with pytest.raises(SpecError, match="is not a spec; write one name"):
        parse(text)


@pytest.mark.parametrize("text", ["a[b", "a[b=[c]", "a[b=c]]"])
def test_an_unbalanced_bracket_is_told(text):
    with pytest.raises(SpecError, match="has a bracket without its partner"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("corun[smt=1]", "expected true or false, as in smt=false"),
        ("corun[candidates=x]", "expected a whole number, as in candidates=3"),
        ("fifo[small_s=true]", "expected a number, as in small_s=0.0"),
        ("corun[candidate=2]", "did you mean candidates?"),
    ],
)
def test_a_wrong_parameter_is_told_in_the_words_of_specs(text, said):
    with pytest.raises(SpecError) as caught:
        policy(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["7", "007", "1e3", "1_0", "true", "True", "nan", "iteration 0"])
def test_a_text_that_looks_like_a_number_stays_what_was_written(text):
    step = cleanup(f"select[names={text}]")
    assert step.names == text
    assert cleanup(str(step)) == step


def test_specs_are_apart_by_spaces_outside_of_brackets():
    text = " drop  select[names=a b+c[0 1],kinds=x ] fuse-chains\t"
    assert split(text) == ["drop", "select[names=a b+c[0 1],kinds=x ]", "fuse-chains"]
    assert split("drop[names=a b") == ["drop[names=a", "b"]
    assert split(" ") == []


def test_a_path_may_have_brackets_too():
    for path in ("", "[1]/a.toml", "a]b[.toml", "a[b=c].toml"):
        assert parse_path(path) == Spec(path)
        assert parse_path(f"{path}[c=d[e=1],f=2]") == Spec(path, {"c": "d[e=1]", "f": 2})
    with pytest.raises(SpecError, match=r"'c' in 'a.toml\[c\]' is not key=value"):
        parse_path("a.toml[c]")


@dataclass(frozen=True)
class Limited:
    """A parameter that is nothing unless it is given."""

    most: float | None = None


def test_a_parameter_whose_default_is_none_takes_what_is_given():
    assert made(Limited, "policy", parse("limited[most=1.5]")) == Limited(1.5)
    assert made(Limited, "policy", parse("limited")) == Limited()
