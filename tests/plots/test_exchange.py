"""What a messenger brings to an interactive chart, apart from the browser."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from html import unescape
from typing import Any

import numpy as np

import simsched as ss
from simsched.plots.interactive.explorer import ExchangedChart, news, packed

TYPES = {
    "Uint8Array": "u1",
    "Uint16Array": "u2",
    "Int32Array": "i4",
    "Float32Array": "f4",
    "Float64Array": "f8",
}


def unpacked(text: bytes) -> Any:
    """Return what `exchange.js` makes of it."""
    content = zlib.decompress(b64decode(text))
    long = int.from_bytes(content[:4], "little")

    def array(found: dict[str, Any]) -> Any:
        if "array" not in found:
            return found
        at = 8 + long + found["at"]
        assert at % np.dtype(TYPES[found["array"]]).itemsize == 0, (
            "typed arrays begin at multiples of their size"
        )
        return np.frombuffer(content, TYPES[found["array"]], found["n"], at)

    return json.loads(content[8 : 8 + long], object_hook=array)


def simulated(policy: str = "fifo", cores: int = 2) -> ss.Schedule:
    graph = ss.TaskGraph.from_edges(
        [1.0, 2.0, 3.0], [(0, 2)], kinds=["a", "b", "a"], names=["x", "</script>", "é"], bytes_B=[8.0] * 3
    )
    return ss.simulate(graph, f"generic[cores={cores}]", policy)


def test_columns_arrive_as_they_were_sent() -> None:
    one, base = simulated(), simulated(cores=1)
    told = unpacked(packed(news(one.explain(), base)))
    tasks = told["chart"]["tasks"]
    assert tasks["start"].tolist() == sorted(one.start_s.tolist())
    assert tasks["length"].tolist() == [1.0, 2.0, 3.0]
    assert tasks["demand"].tolist() == [8.0, 4.0, np.float32(8 / 3)]
    assert told["texts"]["names"].tobytes() == "x</script>é".encode()
    assert told["rows"] == {
        "n": 2,
        "centres": [0.0, 1.0],
        "names": ["0", "1"],
        "borders": [],
        "label": "core",
    }


def test_the_axis_reaches_to_the_end_of_the_base() -> None:
    one, base = simulated(), simulated(cores=1)
    told = news(one.explain(), base)
    assert (told["span"], told["base"], told["apart"]) == (6.0, 6.0, True)
    assert told["title"].endswith("; dashed: the base, 6 s")
    own = news(one.explain(), one)
    assert (own["span"], own["apart"]) == (4.0, False)


def test_colours_of_kinds_are_those_of_the_base() -> None:
    graph = ss.TaskGraph.from_edges([3.0, 2.0], kinds=["a", "b"])
    base = ss.simulate(graph, "generic[cores=2]", "fifo")
    longer = ss.simulate(graph, "generic[cores=2]", "fifo", factors=[1.0, 9.0])
    kind = news(longer.explain(), base)["rules"][0]
    assert kind == news(base.explain(), base)["rules"][0]


def test_a_messenger_has_no_rights_and_nothing_in_it_ends_it() -> None:
    one = simulated()
    chart = ExchangedChart(one)
    first, second = (chart.messenger(one.explain(), one) for _ in range(2))
    assert first.startswith(
        '<iframe class="simsched-frame" title="" sandbox="allow-scripts allow-downloads" srcdoc="'
    )
    page = unescape(first.partition('srcdoc="')[2].partition('"')[0])
    assert page.count("</script>") == 2
    numbers = [
        json.loads(unescape(each).partition('id="data">')[2].partition("<")[0])["number"]
        for each in (first, second)
    ]
    assert numbers == [1, 2]
