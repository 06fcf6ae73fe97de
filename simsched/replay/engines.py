"""Choice of the engine that replays a plan, and its reason; `LIMITS` lists what each engine cannot do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simsched.errors import EngineError
from simsched.native import core
from simsched.replay.plan import Plan, Progress, StaticPlan
from simsched.schedule import Schedule
from simsched.spec import Engine

#: Most bytes per second in the compiled engine, of all tasks that may run concurrently.
MOST_BPS = 2**62


@dataclass(frozen=True)
class Limit:
    """Something that an engine cannot do.

    Parameters
    ----------
    engine : {"simpy", "native"}
        Which cannot.
    what : str
        The unsupported feature.
    instead : str
        What `engine="auto"` does then.
    """

    engine: Literal["simpy", "native"]
    what: str
    instead: str


MISSING = Limit("native", "replay where it is not built", "the SimPy engine replays")
TOO_MANY_BYTES = Limit(
    "native",
    f"count bandwidth that executors beyond the machine's threads could ask for together, above {MOST_BPS:.3g} B/s",
    "the SimPy engine replays",
)
ASKS_PYTHON = Limit(
    "native",
    "decide for a policy with a `decide()` of its own",
    "the compiled engine calls it back: as slow as the SimPy engine, and one replay at a time",
)
ONE_AT_A_TIME = Limit(
    "simpy",
    "replay in several threads at once",
    "threads take turns; the compiled engine runs them side by side",
)
LIMITS = (MISSING, TOO_MANY_BYTES, ASKS_PYTHON, ONE_AT_A_TIME)


@dataclass(frozen=True)
class Choice:
    """The engine that replays a plan.

    Parameters
    ----------
    engine : {"simpy", "native"}
    why : str
        Why this one.
    """

    engine: Literal["simpy", "native"]
    why: str

    def replay(self, plan: Plan, progress: Progress = None) -> Schedule:
        """Replay a plan and return its schedule."""
        if self.engine == "native":
            from simsched.replay import native_engine

            return native_engine.replay(plan, progress)
        from simsched.replay import simpy_engine

        return simpy_engine.replay(plan, progress)


def check_engine(name: str) -> None:
    """Check the name of an engine.

    Raises
    ------
    EngineError
        If there is none of that name.
    """
    if name not in get_args(Engine):
        raise EngineError(f"there is no engine {name!r}; expected one of {', '.join(get_args(Engine))}")


def chosen(asked: Engine, plan: Plan) -> Choice:
    """Return the engine that replays a plan: the requested one, or for "auto" the compiled one if it can.

    Raises
    ------
    EngineError
        If the compiled one is asked for and cannot.
    """
    if asked == "simpy":
        return Choice("simpy", "asked for")
    limit = _refused(plan)
    if asked == "native":
        if limit is not None:
            raise EngineError(f"engine 'native' cannot {limit.what}: use engine='simpy' or 'auto'")
        return Choice("native", "asked for")
    # core() reports once, if needed, that the compiled module is missing.
    if core() is None:
        limit = MISSING
    if limit is not None:
        return Choice("simpy", f"the compiled engine cannot {limit.what}")
    return Choice("native", _why_native(plan))


def _refused(plan: Plan) -> Limit | None:
    """Return what prevents the compiled engine, if built, from replaying a plan; None if it can."""
    # Machines reject more than their own threads can reach; only a layout beyond them can demand more.
    if not isinstance(plan, StaticPlan):
        return None
    at_once = max(plan.executors.n + len(plan.singles), 1)
    singly = plan.singly.loads if plan.singly else None
    most = max((int(asked.demand_Bps.max(initial=0)) for asked in (plan.loads, singly) if asked), default=0)
    return TOO_MANY_BYTES if most > MOST_BPS // at_once else None


def _why_native(plan: Plan) -> str:
    if isinstance(plan, StaticPlan) or plan.rule:
        return "the compiled engine is installed and runs this policy without Python"
    return "the compiled engine is installed; it calls the policy's own decide()"
