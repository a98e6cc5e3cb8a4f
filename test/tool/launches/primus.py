"""Primus."""

RECIPES = [
    ({"extends": ["llama_base.yaml"], "num_layers": 2, "hidden_size": 64}, "a part that Primus's configurations take in"),
    ({"modules": {"pre_trainer": {"framework": "light"}}}, "framework light of Primus"),
    ({"num_layers": 2, "hidden_size": 64, "compress_ratios": "[4, 128]"}, "attention to compressed keys"),
]
