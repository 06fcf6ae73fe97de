"""CHAOS's performance model in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from simsched.machine import Machine
from simsched.reproduce.published import Published


@dataclass(frozen=True, eq=False)
class PerformanceModel:
    """Seconds of a training from counted operations, cycles an instruction and memory contention.

    Parameters
    ----------
    published : Published
        The paper's inputs: schedule of epochs, Table 3, and Table 4's extrapolated rows.
    machine : Machine
        Whose contention was measured, `knc-7120p`: the other rows of Table 4.

    References
    ----------
    CHAOS: A Parallelization Scheme for Training Convolutional Neural Networks on Intel Xeon Phi, 2017, Listing 2 and
    Table 3. The sequential term is not multiplied by the CPI.
    """

    published: Published
    machine: Machine

    def predicted_s(
        self, network: str, threads: int, images: tuple[int, int] | None = None, epochs: int | None = None
    ) -> float:
        """Return the seconds of a training.

        Parameters
        ----------
        network : str
            small, medium or large.
        threads : int
        images : (int, int), optional
            Images trained on (and validated on), and tested on; the paper's when not given.
        epochs : int, optional
            The paper's when not given.
        """
        scheme, model = self.published.inputs["scheme"], self.published.inputs["performance_model"]
        i, it = images or (scheme["images"], scheme["test_images"])
        epochs = scheme["epochs"][network] if epochs is None else epochs
        forward, backward = float(model["fprop_ops"][network]), float(model["bprop_ops"][network])
        once = float(model["prep_ops"][network]) + 4 * i + 2 * it + 10 * epochs
        training = (forward + backward) * i + forward * i + forward * it
        cycles = once + training * epochs / threads * self.cpi(threads)
        compute_s = cycles * model["operation_factor"] / float(model["clock_Hz"])
        return float(compute_s + self.contention_s(threads, network) * epochs * i / threads)

    def cpi(self, threads: int) -> float:
        """Return the cycles an instruction when threads are spread over the cores; four a core and more are alike."""
        by_threads = self.published.inputs["performance_model"]["cpi"]
        return float(by_threads[min(ceil(threads / self.machine.n_cores), len(by_threads)) - 1])

    def contention_s(self, threads: int, network: str) -> float:
        """Return what a worker waits an image: the paper's extrapolated rows as printed, else what was measured."""
        printed = self.published.inputs["memory_contention"]
        if threads in printed["threads"]:
            return float(printed[network][printed["threads"].index(threads)])
        return float(self.machine.tables["contention"].contention_s(threads, network))
