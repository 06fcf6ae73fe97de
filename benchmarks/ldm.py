"""The LDM planner's seconds: layers of AlexNet and VGG-19 in three costings, and measured layers of swDNN and swCaffe.

    python benchmarks/ldm.py [--shared PATH] [--search]

Nothing is fitted to the speed-ups that swTVM published (Fig. 5), which are printed beside what comes out; what is to
measured layers is said. The measured tables of others, which this repository does not hold, are looked for in
`shared/measurements` beside the repository; without them only the first part is printed. --search compares the
planner's tiles and orders with the best of all powers of two in all orders.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import simsched as ss
from simsched.hwmodels.ldm import (
    CoreGroup,
    LoopNest,
    bias,
    convolution,
    core_group,
    elementwise,
    matmul,
    no_reuse,
    plan,
    pooling,
    register_communication,
)
from simsched.hwmodels.ldm.by_shape import operation
from simsched.hwmodels.ldm.evaluation import Evaluation
from simsched.hwmodels.ldm.nest import split
from simsched.reproduce.swtvm.system import SwTvm, layers

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
    parser.add_argument("--search", action="store_true", help="try all tiles and orders, too")
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
    """Print the planner's seconds over those of the best of all tiles and orders, and how long planning takes."""
    print(
        "\nSearched tiles and orders over the best of all powers of two or whole ranges, whole kernels, all orders"
    )
    products = [matmul(m, n, k) for m in (1, 16, 256) for n in (32, 100, 1000) for k in (64, 512, 2048)]
    worst, planning_s = [], []
    for nest in [*nests("alexnet").values(), *nests("vgg19").values(), *products]:
        begin = time.process_time()
        made = plan(nest, group)
        planning_s.append(time.process_time() - begin)
        worst.append(made.seconds / _exhaustive_s(nest, group))
        if worst[-1] > 1.01:
            print(f"  {nest.name}: {worst[-1]:.3f}")
    print(
        f"  {len(worst)} nests, worst {max(worst):.3f}; planning takes {median(planning_s):.3f} s in the median, "
        f"{max(planning_s):.3f} s at most"
    )


def _exhaustive_s(nest: LoopNest, group: CoreGroup) -> float:
    shares = split(nest, group.cpes)
    best = math.inf
    for twice in (True, False):
        evaluation = Evaluation(shares.part, replace(group, double_buffering=twice), shares.cpes)
        sizes = [
            [extent]
            if loop in {"kh", "kw"}
            else sorted({extent, *(2**i for i in range(extent.bit_length()))})
            for loop, extent in shares.part.loops.items()
        ]
        for tiles in filter(evaluation.fits, itertools.product(*sizes)):
            cut = [loop for loop, size in enumerate(tiles) if size < evaluation.extents[loop]]
            best = min(best, *(evaluation.seconds(tiles, order) for order in itertools.permutations(cut)))
    return best


def swdnn(group: CoreGroup, path: Path) -> None:
    """Print GFLOP/s of swDNN's convolutions, with the share of the peak refitted to two thirds of the shapes, too."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    logged = [row for row in rows if row["dma_read_GBps"]]
    print(f"\nswDNN, doubles, batch 128 and 256: {len(rows)} logged convolutions")
    print(
        f"  {len(logged)} of them state a DMA rate; the others, at 233 to 355 GFLOP/s, are taken as of one core group, "
        "these as of four."
    )
    print(
        "  The share of the peak, 0.69, is fitted to the former; all else is what logs and code of swDNN say."
    )
    _errors("GFLOP/s, all", [_gflops(row, group) for row in rows])
    _errors("GFLOP/s, of four core groups", [_gflops(row, group) for row in logged])
    _errors("column tile >= 5", [_gflops(row, group) for row in logged if int(row["costride"]) >= 5])
    _errors("column tile < 5", [_gflops(row, group) for row in logged if int(row["costride"]) < 5])
    shapes = sorted({_shape(row) for row in logged})
    kept_out = []
    for third in range(3):
        out = set(shapes[third::3])
        share = min(
            (0.6 + 0.01 * step for step in range(20)),
            key=lambda share: median(
                abs(modelled / measured - 1)
                for measured, modelled in (
                    _gflops(row, replace(group, reordered_share=share))
                    for row in logged
                    if _shape(row) not in out
                )
            ),
        )
        other = replace(group, reordered_share=share)
        kept_out += [_gflops(row, other) for row in logged if _shape(row) in out]
    _errors("each third of the shapes, fitted to the others", kept_out)
    runs_B = {batch: 8 * batch for batch in (128, 256)}
    rates = {
        b: group.cpes * size / group.get_s(size, group.cpes, strided=True) / 1e9 for b, size in runs_B.items()
    }
    _errors(
        "DMA read, GB/s, runs of a batch",
        [(float(row["dma_read_GBps"]), rates[int(row["B"])]) for row in logged],
    )


def _shape(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("B", "Ni", "No", "Ri", "Ci", "K"))


def _gflops(row: dict[str, str], group: CoreGroup) -> tuple[float, float]:
    """Return what is measured and what is modelled."""
    nest = convolution(
        channels=int(row["Ni"]),
        filters=int(row["No"]),
        size=(int(row["Ri"]), int(row["Ci"])),
        kernel=int(row["K"]),
        batch=int(row["B"]),
        layout="HWCN",
        element_B=8,
    )
    groups = CORE_GROUPS if row["dma_read_GBps"] else 1
    modelled = groups * nest.total_flops / register_communication(nest, group).total_s / 1e9
    return float(row["GFLOPS"]), modelled


def swcaffe(group: CoreGroup, path: Path) -> None:
    """Print seconds of swCaffe's layers, forward, at the batches of its networks."""
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if (row["pass"], row["iteration"]) == ("forward", "1")]
    print("\nswCaffe, forward, second iteration, batch 256 (AlexNet) and 128 (VGG-16), one core group: ms")
    print(
        "  (a bias is a pass of its own, a tenth of fully connected layers; its time per element is fitted to fc6, "
        "that of pooling to pool1. Left out: batch normalisation, scaling, dropout, loss and data)"
    )
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        layers = _alexnet(256) if row["net"].startswith("alexnet") else _vgg16(128)
        parts = layers.get(row["layer"], []) if row["net"].startswith(("alexnet", "vgg")) else []
        if not parts:
            continue
        measured, modelled = (
            float(row["time_s"]),
            sum(register_communication(n, group).total_s for n in parts),
        )
        by_kind.setdefault(row["layer"].rstrip("0123456789_"), []).append((measured, modelled))
        print(
            f"  {row['layer']:8s} measured {1e3 * measured:8.2f}  modelled {1e3 * modelled:8.2f}  "
            f"{modelled / measured - 1:+7.1%}"
        )
    for kind, pairs in by_kind.items():
        _errors(kind, pairs)
    _errors("all", [pair for pairs in by_kind.values() for pair in pairs])


def _alexnet(batch: int) -> dict[str, list[LoopNest]]:
    """Return the layers of AlexNet with batch normalisation: convolutions without bias, some in two groups."""
    convolutions = {
        "conv1": {"channels": 3, "filters": 96, "size": 227, "kernel": 11, "stride": 4},
        "conv2": {"channels": 96, "filters": 256, "size": 27, "kernel": 5, "padding": 2, "groups": 2},
        "conv3": {"channels": 256, "filters": 384, "size": 13, "kernel": 3, "padding": 1},
        "conv4": {"channels": 384, "filters": 384, "size": 13, "kernel": 3, "padding": 1, "groups": 2},
        "conv5": {"channels": 384, "filters": 256, "size": 13, "kernel": 3, "padding": 1, "groups": 2},
    }
    layers = {name: [convolution(**sizes, batch=batch)] for name, sizes in convolutions.items()}
    for name, (nest,) in list(layers.items()):
        layers["relu" + name[4:]] = [elementwise(math.prod(nest.output.shape))]
    for name, channels, size in (("pool1", 96, 55), ("pool2", 256, 27), ("pool5", 256, 13)):
        layers[name] = [pooling(channels=channels, size=size, window=3, stride=2, batch=batch)]
    return layers | _connected(batch, 256 * 6 * 6)


def _vgg16(batch: int) -> dict[str, list[LoopNest]]:
    layers: dict[str, list[LoopNest]] = {}
    size, channels = 224, 3
    for stage, (filters, count) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], 1):
        for at in range(1, count + 1):
            nest = convolution(
                channels=channels, filters=filters, size=size, kernel=3, padding=1, batch=batch
            )
            layers[f"conv{stage}_{at}"] = [nest, bias(filters, size * size, batch)]
            layers[f"relu{stage}_{at}"] = [elementwise(batch * filters * size * size)]
            channels = filters
        layers[f"pool{stage}"] = [pooling(channels=channels, size=size, window=2, batch=batch)]
        size //= 2
    return layers | _connected(batch, channels * size * size)


def _connected(batch: int, inputs: int) -> dict[str, list[LoopNest]]:
    layers = {}
    for name, n, k in (("fc6", 4096, inputs), ("fc7", 4096, 4096), ("fc8", 1000, 4096)):
        layers[name] = [matmul(batch, n, k), bias(n, 1, batch)]
    return layers | {f"relu{at}": [elementwise(batch * 4096)] for at in (6, 7)}


def _errors(what: str, pairs: list[tuple[float, float]]) -> None:
    errors = sorted(abs(modelled / measured - 1) for measured, modelled in pairs)
    signed = median(modelled / measured - 1 for measured, modelled in pairs)
    print(
        f"  {what}: {len(pairs)} rows, absolute error median {median(errors):.1%}, most {errors[-1]:.1%}, "
        f"signed median {signed:+.1%}"
    )


if __name__ == "__main__":
    main()
