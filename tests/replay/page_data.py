"""Data that move, rule by rule as docs/semantics.md, Data, has them; everything is looked up anew at each instant."""

from __future__ import annotations

from math import ceil, inf, isnan
from types import SimpleNamespace

from simsched.errors import EngineError


class Moves:
    """Objects, where they are, and messages on their way; `start` begins a task, `compute` its time on its cores."""

    def __init__(self, graph, machine, limit, start, compute, aborts):
        self.network, self.start, self.compute = machine.network, start, compute
        self.ways = self.network.ways
        self.shared, self.reads_afar = machine.effects.share_links, self.ways.mode == "read"
        data = graph.data
        self.size = [0 if isnan(size) else ceil(size) for size in data.size_B.tolist()]
        self.writer = data.producer.tolist()
        self.readers = [data.readers.neighbours(one).tolist() for one in range(data.n)]
        self.homes = self.network.home_of(data.n).tolist()
        n = graph.n_tasks
        self.written = [[one for one, by in enumerate(self.writer) if by == task] for task in range(n)]
        self.at = {
            one: self.homes[one] for one, by in enumerate(self.writer) if by < 0 and self.homes[one] >= 0
        }
        fixed = {one for one, by in enumerate(self.writer) if by < 0 and one not in self.at}
        self.read = [
            [one for one, tasks in enumerate(self.readers) if task in tasks and one not in fixed]
            for task in range(n)
        ]
        self.asked = {}  # (object, place): "wanted", "sent" or "there"
        self.messages, self.now_s = [], 0.0
        self.place, self.missing, self.left = {}, {}, {}
        self.cache_B = self.cache_of(machine)
        self.near = [[] for _ in self.network.names]  # the object used longest ago first
        self.room = None if limit is None else Room(self, limit, aborts)

    def cache_of(self, machine):
        """Return what stays near a place of cores: an L2 that it has to itself."""
        own = self.ways.places == "tile" or (self.ways.places == "core" and machine.cores_per_tile == 1)
        unknown = all(self.network.size_B[place] == inf for place in self.network.place_of)
        return machine.l2_B if own and unknown and machine.l2_B is not None else inf

    def links(self, source, target):
        """Return the links of a way, and its latency."""
        links = self.network.listed.neighbours(source * self.network.n_places + target).tolist()
        if source == target:
            return [], 0.0
        pairs = self.network.pair_latency_s
        if max(source, target) < len(pairs):
            return links, float(pairs[source, target])
        ends = self.network.extra_latency_s[source] + self.network.extra_latency_s[target]
        return links, self.ways.latency_s + (len(links) - 2) * self.ways.hop_latency_s + ends

    # What tasks do

    def plan(self, places):
        """Tasks are planned at places: ask there for what they read before the replay."""
        if not self.reads_afar and self.room is None:
            for task, place in enumerate(places):
                for one in self.read[task]:
                    sent = one in self.at or self.ways.route == "host" or places[self.writer[one]] != place
                    if sent:
                        self.ask(one, place)

    def placed(self, task, place, now_s):
        """A team is to run a task: start it, or let it wait for room or for what it reads."""
        self.place[task], self.now_s = place, now_s
        if self.room is None or self.room.enters(task):
            self.fetch(task)
            if self.room is not None:
                self.room.tidy()

    def fetch(self, task):
        place = self.place[task]
        if not self.reads_afar:
            far = [one for one in self.read[task] if self.at.get(one) != place]
            for one in far:
                self.ask(one, place)
            self.missing[task] = {one for one in far if self.asked[one, place] != "there"}
            if self.missing[task]:
                return
            del self.missing[task]
        self.begin(task)

    def begin(self, task):
        self.start(task)
        if self.reads_afar:
            self.left[task] = self.far(task)
            self.read_on(task)
        else:
            self.compute(task)

    def finished(self, task, now_s):
        """A task has written what it writes."""
        place, self.now_s = self.place[task], now_s
        through, home = self.ways.route == "host" and not self.reads_afar, self.ways.home != "everywhere"
        for one in self.written[task]:
            self.keep(one, place)
            if through:
                self.send_home(one, place, self.network.host)
                continue
            self.available(one, place)
            if home and not self.readers[one] and not self.reads_afar:
                self.send_home(one, place, self.homes[one])
        if self.room is not None:
            self.room.finished(task)

    def aborted(self, task, now_s):
        """A task is taken over."""
        self.now_s = now_s
        if self.room is not None:
            self.room.aborted(task)

    def take_room(self):
        """Begin what waited for room that decisions have made, or let it go on; return whether anything began."""
        if self.room is None:
            return False
        self.room.let_in()
        return bool(self.begin_fetched())

    def missing_s(self, task, place):
        """Return the seconds of all messages that bring a task's data to a place, if nothing else moves."""
        total_s = 0.0
        for one in self.read[task]:
            if self.reads_afar:
                near = one in self.near[place]
            else:
                direct = self.ways.route != "host" or place != self.network.host
                near = (self.at.get(one) == place and direct) or (one, place) in self.asked
            if not near:
                links, latency_s = self.links(self.at[one], place)
                slowest = max((1 / self.network.capacity_Bps[link] for link in links), default=0.0)
                total_s += latency_s + self.size[one] * slowest
        return total_s

    def send_home(self, one, place, home):
        if place != home:
            self.send(one, place, home)

    # Reading from afar

    def far(self, task):
        """Return what a task reads from afar, and whence; all of it is near from now on."""
        found, place = [], self.place[task]
        for one in self.read[task]:
            if one not in self.near[place]:
                at = self.at[one]
                kept = self.cache_B == inf or at not in self.network.place_of or one in self.near[at]
                source = at if kept else self.network.below(at, one)
                found += [(one, source)] if source != place else []
            self.keep(one, place)
        return found

    def keep(self, one, place):
        near = self.near[place]
        if one in near:
            near.remove(one)
        elif self.size[one] > self.cache_B:
            return
        near.append(one)
        while sum(self.size[other] for other in near) > self.cache_B:
            near.pop(0)

    def read_on(self, task):
        while self.left[task]:
            one, source = self.left[task].pop(0)
            if not self.send(one, source, self.place[task], task).there:
                return
        self.compute(task)

    # Messages

    def ask(self, one, place):
        if (one, place) in self.asked:
            return
        if one in self.at:
            self.asked[one, place] = "sent"
            self.send(one, self.at[one], place)
        else:
            self.asked[one, place] = "wanted"

    def available(self, one, place):
        self.at[one] = place
        for (other, to), state in list(self.asked.items()):
            if other == one and state == "wanted":
                self.asked[one, to] = "sent"
                self.send(one, place, to)

    def send(self, one, source, place, reader=None, *, spills=False):
        links, latency_s = self.links(source, place)
        alone = max((1 / self.network.capacity_Bps[link] for link in links), default=0.0)
        message = SimpleNamespace(
            one=one, source=source, place=place, reader=reader, spills=spills, links=links, there=False,
            bytes_s=self.size[one] * alone, alone=alone, slowdown=1.0, moves=False,
        )  # fmt: skip
        self.messages.append(message)
        if self.room is not None and reader is None:
            self.room.uses(one, source)
            self.room.uses(one, place)
        if not self.shared:
            message.moves, latency_s = True, latency_s + message.bytes_s
        message.due_s = self.now_s + latency_s
        if message.due_s == self.now_s:
            self.happens(message)
        return message

    def happens(self, message):
        """A message begins to load its links, or arrives."""
        if not message.moves:
            message.moves, message.due_s = True, self.now_s + message.bytes_s
            if message.due_s > self.now_s:
                return
        message.there = True
        if message.reader is None:
            self.arrives(message)

    def arrives(self, message):
        one, place = message.one, message.place
        if self.asked.get((one, place)) == "sent":
            self.asked[one, place] = "there"
            for task in self.missing:
                if self.place[task] == place:
                    self.missing[task].discard(one)
        if self.room is not None:
            self.room.gives_up(one, message.source)
            self.room.gives_up(one, place)
            if message.spills and self.room.has_left(one, message.source):
                self.at[one] = place
                if one in self.near[message.source]:
                    self.near[message.source].remove(one)
        if place == self.network.host and self.ways.route == "host" and one not in self.at:
            self.available(one, place)

    def events(self):
        """Return when something happens of each message."""
        return [message.due_s for message in self.messages if not message.there]

    def instant(self, now_s):
        """Handle messages, in the order in which they left; begin or let go on what waited, ascending."""
        self.now_s = now_s
        due = [message for message in self.messages if not message.there and message.due_s == now_s]
        ready = []
        for message in due:
            self.happens(message)
            if message.there and message.reader is not None:
                ready.append(message.reader)
        for task in sorted(ready):
            # Objects of which the last takes no time are read at once.
            self.read_on(task)
        if self.room is not None:
            self.room.let_in()
        fetched = self.begin_fetched()
        return bool(due or ready or fetched)

    def begin_fetched(self):
        """Begin the tasks for which all that they read has arrived, ascending, and return them."""
        fetched = sorted(task for task, missing in self.missing.items() if not missing)
        for task in fetched:
            del self.missing[task]
            self.begin(task)
        return fetched

    def retime(self, now_s):
        """Rescale what is left of the bytes of each message."""
        moving = [message for message in self.messages if self.shared and message.moves and not message.there]
        load = [link for message in moving for link in message.links]
        for message in moving:
            slowest = max(load.count(link) / self.network.capacity_Bps[link] for link in message.links)
            slowdown = slowest / message.alone
            message.due_s = now_s + (message.due_s - now_s) * (slowdown / message.slowdown)
            message.slowdown = slowdown


class Room:
    """Copies at each place, and tasks that wait for room."""

    def __init__(self, moves, limit, aborts):
        self.moves, self.spills, n = moves, limit == "spill", moves.network.n_places
        self.aborts, self.ended = aborts, set()
        self.copies = [{} for _ in range(n)]
        self.queues = [[] for _ in range(n)]
        self.entered, self.clock = {}, 0  # what each task in its place uses

    def held_B(self, place, *, staying=False):
        return sum(
            self.moves.size[one] for one, copy in self.copies[place].items() if not (staying and copy.leaves)
        )

    def enters(self, task):
        queue = self.queues[self.moves.place[task]]
        if not queue and self.fits(task):
            return True
        queue.append(task)
        return False

    def let_in(self):
        again = True
        while again:
            again = False
            for queue in self.queues:
                while queue and self.fits(queue[0]):
                    again = True
                    self.moves.missing[queue[0]] = set()
                    self.fetch_later(queue.pop(0))

    def fetch_later(self, task):
        """Ask for what a task reads; it begins with the others of this instant."""
        moves = self.moves
        if not moves.reads_afar:
            far = [one for one in moves.read[task] if moves.at.get(one) != moves.place[task]]
            for one in far:
                moves.ask(one, moves.place[task])
            moves.missing[task] = {one for one in far if moves.asked[one, moves.place[task]] != "there"}
        self.tidy()

    def needs(self, task):
        """Return what has to be added at a task's place, and what the task uses."""
        moves, place = self.moves, self.moves.place[task]
        direct = moves.ways.route != "host"
        new, used = list(moves.written[task]), []
        for one in moves.read[task]:
            if moves.reads_afar:
                used.append((one, moves.at[one]))
                continue
            used.append((one, place))
            if not (moves.at.get(one) == place and direct) and (one, place) not in moves.asked:
                new.append(one)
        new = [one for one in new if one not in self.copies[place]]
        return new, used + [(one, place) for one in moves.written[task]]

    def fits(self, task):
        moves, place = self.moves, self.moves.place[task]
        new, used = self.needs(task)
        need_B, limit_B = sum(moves.size[one] for one in new), moves.network.size_B[place]
        whole = {one for one, where in used if where == place} | set(new)
        if sum(moves.size[one] for one in whole) > limit_B:
            raise EngineError("needs more than its place holds")
        if self.spills and limit_B < inf:
            self.make_room(place, need_B, limit_B, {one for one, where in used if where == place})
        if self.held_B(place) + need_B > limit_B:
            return False
        for one in new:
            self.copies[place][one] = SimpleNamespace(uses=0, last=0, leaves=False)
        self.entered[task] = used
        for one, where in used:
            self.uses(one, where)
        return True

    def make_room(self, place, need_B, limit_B, wanted):
        copies = self.copies[place]
        for one in sorted(copies, key=lambda one: (copies[one].last, one)):
            if self.held_B(place, staying=True) + need_B <= limit_B:
                return
            if one not in copies or copies[one].uses or copies[one].leaves or one in wanted:
                continue
            if self.moves.at.get(one) == place:
                copies[one].leaves = True
                self.moves.send(one, place, self.moves.network.below(place, one), spills=True)
            else:
                self.drop(one, place)

    def drop(self, one, place):
        del self.copies[place][one]
        if self.moves.asked.get((one, place)) == "there":
            del self.moves.asked[one, place]

    def uses(self, one, place, change=1):
        self.clock += 1
        if one in self.copies[place]:
            copy = self.copies[place][one]
            copy.uses, copy.last = copy.uses + change, self.clock

    def gives_up(self, one, place):
        """A task or message does not use an object any more; it goes when nobody needs it."""
        self.uses(one, place, -1)
        self.drop_idle(one, place)

    def tidy(self):
        """Let go whatever nobody needs any more, wherever it is."""
        for place, copies in enumerate(self.copies):
            for one in list(copies):
                self.drop_idle(one, place)

    def drop_idle(self, one, place):
        copy = self.copies[place].get(one)
        # A task whose run is aborted is placed again.
        to_come = set(self.moves.readers[one]) - (self.ended if self.aborts else set(self.entered))
        sent_home = self.moves.ways.home != "everywhere" or self.moves.ways.route == "host"
        stays = not self.moves.readers[one] and (self.moves.reads_afar or not sent_home)
        if copy is not None and not copy.uses and not copy.leaves and not to_come and not stays:
            self.drop(one, place)

    def finished(self, task):
        for one, place in self.entered[task]:
            self.gives_up(one, place)
        self.ended.add(task)
        self.tidy()

    def aborted(self, task):
        for one, place in self.entered.pop(task):
            self.gives_up(one, place)
        for one in self.moves.written[task]:
            if one in self.copies[self.moves.place[task]]:
                self.drop(one, self.moves.place[task])

    def has_left(self, one, place):
        copy = self.copies[place][one]
        copy.leaves = False
        if copy.uses:
            return False
        self.drop(one, place)
        return True
