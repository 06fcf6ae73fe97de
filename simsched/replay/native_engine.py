"""The front end of the compiled engine, which has the rules of the SimPy engine in C++: plans in, schedules out."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import inf
from types import ModuleType
from typing import Any

import numpy as np

from simsched.costs.loads import Loads, loads as loads_of
from simsched.errors import CostError, EngineError
from simsched.graph.adjacency import Csr
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.native import find
from simsched.native.building import how_to_get
from simsched.policy import CandidateRule, Running, Shortcuts, Start
from simsched.replay.action_checks import ActionChecks
from simsched.replay.data import DataPlan
from simsched.replay.plan import DynamicPlan, Plan, Progress, StaticPlan
from simsched.replay.replay import BEYOND_NUMBERS
from simsched.replay.result import Times, schedule_of
from simsched.replay.room import no_room
from simsched.schedule import Schedule
from simsched.schedule.runs import Runs
from simsched.schedule.transfers import Messages

#: Error of the compiled module when a time is not a number any more.
OVERFLOW = "the times grow beyond all numbers"
NONE = np.empty(0)
#: Disciplines that look at estimates.
PUSHING = ("pushed", "affinity", "spoliation")
NO_NUMBERS = np.empty(0, np.int32)


def replay(plan: Plan, progress: Progress = None) -> Schedule:
    """Replay a plan and return its schedule.

    Static policies and co-running by candidates never call Python. Any other policy is asked in Python, which sees the
    state that the compiled engine holds.

    Raises
    ------
    EngineError
        If the compiled module is missing.
    CostError
        If the times grow beyond all numbers.
    """
    if (native := find()) is None:
        raise EngineError(f"engine 'native' is not built: use engine='simpy' or 'auto', or {how_to_get()}")
    try:
        if isinstance(plan, StaticPlan):
            return _list(native, plan, progress)
        if (rule := plan.rule) and plan.problem.machine.kinds is None:
            return _corun(native, plan, rule, progress)
        return _asked(native, plan, progress)
    except OverflowError as error:
        # A policy's own OverflowError is passed on.
        if str(error) != OVERFLOW:
            raise
        raise CostError(BEYOND_NUMBERS) from error
    except native.NoRoomError as error:
        assert plan.data is not None  # noqa: S101 - narrows the type: only data need room
        task, place, need_B, held_B, waits = map(int, str(error).split())
        raise no_room(plan.data, task, place, need_B, held_B, waits=bool(waits)) from None


def _list(native: ModuleType, plan: StaticPlan, progress: Progress) -> Schedule:
    graph, cuts = plan.problem.graph, plan.shortcuts
    bound = native.ListPlan(
        successors=_bound(native, graph.successors),
        seconds=plan.seconds.ravel(),
        loads=_loads(native, plan.loads),
        shared=sharing_of(native, plan.problem.machine),
        discipline=plan.discipline,
        position=plan.position,
        executors=_bound(native, plan.executors),
        displaced=NO_NUMBERS if plan.displaced is None else plan.displaced.ravel(),
        predecessors=_bound(native, graph.predecessors) if plan.prefer == "producer" else None,
        delay_s=plan.dispatch_s,
        per_poller_s=plan.per_poller_s,
        shortcuts=None if cuts is None else _shortcuts(native, plan, cuts),
        kind_of=plan.kind_of,
        assigned=plan.assigned,
        kinds=1 if plan.kind_of is None else plan.seconds.shape[1],
        data=_data(native, plan.data),
        group_of=None if plan.bound is None else plan.bound.group_of,
        runs_on=None if plan.bound is None else plan.bound.runs_on.ravel(),
        pushing=native.Pushing(
            estimates=plan.alone_s.ravel(), **asdict(plan.pushing) | {"levels": plan.rank_s}
        )
        if plan.discipline in PUSHING
        else None,
    )
    done, ready_s, start_s, finish_s, executor, order, sent, aborted = native.replay_list(bound, progress)
    _require_all(done, plan)
    lost, lost_on, *moments = aborted
    n = len(executor)
    teams, team = plan.teams(np.append(executor, lost_on), np.append(np.arange(n, dtype=np.int32), lost))
    runs = Runs(lost, lost_on, team[n:], *moments)
    times = Times(ready_s, start_s, finish_s, team[:n], executor, order, _messages(sent), runs)
    return schedule_of(plan, times, teams, plan.alone(executor), "native")


def _shortcuts(native: ModuleType, plan: StaticPlan, cuts: Shortcuts) -> object:
    """Return the shortcuts past the queue in the form of the compiled module."""
    singly = plan.singly
    return native.Shortcuts(
        threads=cuts.threads,
        single_threaded=cuts.single_threaded,
        inline=cuts.inline,
        seconds=NONE if singly is None else singly.seconds.ravel(),
        loads=_loads(native, singly.loads if singly else None),
        predecessors=_bound(native, plan.problem.graph.predecessors),
        buffered=cuts.buffered,
    )


def _data(native: ModuleType, data: DataPlan | None) -> object:
    if data is None:
        return None
    network = data.network
    latency_s, s_per_B = network.tables
    return native.Data(
        inputs=_bound(native, data.inputs),
        written=_bound(native, data.written),
        readers=data.readers.astype(np.int64),
        producer=data.producer,
        size_B=data.size_B,
        home=data.home,
        goes_to=data.goes_to,
        through=data.through,
        place_of=data.place_of,
        latency_s=latency_s.ravel(),
        s_per_B=s_per_B.ravel(),
        ways=None if data.ways is None else _bound(native, data.ways),
        capacity_Bps=network.capacity_Bps,
        planned=data.planned,
        read=data.read,
        cache_B=data.cache_B,
        place_B=network.size_B,
        domain_of=network.domain_of,
        memory_of=_bound(native, network.memory_of),
        limited=data.limit is not None,
        spills=data.limit == "spill",
        aborts=data.aborts,
    )


def _messages(sent: tuple[Any, ...] | None) -> Messages | None:
    return None if sent is None else Messages(*sent)


def _bound(native: ModuleType, rows: Csr) -> object:
    return native.Csr(rows.indptr, rows.indices)


def _loads(native: ModuleType, loads: Loads | None) -> object:
    return loads and native.Loads(**vars(loads))


def _corun(native: ModuleType, plan: DynamicPlan, rule: CandidateRule, progress: Progress) -> Schedule:
    problem, machine = plan.problem, plan.problem.machine
    resize_s, resize_per_thread_s = plan.runtime.resize_costs_s
    bound = native.CorunPlan(
        successors=_bound(native, problem.graph.successors),
        widths=rule.widths.ravel(),
        estimates=rule.estimates_s.ravel(),
        seconds=_candidates_seconds(plan, rule),
        noise=NONE if plan.factors is None else plan.factors,
        serial=NONE if rule.serial_s is None else rule.serial_s,
        loads=_loads(native, _candidates_loads(plan, rule) if machine.effects.any else None),
        shared=sharing_of(native, machine),
        candidates=rule.widths.shape[1],
        offered=rule.n_offered,
        max_running=min(rule.max_running, machine.n_threads),
        cores=machine.n_cores,
        cores_per_tile=machine.cores_per_tile,
        ways=machine.smt,
        corun=rule.corun,
        dispatch_s=plan.runtime.choice_s,
        resize_s=resize_s,
        resize_per_thread_s=resize_per_thread_s,
        data=_data(native, plan.data),
    )
    (done, *columns), indptr, indices, sent = native.replay_corun(bound, progress)
    _require_all(done, plan)
    times, teams = replace(Times(*columns), messages=_messages(sent)), Csr(indptr, indices)
    return schedule_of(plan, times, teams, problem.costs.seconds(teams.degrees()[times.team]), "native")


def _asked(native: ModuleType, plan: DynamicPlan, progress: Progress) -> Schedule:
    problem, checks = plan.problem, ActionChecks(plan.problem, plan.spec)
    resize_s, resize_per_thread_s = plan.runtime.resize_costs_s
    view = native.PolicyView(
        problem=problem,
        checks=checks,
        running=Running,
        n_tasks=problem.graph.n_tasks,
        cores=problem.machine.n_cores,
        cores_per_tile=problem.machine.cores_per_tile,
        ways=problem.machine.smt,
        delay_s=plan.dispatch_s,
        per_poller_s=plan.per_poller_s,
        resize_s=resize_s,
        resize_per_thread_s=resize_per_thread_s,
        several_kinds=checks.several_kinds,
    )
    (done, *columns), sent = native.replay_policy(
        successors=_bound(native, problem.graph.successors),
        view=view,
        decide=plan.policy.decide,
        start=Start,
        factors=NONE if plan.factors is None else plan.factors,
        shared=sharing_of(native, problem.machine),
        data=_data(native, plan.data),
        progress=progress,
    )
    if done < problem.graph.n_tasks:
        raise checks.stuck(view)
    times, teams = replace(Times(*columns), messages=_messages(sent)), Csr(*view.teams())
    alone_s = problem.costs.on_teams(teams, times.team, problem.machine.kind_of)
    return schedule_of(plan, times, teams, alone_s, "native")


def sharing_of(native: ModuleType, machine: Machine) -> object:
    """Return the shared resources for the compiled module; None where tasks share nothing."""
    effects, structure, memory = machine.effects, machine.structure, machine.memory
    if not effects.any:
        return None
    return native.Sharing(
        bandwidth=effects.share_bandwidth,
        tiles=effects.share_tiles,
        cores=effects.share_cores,
        interconnect=effects.share_interconnect,
        remote=effects.remote_memory,
        tile_of=structure.tile_of.tolist(),
        domain_of=structure.domain_of.tolist(),
        segment_of=structure.segment_of.tolist(),
        n_tiles=machine.n_tiles,
        n_domains=machine.n_domains,
        n_segments=structure.n_segments,
        n_threads=machine.n_threads,
        compute=list(machine.compute_throughput),
        waiting=list(machine.memory_throughput),
        capacity_Bps=machine.domain_Bps,
        link_Bps=memory.link_bandwidth_Bps,
        penalty=memory.remote_penalty,
        interconnect_share=machine.interconnect_share,
        tile_slowdowns=machine.tile_slowdowns.tolist(),
        cluster_of=structure.cluster_of.tolist() if memory.cluster_bandwidth_Bps < inf else [],
        cluster_Bps=memory.cluster_bandwidth_Bps,
        fair=effects.fair_cores,
    )


def _candidates_seconds(plan: DynamicPlan, rule: CandidateRule) -> Seconds:
    """Return each candidate's seconds by the costs, in the order of its widths; rules may differ."""
    return np.stack([plan.problem.costs.seconds(widths) for widths in rule.widths.T], axis=1).ravel()


def _candidates_loads(plan: DynamicPlan, rule: CandidateRule) -> Loads:
    """Return each candidate's demand, in the order of its widths."""
    problem = plan.problem
    columns = [
        loads_of(problem.costs, rule.widths[:, i], problem.machine.effects)
        for i in range(rule.widths.shape[1])
    ]
    return Loads(
        *(
            np.stack([getattr(column, name) for column in columns], axis=1).ravel()
            for name in Loads.__dataclass_fields__
        )
    )


def _require_all(done: int, plan: Plan) -> None:
    if done < plan.problem.graph.n_tasks:
        raise EngineError(
            f"the replay ended after {done} of {plan.problem.graph.n_tasks} tasks; a bug in simsched"
        )
