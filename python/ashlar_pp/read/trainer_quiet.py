"""Arguments of programs over the Trainer that change no step."""

from __future__ import annotations

QUIET = """
    *output *logging *log_ *save *eval *learning_rate *lr_ *warmup *weight_decay
    *num_train_epochs *max_steps *num_epochs *report_to *run_name *dataset *data_
    *dataloader *preprocessing *overwrite *do_train *do_eval *do_predict *seed
    *tokenizer *template *chat *wandb *hub *push *train_file *validation *val_ *ddp_
    *tf32 *trust_remote *cache_dir *use_fast *special_tokens *max_grad_norm *adam
    *remove_unused *load_best *include_ *evals *plot_loss *stage *finetuning_type
    *strict *saves *resume *early *hf_ *mlflow *shuffle *split *test_
    *train_on_inputs *datasets *local_rank *scheduler *epochs *print *gradient_clip
    *dataset_ *packing *pad_to *auto_resume *sample_packing *flash_attention *debug
    *special *tokens *plugins *gradient_checkpointing_kwargs *torch_dtype *dtype
    *attn compute_environment debug downcast_bf16 machine_rank *model_revision
    main_ rdzv same_network tpu use_cpu enable_cpu_affinity dynamo *text_column
    *per_device_eval *lazy_preprocess *lora_alpha *lora_dropout *max_samples *fsdp_
    *use_slow *add_bos *with_tracking *exp_name *load_from_cache *system_prompt
    *freeze_vit *merge_lora *neftune *group_by_length *logger *is_causal *priority
    *completion_only *assistant_only *average_tokens *ignore_data *prediction_loss
    *skip_memory *label_ *metric_for *greater_is *length_column *disable_tqdm *fp16_opt
    *use_rslora *loraplus *lorap_ *pissa *init_weights *init_lora_weights
    *half_precision *torchdynamo *project *trackio *restore *enable_jit *data_seed
    *per_gpu_eval *dispatch *split_batches *even_batches *use_seedable *non_blocking
""".split()
