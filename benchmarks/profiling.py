"""Hill climbing and regression on simulated 68-core curves (docs/calibration.md): python benchmarks/profiling.py.

Prints accuracies beside those of concurrency control's Table V, which nothing is fitted to, by interval and by noise;
and what regression reaches on ops it was not trained on.
"""

from __future__ import annotations

import argparse

import pandas as pd

from simsched.reproduce.concurrency_control.profiling import MACHINE, hill_climbing, regression


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01, 0.02])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--no-regression", action="store_true")
    args = parser.parse_args()
    with pd.option_context("display.width", 200, "display.max_rows", None, "display.max_columns", None):
        for noise in args.noise:
            print(f"\nhill climbing, noise {noise:g}")
            table = hill_climbing(noise=noise, seed=args.seed, machine=args.machine)
            print(table.round(4).to_string(index=False))
        print(f"\nhill climbing filled by pchip, noise {args.noise[-1]:g}")
        table = hill_climbing(noise=args.noise[-1], seed=args.seed, machine=args.machine, method="pchip")
        print(table.round(4).to_string(index=False))
        if not args.no_regression:
            print("\nregression, noise 0.01")
            print(regression(seed=args.seed, machine=args.machine).round(4).to_string(index=False))


if __name__ == "__main__":
    main()
