#!/usr/bin/env python3
"""The tool and `python -m ashlar_pp.read launch` make the same run of random arguments of Megatron-LM, or both refuse it.

usage: megatron_arguments.py ASHLAR ROOT [CASES]

It needs no package. Names, numbers of words and defaults are those of Megatron-LM's own parser, by the table that the package has. Each
argument of the table is also given alone: it changes what is predicted, or is refused, or stands in one of the two lists of the answer.
"""
import json
import random
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ASHLAR = sys.argv[1]
ROOT = Path(sys.argv[2]).resolve()
CASES = int(sys.argv[3]) if len(sys.argv) > 3 else 150
PACKAGE = ROOT / "python" / "ashlar_pp"  # whose extension is not built here
sys.path.insert(0, str(PACKAGE))

from read.flags import FILE  # noqa: E402
from read.trainings import run_of  # noqa: E402
from read.scripts.launchers import trainings_of  # noqa: E402
from read.scripts.recording import Command  # noqa: E402
from read.run_file import Unreadable  # noqa: E402

FLAGS = json.loads(FILE.read_text())["flags"]
# A model that most arguments leave possible.
BASE = ("--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 "
        "--micro-batch-size 1 --global-batch-size 64 --bf16").split()
# Words that arguments take, where a number or a name made up would only be refused.
CHOICES = {
    "attention_backend": ["auto", "fused", "flash", "unfused", "local"], "cuda_graph_impl": ["none", "local", "transformer_engine"],
    "data_parallel_sharding_strategy": ["no_shard", "optim", "optim_grads", "optim_grads_params"], "fp8_format": ["e4m3", "hybrid"],
    "fp8_recipe": ["delayed", "tensorwise", "blockwise", "mxfp8"], "hybrid_layer_pattern": ["M*-M*-", "MMME*E", "M*Q"],
    "moe_layer_freq": ["1", "2", "([0]*4+[1]*20)", "[1,0]"], "moe_token_dispatcher_type": ["allgather", "alltoall", "flex"],
    "normalization": ["LayerNorm", "RMSNorm", "Other"], "num_experts": ["8"], "num_query_groups": ["4"], "offload_modules": ["core_attn", "moe_act"],
    "optimizer": ["adam", "sgd"], "pipeline_model_parallel_layout": ["Et*12|t*12L"], "position_embedding_type": ["rope", "learned_absolute", "none"],
    "recompute_granularity": ["full", "selective"], "recompute_method": ["uniform", "block"], "recompute_modules": ["core_attn", "mlp layernorm", "moe"],
    "spec": ["local", "own.layers get_spec", "megatron.core.models.gpt.gpt_layer_specs get_gpt_layer_local_spec"], "transformer_impl": ["local"],
    "window_size": ["128,0", "(128,0)", "8"], "rampup_batch_size": ["16 16 100"], "tokenizer_type": ["NullTokenizer"],
}
READ = """attention_output_gate context_parallel_size data_parallel_sharding_strategy disable_bias_linear expert_model_parallel_size ffn_hidden_size
fp8_format fp8_recipe group_query_attention kv_channels moe_ffn_hidden_size moe_layer_freq moe_router_topk moe_shared_expert_intermediate_size
mtp_num_layers multi_latent_attention normalization num_experts num_layers_per_virtual_pipeline_stage num_query_groups overlap_grad_reduce
pipeline_model_parallel_size position_embedding_type qk_layernorm quick_geglu recompute_granularity recompute_method recompute_modules
recompute_num_layers sequence_parallel squared_relu swiglu tensor_model_parallel_size use_distributed_optimizer use_megatron_fsdp
untie_embeddings_and_output_weights window_size""".split()

# These say something beside others alone, or say what is so without them.
READ_BESIDE = set("""
account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split add_qkv_bias bert_no_binary_head cuda_graph_scope data_parallel_sharding_strategy
ddp_bucket_size exp_avg_dtype exp_avg_sq_dtype main_params_dtype make_vocab_size_divisible_by moe_expert_capacity_factor moe_grouped_gemm
moe_pad_expert_input_to_capacity moe_permute_fusion moe_shared_expert_overlap no_overlap_p2p_communication no_pad_vocab_size
expert_tensor_parallel_size fine_grained_activation_offloading fp8_recipe lr merge_file min_lr moe_enable_deepep moe_router_enable_expert_bias
moe_shared_expert_gate moe_token_dispatcher_type num_distributed_optimizer_instances num_query_groups offload_modules optimizer_offload_fraction
overlap_param_gather recompute_method recompute_modules recompute_num_layers sequence_parallel squared_relu tokenizer_type
torch_fsdp2_no_reshard_after_forward train_iters use_mcore_models window_attn_skip_freq
""".split())


def key_of(flag):
    return flag["names"][0][2:].replace("-", "_")


def words_of(flag, dice):
    """The argument with a value, hyphens or underscores between its parts, and its value behind a blank or =."""
    name, count = dice.choice(flag["names"]), flag["words"]
    if dice.random() < 0.2:
        name = "--" + name[2:].replace("-", "_")
    if count == 0:
        return [name]
    default = flag.get("default")
    if choices := CHOICES.get(key_of(flag), flag.get("choices")):
        value = dice.choice(choices)
    elif isinstance(default, float):
        value = str(dice.choice([0.0, 0.5, 1.0, default]))
    elif isinstance(default, str):
        value = dice.choice([default or "word", "word"])
    else:
        value = str(dice.choice([1, 2, 4, 8]))
    parts = value.split()
    if len(parts) == 1 and count in (1, "?") and dice.random() < 0.3:
        return [f"{name}={value}"]
    return [name, *(parts if count != 1 else [value.replace(" ", "")])]


def random_words(dice):
    words = list(BASE)
    by_key = {key_of(flag): flag for flag in FLAGS}
    for key in dice.sample(READ, dice.randint(0, 5)):
        words += words_of(by_key[key], dice)
    for flag in dice.sample(FLAGS, dice.randint(0, 3)):
        words += words_of(flag, dice)
    if dice.random() < 0.15:  # not Megatron-LM's
        words += dice.choice([["--own-heads", "4"], ["--own-switch"], ["--own-experts", "none"], ["--extra-mlp", "2", "3"], ["--spec", "mine.layers"]])
    if dice.random() < 0.1:
        words.append("loose")
    return words


def predicted(*arguments):
    """The run as it is predicted, or nothing; and the error."""
    ran = subprocess.run([ASHLAR, "predict", "--as", "run", "--cluster", "8x8xH100", *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode in (0, 1, 2), (arguments, ran.returncode, ran.stderr)
    if not ran.stdout:
        return None, ran.stderr
    run = json.loads(ran.stdout)
    run["model"].pop("name")  # the file's
    return run, ""


def write_script(path, words):
    path.write_text("torchrun --nproc-per-node 8 pretrain_gpt.py \\\n  " + " \\\n  ".join(map(shlex.quote, words)) + "\n")


def both(folder, number, words):
    """What the tool makes of a script, and what it makes of the run that the package writes."""
    script, run = Path(folder, f"{number}.sh"), Path(folder, f"{number}.json")
    write_script(script, words)
    command = Command(("torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", *words), folder, {}, ())
    try:
        run.write_text(run_of(trainings_of([command])[0]).text())
    except Unreadable as error:
        return predicted("--megatron", script), (None, str(error))
    return predicted("--megatron", script), predicted("--run", run)


def check_same(words, ours, theirs):
    assert (ours[0] is None) == (theirs[0] is None), (words, ours, theirs)
    if ours[0] is None:
        return False
    for key in {*ours[0], *theirs[0]} - {"notes"}:
        found = [answer[0].get(key) for answer in (ours, theirs)]
        if key in ("unknown", "not_read"):  # in any order
            found = [sorted(" ".join(names or []).split()) for names in found]
        assert found[0] == found[1], (words, key, *found)
    return True


def place_of(folder, flag, base, word=""):
    """Where an argument that is given alone shows: it is refused, or in a list of the answer, or the run is another one; or nowhere."""
    name = flag["names"][0]
    script = Path(folder, f"{key_of(flag)}.sh")
    if name in BASE:
        return "read"
    for seed in range(1 if word else 4):
        write_script(script, [*BASE, *([name, word] if word else words_of(flag, random.Random(seed)))])
        run, _ = predicted("--megatron", script)
        if run is None:
            return "refused"
        for list_name in ("unknown", "not_read"):
            if name in " ".join(run.get(list_name, [])).split():
                return list_name
        if run != base:
            return "read"
    return ""


def check_each_flag(folder, pool):
    """No argument of Megatron-LM is passed over in silence."""
    script = Path(folder, "base.sh")
    write_script(script, BASE)
    base, _ = predicted("--megatron", script)
    places = dict(zip(map(key_of, FLAGS), pool.map(lambda flag: place_of(folder, flag, base), FLAGS)))
    silent = {key for key, place in places.items() if not place}
    assert silent == READ_BESIDE, (silent - READ_BESIDE, READ_BESIDE - silent)
    chosen = [flag for flag in FLAGS if "choices" in flag]
    others = dict(zip(map(key_of, chosen), pool.map(lambda flag: place_of(folder, flag, base, "another-word"), chosen)))
    silent = {key for key, place in others.items() if place in ("", "read")}
    assert not silent, f"a word that Megatron-LM's parser does not take is passed over: {silent}"
    return {place: list(places.values()).count(place) for place in ("read", "refused", "unknown", "not_read")}


def main():
    dice = random.Random(1)
    cases = [random_words(dice) for _ in range(CASES)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda case: both(folder, case[0], case[1]), enumerate(cases)))
        places = check_each_flag(folder, pool)
    read = sum(check_same(words, *answers) for words, answers in zip(cases, made))
    assert CASES // 5 < read < CASES, read  # both kinds are tried
    print(f"{CASES} lists of arguments, {read} predicted; arguments alone: {places}")


if __name__ == "__main__":
    main()
