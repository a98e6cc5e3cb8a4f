"""Training by preferred answers or by rewards: the step that trains, by its loss.

Each sample of DPO and its like is two sequences. KTO's is one. GRPO's is an answer that
was generated before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values
from .updates import add_update

_OF_PAIRS = ("dpo", "ipo", "cpo", "orpo", "simpo")
_ALONE = ("cpo", "orpo", "simpo")  # the losses that compare with no reference
_OF_REWARDS = ("grpo", "rloo")
_BETAS = {"rloo": 0.05}  # where none is said (TRL's rloo_config.py)
_KINDS = (*_OF_PAIRS, "kto", "bco", "gkd", *_OF_REWARDS)
# A program that trains so by its name, as TRL's examples.
_NAMES = re.compile(
    r"(?:^|[_/-])(dpo|cpo|mpo|orpo|simpo|kto|grpo|rloo|gkd|bco)(?:v\d)?(?![a-z])"
)

# Others, which run a second model or generate: TRL's examples among them.
_OTHER_NAMES = re.compile(
    r"(?:^|[_/-])(dpo|grpo|ppo|kto|orpo|rlhf|rloo|reward|xpo|nash_md|gold|sdft"
    r"|distillation)(?:v\d)?(?![a-z])"
)

# Programs of their own name the models that run beside the one that trains.
_OTHER_MODELS = re.compile(
    r"(reference|ref|reward|teacher|critic|draft)_model(?!_mixup)"
)

# Keys of training by preferences and by rewards: TRL, Axolotl, LLaMA-Factory.
OF_PREFERENCES = (
    "rl rlhf_type beta loss_type dpo_beta pref_beta pref_loss pref_ftx kto_beta "
    "simpo_gamma ref_model cpo_alpha orpo_alpha max_prompt_length rpo_alpha "
    "dpo_alpha"
).split()
_SECOND = (
    "num_generations reward_funcs reward_model reward_model_path max_completion_length"
).split()
# open-r1 has rewards, and a file of the Trainer's arguments, for this as well.
_FILTERS = ("pass_rate_min", "pass_rate_max")
# Keys of generation and rewards, which an update does not have.
OF_GENERATION = """
    num_generations reward_funcs reward_model reward_weights reward_model_plugin
    external_plugins max_completion_length max_prompt_length temperature top_p top_k
    min_p repetition_penalty use_vllm steps_per_generation generation_batch_size
    num_iterations epsilon epsilon_high scale_rewards sync_ref_model ref_model_
    mask_truncated_completions log_completions vllm_ trl.
""".split()


def preference_of(given: Mapping[str, Any], program: str) -> str:
    """The loss by Axolotl's `rl`, ms-swift's `rlhf_type`, LLaMA-Factory's `stage`, the
    rewards of TRL, or the program's name; empty where it is another training."""
    stage = given.get("stage")
    if stage == "dpo":
        loss = str(given.get("pref_loss") or "dpo")
        return loss if loss in _ALONE else "dpo"
    if stage == "kto":
        return "kto"
    named = _NAMES.search(program)
    kind = str(given.get("rl") or given.get("rlhf_type") or (named[1] if named else ""))
    if kind == "mpo":  # DPO's loss beside two others (Wang et al. 2024)
        kind = "dpo"
    if not kind and given.get("gamma_beta_ratio") is not None:
        kind = "simpo"  # an argument of its own trainer alone
    if not kind and given.get("reward_funcs") and given.get("num_generations"):
        return "grpo"
    return kind if kind in _KINDS else ""


def is_of_rewards(kind: str) -> bool:
    return kind in _OF_REWARDS


def add_length(v: Values, run: Run) -> None:
    """The longest prompt with the longest answer; no length where one is not said."""
    prompt = v.get("max_prompt_length", "max_length")
    answer = v.number("max_completion_length", "trl.max_completion_length", default=0)
    if prompt is None or not answer:
        run.notes.append(
            "nothing says how long prompts and answers are: give --sequence"
        )
        return
    run.batch["sequence"] = v.number("max_prompt_length", "max_length") + answer


def add_preference(run: Run, kind: str, beta: Any = None) -> None:
    """Counts the sequences, and says what of the step is not in the run. `beta` weighs
    the distance from a reference."""
    if kind in _OF_REWARDS:
        add_update(run, kind)
        _hold_reference(run, _BETAS.get(kind, 0) if beta is None else beta)
        return
    if kind == "kto":
        if adds_reference(run, 3):
            run.notes.append(
                "kto: forwards of mismatched answers, and of the reference for both"
            )
        return
    if kind == "bco":  # a sample is one sequence, and nothing is mismatched
        adds_reference(run, 1)
        return
    double_batch(run)
    run.notes.append(f"{kind}: a sample is two sequences, of the two answers")
    if kind not in _ALONE:
        adds_reference(run, 1)


def _hold_reference(run: Run, beta: Any) -> None:
    """Its forward comes before the update, but its weights stay on the devices; beside
    adapters they are the model's own. Without a distance from it there is none."""
    if float(beta) == 0 or run.program.get("lora"):
        return
    if run.framework == "megatron":
        run.unknown.append("the weights of the reference")
        return
    run.program["frozen_copy"] = True
    run.notes.append(f"beta {beta}: the weights of the reference are held")


def double_batch(run: Run) -> None:
    """A sample is two sequences: in the batch, and in what DeepSpeed is given of it."""
    for key in ("micro_batch", "sequences"):
        if key in run.batch:
            run.batch[key] *= 2
    if run.framework == "deepspeed":
        sizes = ("train_micro_batch_size_per_gpu", "train_batch_size")
        run.arguments = {
            key: 2 * value if key in sizes and isinstance(value, int) else value
            for key, value in run.arguments.items()
        }


def adds_reference(run: Run, forwards: int) -> bool:
    """A model as large as the one that trains, which runs forwards beside its own, as
    TRL's trainers do, and ms-swift's over Megatron-Core in the same step of the same
    ranks (swift/megatron/trainers); beside adapters it is the same model."""
    if str(run.arguments.get("pipeline-model-parallel-size", 1)) != "1":
        run.unknown.append(
            "the forward of the reference"
            + ("" if run.program.get("lora") else ", and its weights")
            + ", in a pipeline"
        )
        return False
    run.program["frozen_forwards"] = forwards
    run.program["frozen_copy"] = True
    return True


def refuse_second_model(given: Mapping[str, Any], name: str, kind: str = "") -> None:
    """Stops at keys, or the name of a program, that say another kind of training than
    `kind`. Raises Unreadable."""
    for key in _FILTERS:
        if given.get(key) is not None:
            raise Unreadable(
                f"{key}: it generates answers and keeps samples by their rewards; "
                "nothing trains"
            )
    if is_of_rewards(kind) or kind in ("reward_model", "gkd"):
        return
    wrong = _SECOND if kind else (*_SECOND, *OF_PREFERENCES)
    harmless = ("loss_type", "max_prompt_length")
    keys = [
        key
        for key in wrong
        if key not in harmless and given.get(key) not in (None, "", False)
    ]
    keys += [
        key
        for key, value in given.items()
        if _OTHER_MODELS.match(key) and value not in (None, "", False, "false")
        if not (kind and key.startswith("ref"))
    ]
    found = _OTHER_NAMES.search(name)
    if keys or found:
        raise Unreadable(
            f"{keys[0] if keys else name}: training by preferences or rewards runs a "
            "second model, or generates; --set rl=dpo, kto, orpo, simpo, cpo or grpo "
            "says which, or describe the step that trains to ashlar predict"
        )
