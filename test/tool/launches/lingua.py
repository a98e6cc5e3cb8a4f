"""lingua."""

RECIPES = [
    ({"model_type": "hawk", "model": {"dim": 64, "n_layers": 2, "n_heads": 2, "conv_size": 4}, "distributed": {},
      "data": {"tokenizer": {"name": "tiktoken"}}},
     "its tokenizer has the vocabulary"),
    ({"model": {"dim": 64, "n_layers": 2, "n_heads": 2, "conv_size": 4, "vocab_size": 100}, "distributed": {}, "data": {}},
     "read, by their folders"),
    ({"model_type": "hawk", "model": {"dim": 64, "n_layers": 2, "n_heads": 2, "conv_size": 4}, "distributed": {},
      "data": {"seq_len": 8, "batch_size": 1, "tokenizer": {"name": "bytes"}}}, {"model.architecture.vocabulary": 258}),
]
