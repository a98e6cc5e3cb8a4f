"""An unpiped model draws a pipeline's numbers on every rank."""

import random

import numpy as np
import torch
from torch import nn

from ashlar_pp.torch.generators import Streams


class Drawing(nn.Module):
    def forward(self, x):
        return x + random.random() + np.random.rand() + torch.rand(())


def test_a_rank_whose_layers_draw_nothing_of_python_has_the_same_numbers():
    found = []
    for seeds in (True, False):
        streams = Streams(7, 0, torch.device("cpu"))
        streams.seeds_python = seeds
        model = Drawing()
        before = random.getstate(), np.random.get_state()[1].tolist()
        with streams.in_whole_model({"": model}):
            found.append(model(torch.zeros(())).item())
        assert streams.seeds_python == seeds
        assert before == (random.getstate(), np.random.get_state()[1].tolist())
    assert found[0] == found[1]
