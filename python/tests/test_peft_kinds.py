"""Configurations of peft, and the parameters that it makes for them."""

import re

import pytest

from ashlar_pp.read.facts.peft_kinds import PARAMETERS, kind_of
from ashlar_pp.read.programs.made_objects import plain
from ashlar_pp.read.run_file import Unreadable

peft = pytest.importorskip("peft")
torch = pytest.importorskip("torch")

PLACES = {"target_modules": ["q_proj", "down_proj"]}


class Matrices(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = torch.nn.Linear(16, 32)
        self.down_proj = torch.nn.Linear(32, 16)
        self.norm = torch.nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(self.down_proj(self.q_proj(x)))


def read(config):
    return kind_of({key: plain(value) for key, value in config.to_dict().items()})


@pytest.mark.parametrize(
    ("made", "own", "said"),
    [
        ("LoraConfig", {"r": 4}, (4, "")),
        ("AdaLoraConfig", {"init_r": 6, "total_step": 10}, (6, "adalora")),
        ("OFTConfig", {"oft_block_size": 8}, (8, "oft")),
        ("VeraConfig", {"r": 4}, (4, "vera")),
        ("MissConfig", {"r": 4}, (4, "miss")),
        ("MissConfig", {"r": 4, "init_weights": "bat"}, (4, "bat")),
        ("IA3Config", {"feedforward_modules": ["down_proj"]}, (1, "ia3")),
        ("LoHaConfig", {"r": 4}, (4, "loha")),
        ("LoKrConfig", {"r": 4}, (4, "lokr")),
        ("FourierFTConfig", {"n_frequency": 9}, (9, "fourierft")),
        ("BOFTConfig", {"boft_block_size": 8}, (8, "boft")),
    ],
)
def test_a_kind_has_a_word_and_its_parameters_are_beside_the_models(made, own, said):
    config = getattr(peft, made)(**PLACES, **own)
    assert read(config) == said
    model = peft.get_peft_model(Matrices(), config)
    assert all(
        bool(re.search(PARAMETERS, name)) == each.requires_grad
        for name, each in model.named_parameters()
    )


@pytest.mark.parametrize(
    ("made", "own", "why"),
    [
        ("LoKrConfig", {"decompose_factor": 8}, "decompose_factor 8"),
        ("LoHaConfig", {"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ("BOFTConfig", {"boft_block_size": 8, "boft_n_butterfly_factor": 2}, "_factor"),
        ("MissConfig", {"init_weights": "mini", "mini_r": 4}, "init_weights mini"),
        ("OFTConfig", {"block_share": True}, "block_share"),
        ("IA3Config", {"feedforward_modules": ["q_proj"]}, "inputs of down_proj"),
    ],
)
def test_what_is_not_counted_of_a_kind_is_refused(made, own, why):
    with pytest.raises(Unreadable, match=why):
        read(getattr(peft, made)(**PLACES, **own))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("PromptTuningConfig", "before each sequence"),
        ("PrefixTuningConfig", "keys and values"),
        ("PromptEncoderConfig", "a network makes"),
        ("HRAConfig", "not counted"),
    ],
)
def test_other_kinds_are_refused_with_the_reason(made, why):
    with pytest.raises(Unreadable, match=why):
        read(getattr(peft, made)())
