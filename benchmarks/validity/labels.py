"""How each claim came about: `fit`, `interpolated`, `endpoints given`, `seen` or `predicted`."""

from __future__ import annotations

#: By what a claim begins with; the first that fits. *fit*: numbers of the model were fitted to these values.
#: *interpolated*: between values of the same series. *endpoints given*: the same series gave its ends. *seen*: they
#: were in view when a choice was made. *predicted*: none of these values was used. *distance*: no prediction at all.
LABELS = (
    ("executed here", "interpolated"),
    ("measured by `measure` alone", "predicted"),
    ("recorded runs", "interpolated"),
    ("measured elsewhere: streams by 2-16 threads and mode, KNL 7210", "endpoints given"),
    ("measured elsewhere: streams by 32-256 threads and mode, KNL 7210", "endpoints given"),
    ("measured elsewhere: BabelStream", "endpoints given"),
    ("measured elsewhere: STREAM on two sockets", "predicted"),
    ("measured elsewhere: triads by cores of a socket", "endpoints given"),
    ("measured elsewhere: streams by cores of a group, A64FX", "endpoints given"),
    ("measured elsewhere: triads by placement, Kunpeng 920", "predicted"),
    ("measured elsewhere: DMA", "interpolated"),
    ("measured elsewhere: triads", "fit"),
    ("measured elsewhere: empty parallel regions", "fit"),
    ("measured elsewhere: regions", "fit"),
    ("measured elsewhere: stream by threads", "fit"),
    ("measured elsewhere: streams by cores of a socket", "fit"),
    ("measured elsewhere: MKL square products", "fit"),
    ("measured elsewhere: plain loops", "fit"),
    ("measured elsewhere: DeepBench", "fit"),
    ("published and seen", "seen"),
    ("published", "predicted"),
    ("proven optimum", "distance"),
)


def label_of(what: str) -> str:
    """Return the label of a claim; a claim that nobody has looked at says so."""
    return next((label for start, label in LABELS if what.startswith(start)), "**no label**")
