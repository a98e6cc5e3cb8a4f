"""Errors for wrong arguments say which one, and what it should be, never in nanobind's
own words.
"""

import pytest

import ashlar_pp
from ashlar_pp import Costs, StageMemory, catalog

SCHEDULE = catalog.v_zb(2, 4)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: ashlar_pp.linear("4"), "linear(): devices must be int, not str"),
        (lambda: ashlar_pp.linear(), "linear(): devices is missing: it must be int"),
        (
            lambda: ashlar_pp.linear(2, 3),
            "linear(): it takes at most 1 arguments by position, not 2",
        ),
        (
            lambda: ashlar_pp.linear(ranks=2),
            "linear(): it has no parameter 'ranks'; it has: devices",
        ),
        (
            lambda: ashlar_pp.linear(2**70),
            "linear(): devices must be int, not a number beyond 64 bits",
        ),
        (lambda: ashlar_pp.linear(2.5), "linear(): devices must be int, not float"),
        (lambda: Costs("a"), "Costs(): forward must be int, not str"),
        (
            lambda: Costs(1, 2, None),
            "Costs(): backward_weight must be int, not NoneType",
        ),
        (lambda: Costs(per_stage=[(1, 2)]), "Costs(): per_stage must be"),
        (
            lambda: Costs(forwards=2),
            "Costs(): it has no parameter 'forwards'; it has: forward, ",
        ),
        (lambda: StageMemory(3), "StageMemory(): it takes at most 1 arguments"),
        (lambda: StageMemory(stash="3"), "StageMemory(): stash must be int, not str"),
        (
            lambda: ashlar_pp.Placement([0, 1]),
            "Placement(): routes must be Sequence[Sequence[int]], not a list of int",
        ),
        (
            lambda: SCHEDULE.peak_memory(3),
            "peak_memory(): stages must be Sequence[StageMemory or "
            "Sequence[StageMemory]], not int",
        ),
        (
            lambda: SCHEDULE.peak_memory([3]),
            "peak_memory(): stages must be Sequence[StageMemory or "
            "Sequence[StageMemory]], not a list of int",
        ),
        (lambda: SCHEDULE.text(width="wide"), "text(): width must be int, not str"),
        (lambda: catalog.v_zb("2", 4), "devices must be int, not str"),
        (lambda: catalog.v_zb(2, 4, 7), "costs must be Costs, not int"),
        (
            lambda: ashlar_pp.repeat("many")(catalog.v_zb(2)),
            "repeat(): micro_batches must be int, not str",
        ),
        (lambda: ashlar_pp.search(3, 4, Costs()), "must be Placement, not int"),
        (
            lambda: ashlar_pp.read_json(b"{}"),
            "read_json(): text must be str, not bytes",
        ),
        (lambda: 3 | ashlar_pp.squeeze(), "must be Schedule, not int"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert words in str(caught.value)
    assert "incompatible function arguments" not in str(caught.value)


def test_what_is_right_is_still_taken():
    assert (
        str(Costs(1, 2, backward_weight=3))
        == "Costs(per_stage=[(1, 2, 3)], transfer=0)"
    )
    assert ashlar_pp.linear(True).device_count == 1


def test_parameters_of_the_catalog_have_values_and_ranges():
    chunks = catalog.depth_first.parameters["chunks"]
    assert (chunks.name, chunks.default, chunks.least) == (
        "chunks",
        2,
        1,
    ) and chunks.most >= 64
    words = [
        p
        for entry in catalog.entries.values()
        for p in entry.parameters.values()
        if p.values
    ]
    assert {p.default for p in words} == {"code"} and words[0].values == [
        "code",
        "figure",
    ]
    for entry in catalog.entries.values():
        for name, one in entry.parameters.items():
            found = entry.values(name, 4, 8)
            assert found or one.values == [], (entry, name)
            for value in found[:3]:
                entry(4, 8, **{name: value}).check()
    with pytest.raises(TypeError, match="has no parameter 'waves'"):
        catalog.depth_first.values("waves", 4, 8)
