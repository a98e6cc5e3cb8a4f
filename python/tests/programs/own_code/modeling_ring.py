"""A model whose code no package has; it needs a package that is not there, too."""

import package_of_generation  # noqa: F401
import torch
from torch import nn
from torch.nn.utils import skip_init
from transformers import PreTrainedModel

from .configuration_ring import RingConfig


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        wide = config.hidden_size
        self.query_key_value = skip_init(nn.Linear, wide, 2 * wide, bias=False)
        self.dense = skip_init(nn.Linear, wide, wide, bias=False)


class Feed(nn.Module):
    def __init__(self, config):
        super().__init__()
        wide, inside = config.hidden_size, config.inside
        self.dense_h_to_4h = nn.Linear(wide, 2 * inside, bias=False)
        self.dense_4h_to_h = nn.Linear(inside, wide, bias=False)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = Attention(config)
        self.mlp = Feed(config)


class RingModel(PreTrainedModel):
    config_class = RingConfig
    supports_gradient_checkpointing = True

    def __init__(self, config):
        super().__init__(config)
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            Layer(config) for _ in range(config.num_hidden_layers)
        )
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.gradient_checkpointing = False
        self.register_buffer("places", torch.arange(8), persistent=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.word_embeddings

    def set_input_embeddings(self, value):
        self.word_embeddings = value

    def _init_weights(self, module):
        pass
