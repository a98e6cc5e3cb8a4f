"""Arguments of programs over the Trainer that change no step.

Each pattern stands for a whole name. Programs of their own have names of their own, so
some patterns are families: how data is named, what is logged, saved and evaluated,
rates. test/data/arguments has the arguments of transformers, TRL, Axolotl and
LLaMA-Factory with what the reader makes of each.
"""

from __future__ import annotations

from ..values import alternatives

# Files and tables of data, and how words are cut into tokens.
_DATA = r"""
    datasets? dataset_(?!concat)\w+ test_datasets eval_datasets?
    (train|test|val|valid)_set
    (train|eval|test|val|valid|validation)_(files?|data|dir|path|split|dataset)\w*
    (train|validation|test)_\w+_(path|dir|files?|split) split_dataset_ratio
    validation_split_percentage val(idation)?_(check_interval|steps) val_set_size
    val_size test_size test_split_size split eval_split data_split
    data_(paths?|dir|root|files?|folder|names?|mixture|args|seed|impl|cache_dir|outdir)
    data_(path|file|folder)_\w+ data_shared_file_system image_folder text_column
    preprocessing_(num_workers|batch_size|only) lazy_preprocess
    overwrite_(cache|output_dir) max_(train_|eval_|predict_)?samples
    load_from_cache_file streaming buffer_size interleave_probs mix_strategy media_dir
    tokenized_path shuffle\w* disable_shuffling dataloader_\w+ dispatch_batches
    even_batches use_seedable_sampler non_blocking group_by_length length_column_name
    train_sampling_strategy remove_unused_columns packing packing_strategy eval_packing
    (eval_)?sample_packing\w* pad_to_\w+ push_dataset_to_hub skip_prepare_dataset
    train_on_inputs train_on_prompt mask_history completion_only_loss
    assistant_only_loss excess_length_strategy min_sample_len truncation_mode
    conversation_template disable_group_texts dataset_mixer\.\S+ (bos|unk)_token
    tokens\.\w+ dataset_kwargs\.\w+ tokenizer
    tokenizer_(?!model_max)\w+ use_(fast|slow)_tokenizer
    add_bos\w* eos_token pad_token label_pad_token_id special_tokens(\.\w+)? tokens
    split_special_tokens skip_special_tokens eot_tokens (chat_|prompt_)?template
    chat_template_\w+ template_(name|file) (chat|prompt)_(format|mode) tool_format
    (default_)?system(_prompt|_message)? default_system_message enable_thinking
    ignore_pad_token_for_loss ignore_data_skip
"""
# Names, logs, files that are written, and evaluation.
_LOGS = r"""
    output(_(?!min_|max_)\w+)? run_name exp_name project(_name)? logger(_name)?
    log_(?!prob)\w+ logging_\w+ report_to
    (use_)?(wandb|mlflow|trackio|comet|swanlab)(_\w+)? comet_online hf_mlflow_\w+
    use_(tensorboard|otel_metrics) otel_\w+ gradio_\w+ with_tracking save|save_\w+
    saves_per_epoch load_best_model_at_end metric_for_best_model greater_is_better
    hub_\w+ push_to_\w+ (hf|ms|om)_hub_token
    hf_(use_auth_token|entity|upload|metadata_dataset) resume(_\w+)? auto_resume\w*
    restore_callback_states_from_checkpoint enable_jit_checkpoint overwrite strict
    plot_loss print_\w+ disable_tqdm debug
    include_(num_input_tokens_seen|tokens_per_second|tkps|for_metrics|inputs_for_metrics)
    include_effective_tokens_per_second skip_memory_metrics tpu_metrics_debug
    do_(train|eval|predict|causal_lm_eval|bench_eval) evals_per_epoch
    eval|evaluation_\w+ eval_(?!only)\w+ per_(device|gpu)_eval_batch_size
    prediction_loss_only compute_accuracy label_names early_stopping\w* merge_lora
    export_\w+ loss_watchdog_\w+ bench_\w+ profiler_\w+ predict_with_generate
    generation_(max_length|num_beams|config)
"""
# Rates, and how long a training is.
_RATES = r"""
    (\w+_)?learning_rate(_\w+)? (\w+_)?lr (lr|warmup|scheduler)_\w+ scheduler(_name)?
    warmup lr_scheduler_kwargs\.\w+ weight_decay cosine_(min|constant)_lr_ratio
    embedding_lr_scale (num_)?(train_)?epochs max_steps num_steps
    adam_(beta[s123]?|epsilon2?|eps) max_grad_norm gradient_clip\w* (data_|train_)?seed
    gamma_beta_ratio
    neftune_noise_alpha label_smoothing desirable_weight undesirable_weight
    average_tokens_across_devices lora_(alpha(_pattern)?|dropout) (peft_)?use_rslora
    loraplus_\w+ lorap_\w+ pissa_\w+ init_(lora_)?weights peft_init_lora_weights
"""
# How processes find each other, and how files of a model are found and loaded.
_PLACES = r"""
    local_rank ddp_(timeout|find_unused_parameters|broadcast_buffers|static_graph)
    main_(process_\w+|training_function|port) rdzv_\w+ master_(addr|port) machine_rank
    same_network enable_cpu_affinity compute_environment log_on_each_node
    save_on_each_node tpu_num_cores ray_scope trust_remote_code cache_dir model_revision
    revision_of_model low_cpu_mem_usage base_model_config type_of_model processor_type
    offload_folder train_from_scratch fsdp_final_state_dict_type
    is_(falcon|llama|mistral|qwen)_derived_model mean_resizing_embeddings fp16_opt_level
    gradient_checkpointing_kwargs(\.use_reentrant)? use_reentrant_gc infer_backend
    infer_dtype
"""

_SILENT = alternatives(_DATA, _LOGS, _RATES, _PLACES)


def is_silent(key: str) -> bool:
    return _SILENT.fullmatch(key) is not None
