"""A third simulator, slow and plain, written from docs/semantics.md and not from the engines.

Every instant looks at everything again: no event queue, no heap, nothing kept that can be found anew.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from math import inf
from types import SimpleNamespace

from simsched.errors import EngineError

from .page_data import Moves
from .page_sharing import slowdowns


class Simulator:
    """What both kinds of policies have in common: tasks begin, are slowed down, and end."""

    aborts = False  # whether runs may be aborted

    def __init__(self, problem, runtime, factors, limit):
        self.problem, self.runtime = problem, runtime
        self.home = {}  # of a task: its executor's own threads, from which an operating system may move it
        self.graph, self.machine, self.costs = problem.graph, problem.machine, problem.costs
        self.n, kinds = self.graph.n_tasks, self.machine.kinds
        self.of_kind = [self.costs.of_kind(kind) for kind in range(len(kinds.names) if kinds else 1)]
        self.factors = [1.0] * self.n if factors is None else factors.tolist()
        self.before = [self.graph.predecessors.neighbours(task).tolist() for task in range(self.n)]
        self.after = [self.graph.successors.neighbours(task).tolist() for task in range(self.n)]
        self.now_s, self.round = 0.0, 0
        self.ready_at_s, self.start_s, self.finish_s, self.order = {}, {}, {}, []
        self.released, self.ended = {}, {}  # rounds
        self.threads, self.due_s, self.slowdown = {}, {}, {}
        self.begun_s, self.lost = {}, []  # when tasks began to compute; aborted runs
        self.decision = None  # (when it ends, what then)
        self.doubtful = False  # whether rounding may decide what comes first
        self.moves, self.extra_s = None, {}
        if self.graph.data is not None and self.machine.network is not None:
            limited = limit if limit in ("wait", "spill") else None
            self.moves = Moves(self.graph, self.machine, limited, self.start, self.compute, self.aborts)

    def costs_on(self, task, threads):
        """Return the costs of a task on the slowest kind of cores of its team (rule 11)."""
        home = self.home.get(task, threads)
        kinds = sorted({int(self.machine.kind_of[thread % self.machine.n_cores]) for thread in home})
        return max((self.of_kind[kind] for kind in kinds), key=lambda one: one.seconds_of(task, len(threads)))

    def begin(self, task, threads, extra_s=0.0):
        """Place a task now on hardware threads; start it, if its data are there."""
        self.threads[task], self.extra_s[task] = threads, extra_s
        if self.moves is None:
            self.start(task)
            self.compute(task)
        else:
            place = self.machine.network.place_of[threads[0] % self.machine.n_cores]
            self.moves.placed(task, int(place), self.now_s)

    def start(self, task):
        """Start a placed task now."""
        self.start_s[task] = self.now_s
        self.order.append(task)

    def compute(self, task):
        """Let the time of a task on its cores begin."""
        threads, self.begun_s[task] = self.threads[task], self.now_s
        seconds = self.costs_on(task, threads).seconds_of(task, len(threads)) * self.factors[task]
        self.due_s[task], self.slowdown[task] = self.now_s + (seconds + self.extra_s[task]), 1.0

    def completions(self):
        """Handle all completions of this round, ascending; return whether there were any."""
        done = sorted(task for task, due_s in self.due_s.items() if due_s == self.now_s)
        self.round += bool(done)
        for task in done:
            del self.due_s[task]
            self.finish_s[task], self.ended[task] = self.now_s, self.round
            self.freed(task)
            if self.moves is not None:
                self.moves.finished(task, self.now_s)
        for task in range(self.n):
            if task not in self.ready_at_s and all(other in self.finish_s for other in self.before[task]):
                self.ready_at_s[task], self.released[task] = self.now_s, self.round
                self.became_ready(task)
        return bool(done)

    def decided(self, delay_s, then):
        """Take a decision: what comes of it happens at once where that takes no time."""
        if delay_s:
            self.decision = (self.now_s + delay_s, then)
        else:
            then()

    def instant(self):
        """Handle one round of completions and decisions; return whether anything happened."""
        ended = self.decision is not None and self.decision[0] == self.now_s
        if ended:
            then, self.decision = self.decision[1], None
            then()
        happened = self.completions() or ended
        if self.moves is not None:
            happened = self.moves.instant(self.now_s) or happened
        return self.start_own() or happened

    def start_own(self):
        """Start what needs no decision."""
        return False

    def retime(self):
        """Rescale what is left of the running tasks, and of messages."""
        if self.moves is not None:
            self.moves.retime(self.now_s)
        if not self.machine.effects.any:
            return
        running = {task: self.threads[task] for task in self.due_s}
        for task, slowdown in slowdowns(
            self.machine, self.costs_on, running, self.threads, self.before
        ).items():
            if slowdown != self.slowdown[task]:
                left_s = (self.due_s[task] - self.now_s) * (slowdown / self.slowdown[task])
                self.due_s[task], self.slowdown[task] = self.now_s + left_s, slowdown

    def run(self):
        """Run to the end and return itself."""
        self.completions()
        self.decide_all()
        self.retime()
        while events := self.events():
            self.now_s = min(events)
            self.doubtful |= any(0 < event - self.now_s <= 1e-9 * event for event in events)
            while self.instant() | self.decide_all():
                pass
            self.retime()
        if len(self.finish_s) < self.n:
            raise EngineError("tasks wait for ever")
        return self

    def decide_all(self):
        """Decide, then let in what waits for room; return whether anything happened."""
        decided = self.decide()
        return (self.moves is not None and self.moves.take_room()) or decided

    def lost_columns(self):
        """Return the tasks, executors, starts and ends of aborted runs."""
        return [*zip(*self.lost, strict=True)] or [()] * 4

    def events(self):
        """Return when something happens next of each task, decision and message."""
        pending = [self.decision[0]] if self.decision else []
        return [*self.due_s.values(), *pending, *(self.moves.events() if self.moves else [])]


class Listed(Simulator):
    """A static policy: a queue in an order, executors of fixed threads, shortcuts."""

    def __init__(self, problem, runtime, factors, limit, policy, ranks, teams, displaced, past):
        self.aborts = policy.discipline == "spoliation"
        super().__init__(problem, runtime, factors, limit)
        self.policy, self.ranks, self.displaced, self.past = policy, ranks, displaced, past
        self.teams = teams + [[single] for single in ([] if past is None else past.threads.tolist())]
        self.k = len(teams)
        self.ran_on, self.queued = {}, set()
        self.busy, self.free_now = set(), set()
        self.small = [[] for _ in self.teams]
        self.buffers = {}  # executor: (task, whether it has arrived)

    def key(self, task):
        order = {"rank": self.ranks[task], "fifo": self.released[task], "lifo": -self.released[task]}
        return order[self.policy.discipline], task

    def producer(self, task):
        last = max(self.before[task], key=lambda other: (self.ended[other], other), default=None)
        return None if last is None else self.ran_on[last]

    def became_ready(self, task):
        if self.past is not None and self.past.inline[task] and self.before[task]:
            self.small[self.producer(task)].append(task)
        else:
            self.queued.add(task)

    def freed(self, task):
        self.busy.remove(self.ran_on[task])
        self.free_now.add(self.ran_on[task])

    def launch(self, task, executor):
        self.busy.add(executor)
        self.ran_on[task] = executor
        self.home[task] = home = self.teams[executor]
        moved = [-1] * len(home) if self.displaced is None else self.displaced[task].tolist()[: len(home)]
        self.begin(task, [at if to < 0 else to for at, to in zip(home, moved, strict=True)])

    def start_own(self):
        started = False
        for executor in sorted(self.free_now):
            if self.small[executor]:
                self.launch(self.small[executor].pop(0), executor)
            elif self.buffers.get(executor, (0, False))[1]:
                self.launch(self.buffers.pop(executor)[0], executor)
            else:
                continue
            started = True
        self.free_now.clear()
        return started

    def can_run(self, task, executor):
        """Return whether an executor can run a task (rule 11)."""
        kind = self.machine.kind_of[self.teams[executor][0] % self.machine.n_cores]
        return self.of_kind[kind].one_core_s[task] < inf

    def idle(self, executors):
        return [one for one in executors if one not in self.busy and one not in self.buffers]

    def queue(self, apart):
        return [
            task
            for task in self.queued
            if (self.past is not None and bool(self.past.single_threaded[task])) == apart
        ]

    def decide(self):
        """Decide until nothing more can start or a decision takes time; return whether anything was decided."""
        decided = False
        while self.decision is None and (self.hand_over(False) or self.hand_over(True) or self.buffer()):
            decided = True
        return decided

    def hand_over(self, single):
        """Give the next task to an idle executor: of one thread, or of the layout."""
        queue, idle = (
            self.queue(single),
            self.idle(range(self.k, len(self.teams)) if single else range(self.k)),
        )
        queue = [task for task in queue if any(self.can_run(task, one) for one in idle)]
        if not queue:
            return False
        task = min(queue, key=self.key)
        able = [one for one in idle if self.can_run(task, one)]
        executor = able[0]
        if not single and self.policy.prefer == "producer" and self.producer(task) in able:
            executor = self.producer(task)
        self.queued.remove(task)
        self.busy.add(executor)
        self.decided(self.price_s(len(idle) - 1), lambda: self.launch(task, executor))
        return True

    def buffer(self):
        """Put the next task into an empty buffer."""
        queue, empty = self.queue(False), [one for one in range(self.k) if one not in self.buffers]
        if not queue or not empty or not self.past or not self.past.buffered:
            return False
        task, executor = min(queue, key=self.key), empty[0]
        self.queued.remove(task)
        self.buffers[executor] = (task, False)

        def arrived():
            self.buffers[executor] = (task, True)
            if executor not in self.busy:
                self.free_now.add(executor)

        self.decided(self.price_s(0), arrived)
        return True

    def price_s(self, pollers):
        if self.policy.queue == "central":
            return self.runtime.dispatch_s
        return self.runtime.pop_s + self.runtime.pop_per_poller_s * pollers


class Accelerated(Listed):
    """HeteroPrio: idle executors take what their kind of cores accelerates most, or take running tasks over."""

    def own_kind(self, executor):
        return int(self.machine.kind_of[self.teams[executor][0] % self.machine.n_cores])

    @cached_property
    def alike(self):
        """Return of each executor the first one whose cores have the same seconds, speed and link."""
        kinds, looks = self.machine.kinds, []
        for one in range(self.k):
            rows = (kinds.speeds, kinds.link_Bps, kinds.link_latency_s) if kinds else ()
            stated = [row[self.own_kind(one)] for row in rows if row]
            looks.append([*stated, *(self.estimate_s(task, one) for task in range(self.n))])
        return [looks.index(look) for look in looks]

    def kind(self, executor):
        return self.alike[executor]

    def estimate_s(self, task, executor):
        return self.of_kind[self.own_kind(executor)].seconds_of(task, len(self.teams[executor]))

    def ratio(self, task, executor):
        """Return the seconds on an executor over those on the best other kind of which there are executors."""
        others = [one for one in range(self.k) if self.kind(one) != self.kind(executor)]
        own_s = self.estimate_s(task, executor)
        best_s = min((self.estimate_s(task, one) for one in others), default=own_s)
        if own_s == best_s:
            return 1.0
        return own_s / best_s if best_s else inf

    def hand_over(self, single):
        """Let the first idle executor take a ready task; where there is none, let the first that can take one over."""
        queue, idle = self.queue(False), self.idle(range(self.k))
        if single or not idle:
            return False
        if able := [one for one in idle if any(self.can_run(task, one) for task in queue)]:
            executor = able[0]
            queue = [task for task in queue if self.can_run(task, executor)]
            key = {task: (self.ratio(task, executor), self.ranks[task], task) for task in queue}
            found = min(queue, key=key.get)
            self.queued.remove(found)
        else:
            pairs = ((self.slower(one, self.price_s(len(idle) - 1)), one) for one in idle)
            found, executor = next((pair for pair in pairs if pair[0] is not None), (None, None))
            if found is None or self.policy.discipline != "spoliation":
                return False
            self.abort(found)
        self.busy.add(executor)
        self.decided(self.price_s(len(idle) - 1), lambda: self.launch(found, executor))
        return True

    def slower(self, executor, delay_s):
        """Return the task that is expected to end last of those that an executor would end earlier; None for none."""
        found = []
        for task in self.due_s:
            before = [self.ran_on[task], *(on for other, on, *_ in self.lost if other == task)]
            if self.kind(executor) in map(self.kind, before):
                continue
            start_s, missing_s = self.now_s + delay_s, 0.0
            if self.moves is not None:
                place = self.machine.network.place_of[self.teams[executor][0] % self.machine.n_cores]
                missing_s = self.moves.missing_s(task, int(place))
            here_s = start_s + missing_s + self.estimate_s(task, executor)
            there_s = self.begun_s[task] + self.estimate_s(task, self.ran_on[task])
            self.doubt(here_s, there_s, exactly=self.moves is None)
            if here_s < there_s:
                found.append((-there_s, task))
        for one, other in pairwise(sorted(found)):
            self.doubt(one[0], other[0])
        return min(found)[1] if found else None

    def doubt(self, one_s, other_s, *, exactly=True):
        """Note where rounding may decide which of two times is earlier."""
        self.doubtful |= abs(one_s - other_s) <= 1e-9 * abs(other_s) and not (exactly and one_s == other_s)

    def abort(self, task):
        """Abort the run of a task."""
        self.lost.append((task, self.ran_on[task], self.start_s.pop(task), self.now_s))
        self.order.remove(task)
        del self.due_s[task]
        self.busy.remove(self.ran_on[task])
        if self.moves is not None:
            self.moves.aborted(task, self.now_s)


class Asked(Simulator):
    """A dynamic policy, which sees this object as its view."""

    def __init__(self, problem, runtime, factors, limit, policy):
        super().__init__(problem, runtime, factors, limit)
        self.policy, self.actions = policy, iter(())
        self.ready, self.held, self.last_width = [], {}, {}
        self.newly_ready, self.new = [], []
        self.newly_finished, self.over = [], []
        self.levels = problem.levels
        if self.moves is not None and policy.planned_cores is not None:
            place_of = self.machine.network.place_of.tolist()
            self.moves.plan([place_of[core % self.machine.n_cores] for core in policy.planned_cores])

    @property
    def running(self):
        return list(self.held.values())

    @property
    def idle_cores(self):
        busy = {thread for held in self.held.values() for thread in held.cores}
        return [thread for thread in range(self.machine.n_threads) if thread not in busy]

    def became_ready(self, task):
        self.ready = sorted([*self.ready, task])
        self.new.append(task)

    def freed(self, task):
        del self.held[task]
        self.over.append(task)

    def ready_s(self, task):
        return self.ready_at_s[task]

    def seconds(self, task, width=1):
        return self.costs.seconds_of(task, width)

    def decide(self):
        """Ask until nothing more starts or a decision takes time; return whether anything was decided."""
        decided = False
        while self.decision is None:
            action = next(self.actions, None)
            if action is None and self.ready and self.idle_cores:
                self.newly_ready, self.new = self.new, []
                self.newly_finished, self.over = self.over, []
                self.actions = iter(self.policy.decide(self))
                action = next(self.actions, None)
            if action is None:
                break
            self.carry_out(action)
            decided = True
        return decided

    def carry_out(self, action):
        threads = sorted(action.cores) or self.taken(action.width)
        task, width = action.task, len(threads)
        others = len(self.idle_cores) - width
        resize_s = self.resize_s(threads)
        self.last_width.update(dict.fromkeys(threads, width))
        delay_s = self.runtime.choice_s
        if self.policy.queue == "shared":
            delay_s = self.runtime.pop_s + self.runtime.pop_per_poller_s * others
        seconds = self.costs_on(task, threads).seconds_of(task, width)
        end_s = self.now_s + delay_s + (seconds + resize_s)
        self.ready.remove(task)
        self.held[task] = SimpleNamespace(task=task, cores=tuple(threads), finish_s=end_s)
        self.decided(delay_s, lambda: self.begin(task, threads, resize_s))

    def resize_s(self, threads):
        width, runtime = len(threads), self.runtime
        if all(self.last_width.get(thread, width) == width for thread in threads):
            return 0.0
        if runtime.reuse_teams:
            return runtime.resize_s
        return runtime.team_creation_s + width * runtime.team_creation_per_thread_s

    def taken(self, width):
        """Return the threads of a team: the first ways before the second, whole tiles for wide teams."""
        cores, of_tile, taken = self.machine.n_cores, self.machine.cores_per_tile, []
        of_kinds = [
            [t for t in self.idle_cores if self.machine.kind_of[t % cores] == kind]
            for kind in range(len(self.of_kind))
        ]
        free = next((threads for threads in of_kinds if len(threads) >= width), self.idle_cores)
        for way in range(self.machine.smt):
            idle, left = [t for t in free if t // cores == way], width - len(taken)
            tiles = [thread % cores // of_tile for thread in idle]
            wide = left >= of_tile
            idle.sort(key=lambda t: (tiles.count(t % cores // of_tile) * (-1 if wide else 1), t))
            taken += idle[:left]
        return sorted(taken)
