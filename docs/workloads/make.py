"""Write the table of counts and the pictures of docs/workloads.md: python docs/workloads/make.py."""

from __future__ import annotations

from pathlib import Path

import simsched as ss
from simsched.plots.picture import save_figure

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
BEGIN = "<!-- made by docs/workloads/make.py -->"
END = "<!-- as far as here -->"

#: What the table counts.
COUNTED = (
    "lstm[size=small]", "lstm[size=medium]", "lstm[size=large]", "lstm[size=ptb]", "lstm[size=wpar]", "gru", "rnn",
    "phased_lstm[size=small]", "phased_lstm[size=medium]", "phased_lstm[size=large]",
    "pathnet[size=small]", "pathnet[size=medium]", "pathnet[size=large]",
    "transformer[size=base]", "transformer[size=big]", "transformer[size=bert-base]", "transformer[size=bert-large]",
    "alexnet", "alexnet[towers=one]", "vgg19", "googlenet[image=224]", "googlenet[image=224,auxiliary=true]",
    "googlenet[size=small]", "googlenet[size=medium]", "googlenet[size=large]",
    "resnet50", "resnet50[strided=1x1]", "resnet50[size=cifar10]", "inception_v3[size=imagenet]",
    "inception_v3[auxiliary=true]", "dcgan[size=mnist]", "chaos[size=small]", "chaos[size=medium]", "chaos[size=large]",
)  # fmt: skip

#: What pictures show, by the name of the file.
DRAWN = {
    "lstm": "lstm[layers=2,steps=3,fused=true]",
    "lstm-cells": "lstm[layers=4,steps=5,granularity=cell]",
    "gru": "gru[layers=2,steps=3,fused=true]",
    "rnn": "rnn[layers=2,steps=3]",
    "phased_lstm": "phased_lstm[layers=1,steps=3,fused=true]",
    "pathnet": "pathnet[layers=2,modules=4]",
    "alexnet": "alexnet",
    "vgg19": "vgg19",
    "googlenet": "googlenet",
    "resnet50": "resnet50",
    "inception_v3": "inception_v3",
    "dcgan": "dcgan",
    "chaos": "chaos[size=large]",
    "transformer": "transformer[layers=1,attention=apart,heads=4]",
}


def counts() -> str:
    """Return the table, in Markdown."""
    head = [
        "| workload | parameters | tasks | edges | longest chain | GFLOP forward | GFLOP training |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([BEGIN, *head, *map(_row, COUNTED), END])


def _row(spec: str) -> str:
    graph, forward = ss.workload(spec), ss.workload(spec, training=False)
    return (
        f"| `{spec}` | {graph.report.facts['parameters']:,} | {graph.n_tasks:,} | {graph.n_edges:,} | "
        f"{graph.summary()['depth']} | {forward.flops.sum() / 1e9:.4g} | {graph.flops.sum() / 1e9:.4g} |"
    )


def refreshed(text: str) -> str:
    """Return the text of the page with the counts as they are now."""
    before, _, rest = text.partition(BEGIN)
    return before + counts() + rest.partition(END)[2]


def main() -> None:
    """Write the table and all pictures."""
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")
    for name, spec in DRAWN.items():
        save_figure(HERE / f"{name}.png", ss.workload(spec).draw, size=(9.0, 3.0))


if __name__ == "__main__":
    main()
