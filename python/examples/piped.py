import torch
import transformers

from ashlar_pp.torch import Pipeline

torch.distributed.init_process_group("gloo")
shape = {
    "hidden_size": 64,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 512,
}
model = transformers.LlamaForCausalLM(
    transformers.LlamaConfig(**shape, use_cache=False)
)
tokens = torch.randint(512, (16, 32), generator=torch.Generator().manual_seed(0))
pipe = Pipeline(
    model,
    {"input_ids": tokens[:2], "labels": tokens[:2]},
    micro_batches=8,
    memory="1GiB",
)
optimizer = torch.optim.AdamW(pipe.parameters(), lr=1e-3)
for step in range(3):
    loss = pipe.step({"input_ids": tokens, "labels": tokens})
    optimizer.step(), optimizer.zero_grad()
    if torch.distributed.get_rank() == 0:
        print(f"step {step}: {loss.item():.3f}")
