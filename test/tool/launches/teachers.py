"""Teachers of a distillation: ms-swift, TRL."""

from launch_reading import LLAMA

SWIFT = "swift rlhf --rlhf_type gkd --model a/b --tuner_type full --max_length 2048 --max_completion_length 512 --per_device_train_batch_size 4"
TEACHER = "a/c"
WRITTEN = {
    # A prompt with its answer, unless no sample is an answer of the model.
    f"{SWIFT} --teacher_model a/c --deepspeed zero3 --gradient_accumulation_steps 1": {
        "program.teacher": TEACHER, "batch.sequence": 2560, "deepspeed.train_micro_batch_size_per_gpu": 4, "program.frozen_forwards": None,
        "unknown": None},
    f"{SWIFT} --teacher_model a/c --deepspeed zero2 --lmbda 0": {"program.teacher": TEACHER, "batch.sequence": 2048, "unknown": None},
    f"{SWIFT} --teacher_model a/c --deepspeed zero2 --teacher_deepspeed zero3": {
        "unknown": ["teacher_deepspeed: ranks share the teacher's weights, counted whole"]},
    f"{SWIFT} --teacher_model a/c --deepspeed zero3 --teacher_deepspeed zero3_offload": {
        "unknown": ["teacher_deepspeed: the teacher's weights are on the host"]},
    # Its own teacher: as it began, or as it is.
    f"{SWIFT} --teacher_model a/b": {"program.teacher": None, "program.frozen_forwards": 1, "program.frozen_copy": True},
    f"{SWIFT}": {"program.teacher": None, "program.frozen_forwards": 1, "program.frozen_copy": None},
    f"{SWIFT} --teacher_model_server http://localhost:8000": {"program.teacher": None, "program.frozen_forwards": None},
    f"torchrun gkd.py {LLAMA} --teacher_model_name_or_path a/c --max_new_tokens 128": {
        "program.teacher": TEACHER, "batch.sequence": 2176, "batch.micro_batch": 2},
}
REFUSED = {
    f"{SWIFT} --teacher_model a/c --offload_teacher_model true": "offload_teacher_model=false",
    f"{SWIFT.replace('swift', 'megatron')} --teacher_model a/c": "under Megatron-Core",
    "swift rlhf --rlhf_type grpo --model a/b --teacher_model a/c": "--teacher_model",
    f"torchrun train.py {LLAMA} --teacher_model_name_or_path a/c": "second model",
}
RECIPES = [
    ({"model": {"model_name": "a/b", "model_max_length": 1024, "torch_dtype_str": "bfloat16"},
      "training": {"trainer_type": "TRL_GKD", "per_device_train_batch_size": 2, "gkd": {"teacher_model_name_or_path": "a/c", "max_new_tokens": 512}}},
     {"program.teacher": TEACHER, "batch.sequence": 1536, "batch.micro_batch": 2}),
    ({"model": {"model_name": "a/b"}, "training": {"trainer_type": "TRL_GOLD"}}, "a teacher runs"),
]
