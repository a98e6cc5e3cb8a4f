"""The model of the programs here: MLP layers as in a transformer."""

from torch import nn


class Layer(nn.Module):
    """An MLP with a residual."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))
