"""Distinct texts numbered as they come: their bytes end to end and a hash table, without an object for each."""

from __future__ import annotations

from array import array

import numpy as np

from simsched.graph import TextColumn


class Numbered:
    """Texts, of which each has the number of its first appearance.

    Examples
    --------
    >>> found = Numbered()
    >>> found.add("cut"), found.add("add"), found.add("cut"), found.find("add"), found.find("sum"), len(found)
    (0, 1, 0, 1, -1, 2)
    >>> found.column().to_list()
    ['cut', 'add']
    """

    def __init__(self) -> None:
        self._data, self._ends = bytearray(), array("q", [0])
        #: Numbers by the hashes of their texts, the next free place where that is taken; -1 for none.
        self._slots = array("i", [-1]) * 1024

    def __len__(self) -> int:
        return len(self._ends) - 1

    def find(self, text: str) -> int:
        """Return the number of a text; -1 where it has none."""
        return self._slots[self._place(text.encode())]

    def add(self, text: str) -> int:
        """Return the number of a text, which it gets here where it has none."""
        key = text.encode()
        place = self._place(key)
        if self._slots[place] < 0:
            self._slots[place] = len(self)
            self._data += key
            self._ends.append(len(self._data))
            if 2 * len(self) > len(self._slots):
                self._grow()
            return len(self) - 1
        return self._slots[place]

    def column(self) -> TextColumn:
        """Return all texts, by number."""
        return TextColumn(np.frombuffer(bytes(self._data), np.uint8), np.array(self._ends, np.int64))

    def _place(self, key: bytes) -> int:
        data, ends, slots = self._data, self._ends, self._slots
        last = len(slots) - 1
        place = hash(key) & last
        while (number := slots[place]) >= 0 and data[ends[number] : ends[number + 1]] != key:
            place = place + 1 & last
        return place

    def _grow(self) -> None:
        self._slots = array("i", [-1]) * (2 * len(self._slots))
        for number in range(len(self)):
            self._slots[self._place(bytes(self._data[self._ends[number] : self._ends[number + 1]]))] = number
