"""lingua."""

RECIPES = [
    ({"model": {"dim": 64, "n_layers": 2, "n_heads": 2, "conv_size": 4}, "distributed": {"fsdp_type": "full_shard"}, "data": {}},
     "read, by their folders"),
]
