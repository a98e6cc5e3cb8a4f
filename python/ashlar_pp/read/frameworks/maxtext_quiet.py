"""Keys of MaxText that change no step: files, data, logs, generation, and what its
models compute without a product."""

from __future__ import annotations

QUIET = """
    base_config run_name model_name override_model_config hardware steps log_period
    enable_checkpointing async_checkpointing checkpoint_ save_checkpoint
    max_num_check enable_goodput enable_tensorboard enable_data_shuffling
    monitor_goodput metrics_ gcs_metrics save_config base_output dataset_ eval_ hf_
    grain_ train_split tokenizer_ tokenize_ profiler profile_ skip_first_n
    upload_all reuse_example max_segments packing add_bos add_eos learning_rate
    lr_schedule warmup_ gradient_clipping adam_ adamw_mask data_shuffle
    init_weights_seed use_iota_embed scan_layers param_scan_axis shardy
    normalization_layer_epsilon rope_ local_rope global_rope mscale beta_
    max_position original_max normalize_embedding dense_init load_balance
    routed_scaling norm_topk routed_score routed_bias_update n_routing_groups
    topk_routing quantize_kvcache kv_quant jax_cache abort_on sharding_tolerance
    dump_ enable_dropout prefill_ use_chat_template float32_weight_sum
    logical_axis_rules *_for_vit image_ vision_encoder num_epoch max_prefill prompt
    load_parameters_path target_eval_loss generate_ log_config decode_
    autoregressive_ trainable sink_level file_sink stderr_sink pure_nnx enable_nnx
    megablox replicate_quant enable_padding file_write checkpoint_is_quantized
    use_vertex pipeline_delay temperature_tuning num_experts_per_tok
""".split()
