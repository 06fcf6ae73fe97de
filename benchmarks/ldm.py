"""The LDM planner's seconds: layers of AlexNet and VGG-19 in three costings, and measured layers of swDNN and swCaffe.

    python benchmarks/ldm.py [--shared PATH] [--search]

Nothing is fitted here, and nothing anywhere to the speed-ups that swTVM published (Fig. 5), which are printed beside
what comes out. The measured tables of others, which this repository does not hold, are looked for in
`shared/measurements` beside the repository; without them only the first part is printed. --search compares the
planner's greedy tiles with the best of all powers of two.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import simsched as ss
from simsched.hwmodels.ldm import (
    CoreGroup,
    LoopNest,
    convolution,
    core_group,
    elementwise,
    no_reuse,
    plan,
    register_communication,
)
from simsched.hwmodels.ldm.costings import operation
from simsched.hwmodels.ldm.planning import planned
from simsched.hwmodels.ldm.split import split
from simsched.hwmodels.ldm.tiles import footprint_B
from simsched.reproduce.swtvm import SwTvm
from simsched.reproduce.swtvm_layers import layers

REPOSITORY = Path(__file__).resolve().parent.parent
CORE_GROUPS = 4


def nests(network: str, batch: int = 1) -> dict[str, LoopNest]:
    """Return the layers of alexnet or vgg19, as the reproduction of swTVM has them."""
    names = SwTvm.published().inputs["layers"][network]
    parameters = {"towers": "one"} if network == "alexnet" else {}
    graph = ss.workload(network, batch=batch, training=False, **parameters)
    return {name: layer.nests(operation)[0] for name, layer in layers(graph, names).items()}


def main() -> None:
    """Print all parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shared",
        type=Path,
        default=REPOSITORY.parent / "shared/measurements",
        help="folder of measured tables",
    )
    parser.add_argument("--search", action="store_true", help="try all tiles of powers of two, too")
    options = parser.parse_args()
    folder = options.shared
    group = core_group(ss.machine("sw26010"))
    networks(group)
    if options.search:
        search(group)
    if folder.is_dir():
        swdnn(group, folder / "sw26010_swdnn_conv.csv")
        swcaffe(group, folder / "sw26010_swcaffe_layers.csv")
    else:
        print(f"\n{folder} is not there: nothing measured to compare with")


def networks(group: CoreGroup) -> None:
    """Print ms a layer in three costings, and how often the ordering that swTVM published comes out."""
    for network, shown in (("AlexNet", nests("alexnet")), ("VGG-19", nests("vgg19"))):
        print(f"\n{network}, batch 1, one core group: ms a layer")
        print(
            f"  {'layer':12s} {'planned':>9s} {'(DMA':>8s} {'compute)':>8s} {'no reuse':>9s} {'register':>9s} "
            f"{'no reuse/planned':>17s} {'register/planned':>17s}"
        )
        over: dict[str, list[float]] = {"conv": [], "fc": []}
        held = 0
        for name, nest in shown.items():
            made = plan(nest, group)
            plain_s, shared_s = no_reuse(nest, group).total_s, register_communication(nest, group).total_s
            kind = "conv" if name.startswith("conv") else "fc"
            over[kind].append(plain_s / made.seconds)
            held += made.seconds < plain_s and (shared_s < made.seconds) == (kind == "conv")
            print(
                f"  {name:12s} {1e3 * made.seconds:9.2f} {1e3 * made.times.dma_s:8.2f} "
                f"{1e3 * made.times.compute_s:8.2f} {1e3 * plain_s:9.2f} {1e3 * shared_s:9.2f} "
                f"{plain_s / made.seconds:17.2f} {shared_s / made.seconds:17.2f}"
            )
        print(
            f"  planned over no reuse: mean of convolutions {mean(over['conv']):.2f}, of fully connected "
            f"{mean(over['fc']):.2f}, most {max(max(v) for v in over.values()):.2f}"
        )
        print(
            f"  planned beats no reuse, and register communication in fully connected layers only: {held} of "
            f"{len(shown)} layers"
        )
        exchanged = replace(group, gemm_m=group.gemm_n, gemm_n=group.gemm_m)
        fc = [
            f"{name} {register_communication(nest, exchanged).total_s / plan(nest, group).seconds:.2f}"
            for name, nest in shown.items()
            if name.startswith("fc")
        ]
        print(f"  register/planned if the batch were padded to {group.gemm_n} only: {', '.join(fc)}")
        if network == "AlexNet":
            print("  published (swTVM, Fig. 5): 8.32, 2.87, 11.8 at conv1, and that ordering in all layers")


def search(group: CoreGroup) -> None:
    """Print the planner's seconds over those of the best tiles, whole kernels and powers of two or whole ranges."""
    print("\nGreedy tiles over the best of all")
    for name, nest in [*nests("alexnet").items(), *nests("vgg19").items()]:
        part = split(nest, group.cpes).part
        sizes = [
            [extent]
            if loop in {"kh", "kw"}
            else sorted({extent, *(2**i for i in range(extent.bit_length()))})
            for loop, extent in part.loops.items()
        ]
        best_s = min(
            planned(nest, replace(group, double_buffering=twice), tiles).seconds
            for tiles in (dict(zip(part.loops, chosen, strict=True)) for chosen in itertools.product(*sizes))
            for twice in (True, False)
            if footprint_B(part, tiles, double_buffering=twice) <= group.ldm_B
        )
        print(f"  {name:12s} {plan(nest, group).seconds / best_s:6.2f}")


def swdnn(group: CoreGroup, path: Path) -> None:
    """Print GFLOP/s of swDNN's convolutions on four core groups, and the DMA rate its logs state."""
    rows = list(_swdnn_rows(path))
    print(f"\nswDNN, doubles, batch 128 and 256, four core groups: {len(rows)} logged convolutions")
    print(
        "  (register communication; its share of the peak is the best of these rows. Left out: 16 logs without a DMA"
    )
    print("  rate, at 233 to 355 GFLOP/s; with them the first median below is 18 %)")
    dma, gflops = [], []
    for row in rows:
        nest = convolution(
            channels=int(row["Ni"]),
            filters=int(row["No"]),
            size=(int(row["Ri"]), int(row["Ci"])),
            kernel=int(row["K"]),
            batch=int(row["B"]),
            layout="HWCN",
            element_B=8,
        )
        modelled = CORE_GROUPS * nest.total_flops / register_communication(nest, group).total_s / 1e9
        gflops.append((int(row["costride"]), float(row["GFLOPS"]), modelled))
        run_B = 8 * int(row["B"])
        rate = group.cpes * run_B / group.get_s(run_B, group.cpes, strided=True) / 1e9
        dma.append((float(row["dma_read_GBps"]), rate))
    for what, few in (
        ("all", gflops),
        ("column tile of swDNN >= 5", [g for g in gflops if g[0] >= 5]),
        ("column tile of swDNN < 5", [g for g in gflops if g[0] < 5]),
    ):
        _errors(f"GFLOP/s, {what}", [(measured, modelled) for _, measured, modelled in few])
    _errors("DMA read, GB/s, runs of a batch", dma)
    print("  Our tiles are the model's own; swDNN's column tile is 1 where its buffers leave no more room.")


def _swdnn_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open() as file:
        yield from (row for row in csv.DictReader(file) if row["dma_read_GBps"])


def swcaffe(group: CoreGroup, path: Path) -> None:
    """Print seconds of swCaffe's layers, forward, at the batch that its fully connected layers suggest."""
    batch = 256
    layers = nests("alexnet", batch) | {
        "relu1": elementwise(96 * 55 * 55 * batch),
        "relu2": elementwise(256 * 27 * 27 * batch),
        "relu3": elementwise(384 * 13 * 13 * batch),
        "relu5": elementwise(256 * 13 * 13 * batch),
        "relu6": elementwise(4096 * batch),
    }
    with path.open() as file:
        rows = {
            row["layer"]: float(row["time_s"])
            for row in csv.DictReader(file)
            if (row["pass"], row["iteration"]) == ("forward", "1")
        }
    print(f"\nswCaffe, AlexNet, forward, second iteration, assuming batch {batch} on one core group: ms")
    print(
        "  (neither is stated; they were chosen because fully connected layers and ReLU then fit. Left out: pooling,"
    )
    print("  normalisation and scaling, which take 17 to 850 times what is modelled)")
    pairs = []
    for name, nest in layers.items():
        modelled = register_communication(nest, group).total_s
        pairs.append((rows[name], modelled))
        print(
            f"  {name:6s} measured {1e3 * rows[name]:8.2f}  modelled {1e3 * modelled:8.2f}  "
            f"{modelled / rows[name] - 1:+7.1%}"
        )
    _errors("all", pairs)


def _errors(what: str, pairs: list[tuple[float, float]]) -> None:
    errors = sorted(abs(modelled / measured - 1) for measured, modelled in pairs)
    signed = median(modelled / measured - 1 for measured, modelled in pairs)
    print(
        f"  {what}: {len(pairs)} rows, absolute error median {median(errors):.1%}, most {errors[-1]:.1%}, "
        f"signed median {signed:+.1%}"
    )


if __name__ == "__main__":
    main()
