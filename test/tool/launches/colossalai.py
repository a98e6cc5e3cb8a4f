"""ColossalAI."""
import textwrap
from pathlib import Path

from launch_reading import of_script, part

# Reduced from applications/Colossal-LLaMA/train.py and ColossalChat's programs.
CHAT = textwrap.dedent("""\
    import argparse
    import colossalai
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", type=str, default="gemini")
    parser.add_argument("--pretrain", type=str, default=None)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--max_length", type=int, default=2048)
    parser.add_argument("--mixed_precision", type=str, default="fp16")
    parser.add_argument("--accumulation_steps", type=int, default=8)
    parser.add_argument("--grad_checkpoint", default=False, action="store_true")
    parser.add_argument("--use_flash_attn", default=False, action="store_true")
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--sp_mode", type=str, default="split_gather")
    parser.add_argument("--enable_sequence_parallelism", default=False, action="store_true")
    parser.add_argument("--zero_stage", type=int, default=0)
    parser.add_argument("--zero_cpu_offload", default=False, action="store_true")
    parser.add_argument("--microbatch_size", type=int, default=1)
    parser.add_argument("--lora_rank", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-6)
    parser.add_argument("--save_dir", type=str)
    """)
# From examples/language/llama/benchmark.py.
BENCHMARK = textwrap.dedent("""\
    import argparse
    from transformers.models.llama.configuration_llama import LlamaConfig
    MODEL_CONFIGS = {
        "7b": LlamaConfig(max_position_embeddings=4096),
        "70b": LlamaConfig(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8),
    }
    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("-c", "--config", type=str, default="7b")
        parser.add_argument("-p", "--plugin", choices=["gemini", "3d"], default="gemini")
        parser.add_argument("-b", "--batch_size", type=int, default=2)
        parser.add_argument("-g", "--grad_checkpoint", action="store_true")
        parser.add_argument("-l", "--max_length", type=int, default=4096)
        parser.add_argument("-x", "--xformers", action="store_true")
        parser.add_argument("--shard_param_frac", type=float, default=1.0)
        parser.add_argument("--tp", type=int, default=1)
        parser.add_argument("--pp", type=int, default=1)
        parser.add_argument("--sp", type=int, default=1)
        parser.add_argument("--mbs", type=int, default=1)
        parser.add_argument("--zero", type=int, default=0)
        parser.add_argument("--sp_mode", default="all_to_all")
        parser.add_argument("--extra_dp", type=int, default=1)
        parser.add_argument("--pp_style", default="1f1b")
        parser.add_argument("--n_chunks", default=1, type=eval)
    """)
RUN = "colossalai run --nproc_per_node 8 --hostfile h --master_port 1"
ALONE = "colossalai run --nproc_per_node 8"
CASES = {
    f"{RUN} train_sft.py --plugin zero2 --pretrain a/b --save_dir -2026.json": {
        "batch.micro_batch": 4, "batch.micro_batches": 8, "batch.sequence": 2048, "layout.sharding": "gradients", "program.precision": "fp16",
        "layout.recompute": None, "unknown": None},
    f"{RUN} train_sft.py --plugin zero2_cpu --mixed bf16 --grad_checkpoint --use_flash_attn": {
        "layout.offload_optimizer": True, "program.precision": "bf16", "layout.recompute": "full", "program.attention": "flash_attention_2"},
    f"{RUN} train_sft.py --plugin ddp": {"layout.sharding": "none"},
    f"{RUN} train_sft.py --lora_rank 8": {"layout.sharding": "full", "program.lora": "8,q_proj,v_proj"},
    # In a pipeline, the batch of a data rank is its micro-batches, and nothing is summed over batches.
    f"{RUN} train_sft.py --plugin 3d --tp 2 --pp 2 --zero_stage 1 --zero_cpu_offload --batch_size 8 --microbatch_size 2": {
        "batch.micro_batch": 2, "batch.micro_batches": 4, "layout.tensor": 2, "layout.pipeline": 2, "layout.sharding": "optimizer",
        "layout.offload_optimizer": True, "program.sequence_parallel": "off"},
    f"{RUN} train_sft.py --plugin 3d --tp 2 --enable_sequence_parallelism": {"program.sequence_parallel": "on", "layout.context": None},
    f"{RUN} train_sft.py --plugin 3d --sp 4 --sp_mode all_to_all --enable_sequence_parallelism": {"layout.context": 4},
    f"{RUN} train_sft.py --plugin 3d --pp 2 --zero_stage 2": "stops",
    f"{RUN} train_dpo.py --plugin zero2": {"batch.micro_batch": 8, "program.frozen_forwards": 1, "program.frozen_copy": True},
    f"{RUN} train_orpo.py --plugin zero2": {"batch.micro_batch": 8, "program.frozen_forwards": None},
    f"{RUN} train_rm.py --plugin zero2": {"batch.micro_batch": 8, "program.head": "1"},
    f"{RUN} train_ppo.py --plugin zero2": "trains a critic",
    f"{RUN} train_sft.py --plugin gemini_auto": "plugin=gemini",
    f"{RUN} train_sft.py --micro_batch_size 8": "no argument of train_sft.py",
    f"{RUN} other.py --plugin zero2 --max_length 1024": "lacks batch_size",
    f"{RUN} other.py --plugin zero2 --max_length 1024 --batch_size 2": {"batch.micro_batch": 2, "batch.micro_batches": 1},
    f"{ALONE} benchmark.py -c 70b -g -x -b 2 --tp 2 --extra_dp 2": {
        "model.num_hidden_layers": 80, "model.vocab_size": 32000, "batch.micro_batch": 2, "batch.sequence": 4096, "layout.sharding": "full",
        "layout.recompute": "full", "program.attention": "flash_attention_2", "layout.tensor": 2, "layout.shard_ranks": 2},
    "torchrun --nproc_per_node 8 benchmark.py -p 3d --pp 4 --mbs 2 -b 16 --pp_style interleaved --n_chunks 2": {
        "model.num_hidden_layers": 32, "layout.chunks": 2, "batch.micro_batches": 8},
    f"{RUN} benchmark.py --shard_param_frac 0.5": "a share of the weights",
    f"{RUN} benchmark.py -p 3d --pp 4 --pp_style zbv": "--schedule",
}


def check(folder):
    for name in ("sft", "dpo", "orpo", "rm", "ppo"):
        Path(folder, f"train_{name}.py").write_text(CHAT)
    Path(folder, "benchmark.py").write_text(BENCHMARK.replace("import argparse", "import argparse\nimport colossalai", 1))
    for script, expected in CASES.items():
        run, said = of_script(folder, script)
        if isinstance(expected, str):
            assert run is None and expected in said, (script, said)
            continue
        assert run is not None, (script, said)
        for name, value in expected.items():
            assert part(run, name) == value, (script, name, part(run, name), run)
