"""Sizes of a model whose code no package has."""

from transformers import PretrainedConfig


class RingConfig(PretrainedConfig):
    model_type = "ring"

    def __init__(self, rows=512, wide=64, inside=96, depth=3, **named):
        self.vocab_size = rows
        self.hidden_size = wide
        self.inside = inside
        self.num_hidden_layers = depth
        super().__init__(**named)
