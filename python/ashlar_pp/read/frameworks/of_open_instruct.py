"""open-instruct's training by rewards, grpo_fast.py: the step that trains its policy,
by DeepSpeed."""

from __future__ import annotations

import pathlib

from ..facts.local_models import add_local_model
from ..facts.updates import add_update
from ..flags import words_by_name
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, sorted_out

READS = "open-instruct"

_STAGES = ("none", "optimizer", "gradients", "full")
# Names of generation, rewards, data and logs (its grpo_utils.py and data_loader.py).
_QUIET = """
    exp_name run_name output_dir seed dataset_ chat_template add_bos tokenizer_ save_
    learning_rate lr_ warmup weight_decay max_grad_norm set_weight fused_optimizer
    total_episodes num_training num_epochs local_eval local_main backend_timeout beta
    clip_ use_rho rho_ kl_ loss_ alpha ref_policy record_entropy use_vllm
    vllm_ single_gpu num_nodes gather_whole enable_queue queue_ verbose push_to hf_
    cache_ checkpoint_ gs_ keep_last try_ no_try oe_eval eval_ send_slack async_
    active_sampling filter_ no_resampling advantage_ mask_ max_token_length system_
    temperature stop_strings inflight additive_ apply_ verification_ remap_ reward_
    llm_judge code_ non_stop format_ r1_style max_possible penalize tools tool_ parser
    with_tracking wandb_ report_to allow_world ground_truths sft_messages
    deepspeed_checkpoint number_samples only_reward dataloader pass_tools
    truncated_importance priority description budget ground_
""".split()


def is_for(training: Training) -> bool:
    return training.name.removesuffix(".py").rpartition(".")[2] == "grpo_fast"


def read(training: Training) -> Run:
    """Raises Unreadable."""
    v = Values(words_by_name(training.arguments), training.program)
    for key in ("local_rollout_batch_size", "actor_num_gpus_per_node"):
        if v.get(key) is not None:
            raise Unreadable(f"--{key}: an older version of grpo_fast.py", flag=key)
    for key in ("use_peft", "use_lora", "deepspeed_offload_param", "fsdp_shard_degree"):
        if v.get(key) not in (None, False, "false", "False"):
            raise Unreadable(f"--{key}: it is not read of grpo_fast.py", flag=key)
    run = Run()
    name = v.word("model_name_or_path")
    add_local_model(run, name, pathlib.Path(training.command.folder))
    _read_batch(v, run)
    devices = _read_devices(v, run)
    _read_sharing(v, run, devices)
    run.program.update(precision="bf16", attention="flash_attention_2")
    if v.get("attn_implementation") == "sdpa":
        run.program["attention"] = "sdpa"
    v.get("model_dtype", "model_revision")
    if v.flag("gradient_checkpointing"):
        run.layout["recompute"] = "full"
    add_update(run, "grpo", ", in packs")
    if v.flag("load_ref_policy", default=True):  # whatever beta is
        run.program["frozen_copy"] = True
    run.not_read, run.unknown = sorted_out(v.rest(), _QUIET)
    return run


def _read_batch(v: Values, run: Run) -> None:
    """Answers of a rollout are packed, and its packs are parted into mini-batches."""
    pack = v.number("pack_length", default=512)
    whole = v.number("max_prompt_token_length", default=256)
    whole += v.number("response_length", default=256)
    samples = v.number("num_unique_prompts_rollout", default=16)
    samples *= v.number("num_samples_per_prompt_rollout", default=4)
    packs = -(-samples // max(1, pack // whole))
    parts = v.number("num_mini_batches", default=1)
    run.batch = {
        "sequence": pack,
        "sequences": max(1, packs // parts),
        "micro_batch": v.number("per_device_train_batch_size", default=1),
    }


def _read_devices(v: Values, run: Run) -> int:
    """Those that train; others generate."""
    said = v.word("num_learners_per_node", default="1").split()
    counts = [int(each) for each in said if each.isdigit()]
    if len(counts) != len(said) or len(set(counts)) != 1:
        run.notes.append(f"{sum(counts)} devices train")
    else:
        run.notes.append(f"launched on {len(counts)} x {counts[0]} devices")
    return sum(counts)


def _read_sharing(v: Values, run: Run, devices: int) -> None:
    stage = v.number("deepspeed_stage", default=0)
    if stage >= len(_STAGES):
        raise Unreadable(f"--deepspeed_stage {stage}: there are 0 to 3")
    run.layout["sharding"] = _STAGES[stage]
    ranks = v.number("deepspeed_zpg", default=8)
    if stage == 3 and 1 < ranks < devices and devices % ranks == 0:
        run.layout["weight_ranks"] = ranks
    if v.flag("deepspeed_offload_optimizer"):
        run.layout["offload_optimizer"] = True
    context = v.number("sequence_parallel_size", default=1)
    if context > 1:
        run.layout["context"] = context
