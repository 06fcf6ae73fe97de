"""The default policies of a comparison: all that are installed, but the classics."""

from __future__ import annotations

from collections.abc import Iterable

from simsched.defaults import BASELINE
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.plugins import registered
from simsched.policy.bound import can_run
from simsched.policy.names import distinct
from simsched.policy.policy import NAMED_ALONE, Policy, policies
from simsched.policy.rank_policy import RankPolicy

#: What stands for all policies of the literature, alone or in a list of policies.
CLASSICS = "classics"
#: The classic that machines with several kinds of cores are compared under by default.
ON_KINDS = "heft"


def policies_or_all(
    sources: str | Iterable[str | Policy | type[Policy]] | None,
    machine: Machine | None = None,
    graph: TaskGraph | None = None,
) -> list[Policy]:
    """Return the given policies, each once and at least one, or by default all that are installed, the baseline first.

    The default leaves out classics, for which "classics" stands, alone or in the list, but for exact searches. On a
    machine with several kinds of cores, it stands for those that look at these (`left_out` names the others), and the
    default takes in HEFT, which chooses a kind for each task. It leaves out policies that cannot run all tasks of a
    given graph there.

    Raises
    ------
    SpecError
        If one is given in the place of a list of them, or a list of none.

    Examples
    --------
    >>> str(policies_or_all(None)[0]), [str(one) for one in policies_or_all(["fifo", "corun"])]
    ('sequential', ['fifo', 'corun'])
    >>> len(policies_or_all("classics")) > 10
    True
    """
    kinds = machine is not None and machine.kinds is not None
    if sources is None:
        found = [one for one in _installed() if not one.family or (kinds and one.name == ON_KINDS)]
        return (
            found
            if machine is None or graph is None
            else [one for one in found if can_run(one, graph, machine)]
        )
    if sources != CLASSICS and (isinstance(sources, str | type) or not isinstance(sources, Iterable)):
        return policies(sources)
    classics = [
        one
        for one in _installed()
        if one.family and one.family not in NAMED_ALONE and (isinstance(one, RankPolicy) or not kinds)
    ]
    given = [sources] if isinstance(sources, str) else sources
    return distinct(
        policies([one for source in given for one in (classics if source == CLASSICS else [source])])
    )


def left_out(
    sources: str | Iterable[str | Policy | type[Policy]] | None,
    machine: Machine,
    graph: TaskGraph | None = None,
) -> list[Note]:
    """Return a note on the classics that "classics" does not stand for on a machine, if it is among the sources.

    By default, one on policies that cannot run all tasks of a given graph there.

    Examples
    --------
    >>> import simsched as ss
    >>> left_out(["classics", "cpa"], ss.machine("generic[cores=2,kinds=each]"))
    ['left out on kinds of cores: backfilling, lws, mcpa, runtime, work-stealing; name them to run them']
    >>> left_out("classics", ss.machine("generic[cores=2]"))
    []
    """
    if sources is None and graph is not None:
        chosen = {one.name for one in policies_or_all(None, machine, graph)}
        names = ", ".join(one.name for one in policies_or_all(None, machine) if one.name not in chosen)
        said = f"left out, as they have no core for tasks that only some kinds of cores can run: {names}"
        return [Note(said, Weight.DOUBT)] if names else []
    if CLASSICS not in ([sources] if isinstance(sources, str) else sources or ()):
        return []
    chosen = {one.name for one in policies_or_all(sources, machine)}
    names = ", ".join(one.name for one in policies_or_all(CLASSICS) if one.name not in chosen)
    said = f"left out on kinds of cores: {names}; name them to run them"
    return [Note(said, Weight.DOUBT)] if names else []


def _installed() -> list[Policy]:
    return policies(sorted(registered("policies"), key=lambda name: (name != BASELINE, name)))
