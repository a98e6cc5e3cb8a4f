"""Programs that the verifier accepts, and those that are refused without one."""

import json

import pytest

import ashlar_pp
from ashlar_pp import catalog
from ashlar_pp.certificates import must_be_certified
from ashlar_verify import claims_of

SCHEDULES = ["1f1b", "depth-first", "zb-h1", "v-half", "chimera", "seq1f1b"]


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("sharding", ["none", "optimizer", "full"])
def test_programs_have_certificates_that_hold(name, sharding):
    schedule = catalog.find(name)(4, 8)
    ranks = 1 if sharding == "none" else 2
    for lanes in ("one", "one_a_peer", "one_a_direction", "one_a_kind"):
        program = ashlar_pp.lower(lanes=lanes, sharding=sharding, data_ranks=ranks)(
            schedule
        )
        must_be_certified(program)
        claims = claims_of(json.loads(program.certificate("it")))
        assert {claim.state for claim in claims} == {"shown"}


class Changed:
    """A program whose certificate is not that of its streams."""

    def __init__(self, program):
        self._certificate = json.loads(program.certificate())
        stream = self._certificate["streams"][0]
        stream[3], stream[4] = stream[4], stream[3]

    def certificate(self):
        return json.dumps(self._certificate)


def test_a_program_without_a_certificate_is_refused():
    program = ashlar_pp.lower()(catalog.find("zb-h1")(4, 8))
    with pytest.raises(ValueError, match="ashlar_verify does not accept the program"):
        must_be_certified(Changed(program))

    class WithoutOne:
        def certificate(self):
            raise ValueError("it copies to the host")

    with pytest.raises(ValueError, match="no certificate: it copies to the host"):
        must_be_certified(WithoutOne())


def test_a_pipeline_is_refused_before_anything_of_it_runs(monkeypatch, tmp_path):
    import torch
    import torch.distributed as dist
    from torch import nn

    from ashlar_pp.torch import Pipeline, front, pipeline, pipelines, runtime

    def refuse(program):
        raise ValueError("there is none")

    for module in (front, pipelines, runtime):
        monkeypatch.setattr(module, "must_be_certified", refuse)
    dist.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        before = {name: p.clone() for name, p in model.state_dict().items()}
        x = torch.ones(2, 4)
        loss = torch.nn.functional.mse_loss
        asked = {"loss_fn": loss, "target": x, "micro_batches": 2}
        with pytest.raises(ValueError, match="there is none"):
            Pipeline(model, x, require_certificate=True, **asked)
        assert all(before[name].equal(p) for name, p in model.state_dict().items())
        schedule = catalog.find("1f1b")(1, 2)
        for kind in ("pytorch", "ashlar"):
            with pytest.raises(ValueError, match="there is none"):
                pipeline(
                    {0: model}, schedule, loss, runtime=kind, require_certificate=True
                )
        Pipeline(model, x, **asked).step(torch.ones(4, 4), target=torch.ones(4, 4))
    finally:
        dist.destroy_process_group()
