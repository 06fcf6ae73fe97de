"""Products of elements narrower than FP32: their rates, what they are taken for, and their intervals."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.discrepancy import Discrepancy
from simsched.errors import GraphError, MachineError
from simsched.machine.build import built
from simsched.machine.confidence import REACHED_GAIN
from simsched.machine.schema import NARROW
from simsched.spec import Spec
from simsched.study.uncertain import MachineNumbers, Scenario, Uncertain

NAN, N = float("nan"), 8192
FLOPS, EACH = 2.0 * N**3, 3.0 * N**2
MATRICES = f"{N}x{N};{N}x{N}"


def products(*elements, element_B=2.0, kind="MatMul", recorded=NAN, **more):
    shapes = [MATRICES + f";element={one}" * bool(one) for one in elements]
    n = len(elements)
    return ss.TaskGraph.from_edges(
        [recorded] * n, kinds=kind, shapes=shapes, flops=[FLOPS] * n, bytes_B=[element_B * EACH] * n, **more
    )


def seconds(graph, machine, width=1):
    return ss.CostModel().on(graph, ss.machine(machine)).seconds(width)


def notes(graph, machine):
    return [note for note in ss.CostModel().on(graph, ss.machine(machine)).notes if "FLOP rates" in note]


def test_products_by_hand():
    """On all 52 cores at their clock of wide vectors: operations over the rate of each type; bytes are the same."""
    bf16, fp16, int8, fp32 = seconds(products("bf16", "fp16", "int8", "fp32"), "xeon-8470", 52)
    of_one_a_cycle = FLOPS / (52 * 2.0e9 * 0.87)
    assert fp32 == pytest.approx(of_one_a_cycle / 64, rel=0.02)
    for found, per_cycle in ((bf16, 1024), (fp16, 128), (int8, 2048)):
        # Pieces that are not shared evenly.
        assert fp32 - found == pytest.approx(of_one_a_cycle * (1 / 64 - 1 / per_cycle), rel=1e-3)


def test_the_type_tells_the_bytes_where_nothing_else_does():
    known, told = (seconds(products("bf16", "fp64", element_B=size), "grace") for size in (NAN, 2.0))
    assert known[0] == told[0]
    assert known[1] == seconds(products("", element_B=8.0), "grace")[0]


def test_other_ops_and_types_are_as_before():
    """FP32, FP64 and element-wise ops take as long on each machine as on one that states no narrow elements."""
    graphs = [products("", element_B=4.0), products("", element_B=8.0), products("bf16", kind="Add")]
    for name in ("xeon-8470", "a64fx", "grace-hopper", "apple-m1", "epyc-9965"):
        machine = ss.machine(name)
        assert machine.element_flops
        rows = [f"{one}_per_cycle" for one in NARROW]
        plain = built(
            {
                key: {k: v for k, v in table.items() if k not in rows} if key in ("cores", "kinds") else table
                for key, table in machine.content.items()
            },
            Spec(name, {}),
        )
        assert not plain.element_flops
        for graph in graphs:
            here, before = (ss.CostModel().on(graph, one) for one in (machine, plain))
            assert (here.seconds(4) == before.seconds(4)).all()
            assert here.kinds_s is None or (here.kinds_s == before.kinds_s).all()


def test_without_a_shape_that_can_be_read_the_roofline_has_the_rate_too():
    graph = ss.TaskGraph.from_edges(
        [NAN] * 2, kinds="MatMul", shapes=["7x5;3x2;element=bf16", "7x5;3x2"], flops=[1e12] * 2
    )
    assert np.divide(*seconds(graph, "xeon-8470")[::-1]) == pytest.approx(16, rel=1e-6)


def test_a_device_has_its_own_rate():
    costs = ss.CostModel().on(products("bf16", "fp32"), ss.machine("grace-hopper"))
    # 33,792 and 540,672 FLOP/cycle; what its memory moves is the same.
    assert costs.kinds_s[1, 1] / costs.kinds_s[0, 1] == pytest.approx(16, rel=0.05)
    assert costs.kinds_s[1, 0] / costs.kinds_s[0, 0] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(
    ("machine", "element", "element_B", "said"),
    [
        ("xeon-8470", "bf16", 2.0, "16 times the FLOP rates of FP32 for 1 task of BF16 (cores.bf16_per_cycle)"),
        ("knl-7250", "bf16", 2.0, "FLOP rates of FP32 for 1 task of BF16: knl-7250 states no cores.bf16_per_cycle"),
        ("xeon-8470", "", 2.0, "16 times the FLOP rates of FP32 for 1 task of BF16, which elements of 2 bytes are"),
        ("xeon-8470", "", 1.0, "32 times the FLOP rates of FP32 for 1 task of INT8, which elements of 1 byte are"),
        ("a64fx", "", 2.0, "of FP16 2 times the FLOP rates of FP32: element=fp16 behind their shapes says so"),
    ],
)  # fmt: skip
def test_notes_say_what_is_assumed(machine, element, element_B, said):
    (note,) = notes(products(element, element_B=element_B), machine)
    assert said in note


def test_fp32_has_no_note():
    assert not notes(products("", element_B=4.0), "xeon-8470")
    assert not notes(products("fp32", element_B=2.0), "xeon-8470")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("xeon-8470[cores.bf16_per_cycle=32]", "less than the 64 FLOP/cycle of FP32, in which such elements can be"),
        ("generic[cores=4,core=zen4,cores.fp16_per_cycle=-1]", "nothing of a machine is 0 or less"),
        ("grace-hopper[kinds.int8_per_cycle.GPU=7]", "kinds.int8_per_cycle.GPU is 7, less than the 33792 FLOP/cycle"),
        ("generic[cores.bf8_per_cycle=64]", "did you mean cores.bf16_per_cycle"),
    ],
)  # fmt: skip
def test_impossible_rates_are_refused(spec, why):
    with pytest.raises(MachineError) as raised:
        ss.machine(spec)
    assert why in str(raised.value)


def test_rates_can_be_given():
    assert ss.machine("generic[cores.bf16_per_cycle=128]").element_flops == {"bf16": 4.0}
    assert ss.machine("generic[cores=8,core=sapphire-rapids]").element_flops["bf16"] == 16
    assert ss.machine("grace-hopper[cores.bf16_per_cycle=64]").kinds.element_flops["bf16"][0] == 2


def test_rates_are_uncertain_at_the_slow_end():
    """Faster units are harder to keep busy: of 16 times, twice may be reached, whether a file states it or a user."""
    for spec in ("xeon-8470", "xeon-8470[cores.bf16_per_cycle=1024]"):
        numbers = {one.name: one for one in MachineNumbers.of(ss.machine(spec)).parameters}
        one = numbers["cores.bf16_per_cycle"]
        assert (one.low, one.value, one.high) == (64 * 16**REACHED_GAIN, 1024, 1024)
    for graph, there in (
        (products("bf16"), {"bf16"}),
        (products(""), {"bf16", "fp16"}),
        (products("fp32"), set()),
    ):
        varied = Uncertain(graph, Scenario(ss.machine("xeon-8470"))).of_machine()
        assert {one.name[6:10] for one in varied if one.name.endswith("6_per_cycle")} == there


def test_worlds_have_either_type_where_only_bytes_are_known():
    machine = ss.machine("xeon-8470")
    bf16, fp16 = seconds(products("bf16", "fp16"), "xeon-8470")
    doubts = [Discrepancy(seed).doubt for seed in range(100)]
    assert max(doubts) == 1
    found = []
    for seed in np.argsort(doubts)[[0, -1]].tolist():
        model = ss.CostModel(discrepancy=Discrepancy(seed))
        stated, assumed = (model.on(products(one), machine).one_core_s[0] for one in ("bf16", ""))
        found.append(assumed / stated)
    assert found == pytest.approx([1, fp16 / bf16], rel=0.05)


def test_recorded_products_are_carried_at_the_rates_of_both_machines():
    """A chip with AMX gains 16 times on one without; on a recorder of unknown rates, as much as here is taken."""
    known, unknown = (
        products("bf16", recorded=60.0, recorded_on=on)
        for on in ("knl-7250", ss.RecordedOn("laptop", core_flops=5e10, core_bandwidth_Bps=1e10))
    )
    plain = products("", element_B=4.0, recorded=60.0, recorded_on="knl-7250")
    gain = seconds(plain, "xeon-8470")[0] / seconds(known, "xeon-8470")[0]
    assert gain == pytest.approx(16, rel=0.01)
    said = ss.CostModel().on(unknown, ss.machine("xeon-8470")).notes
    assert any("as if laptop, whose rates for these are unknown, gained as much" in note for note in said)
    assert seconds(unknown, "xeon-8470")[0] == pytest.approx(
        seconds(products("", element_B=4.0, recorded=60.0, recorded_on=unknown.recorded_on), "xeon-8470")[0],
        rel=0.01,
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2x2;2x2;element=bf17", "element=bf17 is none of fp64, fp32, bf16, fp16, int8"),
        ("2x2;element=bf16;element=bf16", "element stands twice"),
        ("2x2;stride=bf16", "stride=bf16; expected a number"),
        ("2x2;element=bf16;2x2", "attributes last"),
    ],
)
def test_shapes_with_impossible_types_are_refused(text, why):
    with pytest.raises(GraphError, match=why):
        ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes=[text])


def test_both_engines():
    graph = products("bf16", "", "fp16")
    one, other = (ss.simulate(graph, "grace-hopper", "heft", engine=engine) for engine in ("simpy", "native"))
    assert one.finish_s.tolist() == other.finish_s.tolist()
