"""Every number of further tables of machine files changes what is made of them; `check_machine` sees to the others."""

import pytest

import simsched as ss
from simsched.hwmodels import ldm
from simsched.testing.machines import idle_numbers


def plans(machine):
    """Return seconds of loop nests on a core group."""
    group = ldm.core_group(machine)
    nests = [
        ldm.matmul(1, 1, 1), ldm.matmul(1, 1, 4096), ldm.matmul(1, 130, 1108), ldm.matmul(512, 512, 512),
        ldm.elementwise(10_000, 2), ldm.elementwise(24, 2), ldm.convolution(channels=64, filters=64, size=9, kernel=3),
    ]  # fmt: skip
    batch = {"channels": 64, "filters": 64, "size": 40, "kernel": 3, "batch": 128}
    libraries = [
        ldm.convolution(**batch | {"filters": 512}), ldm.convolution(**batch, layout="HWCN"), ldm.bias(64, 9),
        ldm.pooling(channels=4, size=8, window=2),
    ]  # fmt: skip
    return [
        *(ldm.plan(nest, group).seconds for nest in nests),
        *(ldm.no_reuse(nest, group).total_s for nest in nests),
        *(ldm.register_communication(nest, group).total_s for nest in (*nests, *libraries)),
    ]


def contended(machine):
    """Return seconds of threads that read the same memory."""
    table = machine.tables["contention"]
    return [table.contention_s(n, size) for n in (1, 100, 960) for size in ("small", "medium", "large")]


@pytest.mark.parametrize(
    ("name", "table", "results"), [("sw26010", "ldm", plans), ("knc-7120p", "contention", contended)]
)
def test_every_number_of_a_table_counts(name, table, results):
    machine = ss.machine(name)
    others = [fact.key for fact in machine.facts if not fact.key.startswith(f"{table}.")]
    assert 0 < len(others) < len(machine.facts)
    assert idle_numbers(machine, results, uncounted=others) == []
