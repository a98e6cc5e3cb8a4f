// The options that say a run.
#include "predict/question_options.hpp"

#include "command.hpp"
#include "options/lowering_options.hpp"
#include "options/number_option.hpp"
#include "predict/choices.hpp"
#include "predict/facts_choice.hpp"
#include "predict/frozen_choice.hpp"
#include "predict/layout_words.hpp"
#include "predict/lora_choice.hpp"
#include "predict/machines.hpp"
#include "predict/measured_stages.hpp"
#include "predict/offload_choice.hpp"
#include "predict/optimizer_choice.hpp"
#include "predict/recomputation_choice.hpp"
#include "predict/schedule_choice.hpp"
#include "predict/teacher_choice.hpp"
#include "predict/tower_choice.hpp"
#include "predict/tower_words.hpp"
#include "predict/words.hpp"
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::question;
using ashlar::cost::sharding;

constexpr int most_of_a_size = 1'000'000;

}  // namespace

void add_question_options(CLI::App& command, question_options& o, bool has_files) {
  command
      .add_option("--model", o.model,
                  "a name as llama3-70b, or a Hugging Face config.json; see docs/predict.md")
      ->type_name("NAME|FILE")
      ->required(!has_files);
  command
      .add_option("--cluster", o.cluster,
                  "NODESxDEVICESxKIND as 16x8xH100, DEVICESxKIND for one node, or a file")
      ->type_name("CLUSTER")
      ->required(!has_files);
  add_number(command, "--vocab-size", o.vocabulary, 1, 1 << 30,
             "entries of the vocabulary, in place of the model's")
      ->default_str("");
  question& q = o.asked;
  add_number(command, "--sequence", q.sequence, 1, 1 << 30, "tokens of a sequence")
      ->required(!has_files);
  add_number(command, "--batch", q.batch, 1, 1 << 30, "sequences of a step")->required(!has_files);
  add_number(command, "--micro-batch", q.layout.micro_batch, 1, most_of_a_size,
             "sequences of a micro-batch");
  add_number(command, "--tensor", q.layout.tensor, 1, most_of_a_size, "tensor ranks");
  add_number(command, "--pipeline", q.layout.pipeline, 1, most_of_a_size, "pipeline ranks");
  add_number(command, "--chunks", q.layout.chunks, 1, most_of_a_size,
             "virtual stages of a pipeline rank");
  add_number(command, "--context", q.layout.context, 1, most_of_a_size, "context ranks");
  add_number(command, "--expert", q.layout.expert, 1, most_of_a_size, "expert ranks");
  add_number(command, "--expert-tensor", q.layout.expert_tensor, 1, most_of_a_size,
             "tensor ranks of an expert");
  add_number(command, "--data", q.layout.data, 1, most_of_a_size,
             "data ranks; what the devices leave if not given")
      ->default_str("");
  add_choice(command, "--sharding", q.layout.sharding, sharding_choices,
             "what data ranks share: ZeRO-1, ZeRO-2, ZeRO-3 or FSDP (default: none)");
  add_number(command, "--shard-ranks", q.layout.shard_ranks, 1, most_of_a_size,
             "how many of the data and context ranks share, next to each other; the others have copies: "
             "HSDP, MiCS; all if not given")
      ->default_str("");
  command.add_flag("--sum-copies-once", q.program.sums_copies_once,
                   "copies of shards are summed once a step, as MiCS does it, not after each backward");
  command.add_flag("--scatter-once", q.program.scatters_once,
                   "each rank of a fully sharded model sums whole gradients, and scatters them once a "
                   "step: FSDP as the Trainer of transformers accumulates, not after each backward");
  command.add_flag("--wide-sums", q.program.sums_in_32_bits,
                   "with --scatter-once, whole gradients are summed in 32 bits, not in 16: FSDP2 of "
                   "PyTorch where it reduces in 32 bits");
  add_number(
      command, "--weight-ranks", q.layout.weight_ranks, 1, most_of_a_size,
      "ranks that have all weights among them in 16 bits beside the shards, for backwards to gather: "
      "hpZ of ZeRO++")
      ->default_str("");
  command
      .add_option(
          "--recompute", o.recompute,
          "what a backward runs again: none, attention, full; parts of layers as Megatron names "
          "them, mlp,layernorm; full:4 in the first 4 layers of each stage, full:4n in every 4th of the "
          "model "
          "from the first on, full:4n+3 from the fourth on; or a file that says it (default: none)")
      ->type_name("PARTS|FILE");
  command
      .add_option(
          "--offload-activations", o.offload,
          "what goes to the host between forward and backward: none, full, or parts of layers as "
          "Megatron names them, core_attn,moe_act; full:4 of the first 4 layers of each stage "
          "(default: none)")
      ->type_name("PARTS");
  command.add_flag("--offload-optimizer", q.layout.offload.optimizer,
                   "the optimizer's state and the 32-bit weights stay on the host, and are updated "
                   "there");
  add_choice(command, "--offload-weights", q.layout.offload.weights, weights_away_choices,
             "shards of weights that stay on the host, from where each gather copies them: own, the "
             "optimizer's, with all of its state (FSDP's CPU offload), or copies, those in 16 bits "
             "(ZeRO-3's offload_param) (default: none)");
  add_choice(command, "--precision", q.program.format, format_choices, "of products (default: bf16)");
  add_choice(command, "--stack", q.program.kind, stack_choices,
             "the training program: what it fuses and overlaps (default: auto, from the other options)");
  command
      .add_option("--fact", o.facts,
                  "what the training program does, in place of its default: tensor-overlap=off, "
                  "graphs=layers, with commas; --explain shows all facts")
      ->type_name("FACT=VALUE")
      ->join(',');
  add_choice(
      command, "--attention", q.program.attention, attention_choices,
      "the kernel of attention: flash_attention_2, flash_attention_3, cudnn, or what PyTorch's sdpa "
      "takes; fused, the program's own; unfused, with scores written to memory (default: auto, as the "
      "program does)");
  add_choice(
      command, "--sequence-parallel", q.program.sequence_parallel, split_choices,
      "whether tensor ranks split the sequence of norms: Megatron-LM's --sequence-parallel (default: "
      "auto, as the program does)");
  command.add_flag("--dispatch-fp8", q.program.dispatches_8_bits,
                   "tokens go to experts in 8 bits, and come back in 16, as in DeepEP");
  command.add_flag("--delay-weights", q.program.delays_weights,
                   "in pairs of passes, exchanges do not wait for gradients of weights: Megatron-Core's "
                   "--delay-wgrad-compute");
  command
      .add_option("--layout", o.layout,
                  "layers of each virtual stage: as Megatron, Et*3|(tt|)*29,m|L, or 7,8x14,7")
      ->type_name("LAYOUT");
  command.add_flag("--ends-as-layers", q.layout.counts_ends,
                   "embedding and loss count as a layer each when layers are divided into stages");
  command.add_flag("--pipeline-inside", q.layout.pipeline_inside,
                   "pipeline ranks are nearer to each other than data ranks: Megatron-LM's "
                   "--use-tp-pp-dp-mapping");
  command
      .add_option(
          "--schedule", o.schedule,
          "any that `ashlar list` names, or a file as `ashlar emit --as json` writes it (default: "
          "1f1b, or interleaved where there are chunks)")
      ->type_name("NAME|FILE");
  add_lanes_option(command, q.layout.lanes);
  command
      .add_option(
          "--tower-tokens", o.tower_tokens,
          "of a part before the decoder, tokens of an input and inputs of a sequence, in place of "
          "the model's: vision_tower=1024x4, with commas")
      ->type_name("NAME=TOKENSxINPUTS");
  command
      .add_option("--tower-ranks", o.tower_ranks,
                  "ranks that share the work of parts before the decoder: tensor ranks divide their "
                  "layers (tensor, the default), each rank runs all of them (none), or context ranks "
                  "divide their inputs (context), which is predicted with --context 1 alone")
      ->type_name("tensor|none|context");
  command
      .add_option("--freeze", o.freeze,
                  "parts whose parameters do not train: embedding, head, layers=0-15, first=4, last=2, "
                  "ratio=0.9 of the parameters from the front, towers, encoders (that read an image), "
                  "aligners (that lead to the decoder) or names of these parts, with commas; in "
                  "place of the model's own \"freeze\"")
      ->type_name("PARTS");
  add_number(command, "--frozen-forwards", q.program.frozen_forwards, 0, 100,
             "forwards without gradients beside each: 1 of the reference of DPO (default: 0)");
  command.add_flag("--frozen-copy", q.program.holds_frozen_copy,
                   "a frozen copy of the weights is held, as that of a reference; beside adapters it is "
                   "the model itself");
  command
      .add_option("--teacher", o.teacher,
                  "as --model: a frozen model, whose forward runs beside each, and whose weights and "
                  "logits are held: the teacher of a distillation")
      ->type_name("MODEL");
  command
      .add_option(
          "--head", o.head,
          "outputs of a head that the model has in place of logits: 1 of a reward model, as many "
          "as labels of a classifier, 0 of a model of embeddings")
      ->type_name("OUTPUTS");
  command
      .add_option(
          "--train-only", o.train_only,
          "parts that train, named as for --freeze, where all others are frozen; a head that is "
          "tied trains with the embedding; or norms, or biases, of the whole model; norms,unfrozen or "
          "biases,unfrozen where all have gradients and the optimizer has only these")
      ->type_name("PARTS");
  command
      .add_option(
          "--lora", o.lora,
          "adapters of this rank train, and nothing else: 16, beside all matrices but routers and "
          "routed experts; or beside some: 16,q_proj,v_proj, with names of transformers or "
          "Megatron-Core, attention, mlp; before them the kind: dora (dora,dropout where it has "
          "dropout), adalora, vera, miss, loha, lokr; oft, boft and bat in blocks of RANK rows; "
          "fourierft of RANK numbers; 1,ia3; train=embedding, train=head or train=TOWER also trains a "
          "copy of it, "
          "whole=TOWER the tower itself")
      ->type_name("RANK[,TARGETS]");
  command
      .add_option(
          "--frozen-weights", o.frozen_weights,
          "beside adapters, frozen matrices are packed as bitsandbytes does: 4-bit, with scales in "
          "8 bits too: 4-bit,double; or 8-bit; the head, too: head; what is not packed in 32 bits: "
          "rest=32-bit; towers as they are: towers=16-bit")
      ->type_name("BITS[,WORDS]");
  command
      .add_option(
          "--optimizer", o.optimizer,
          "what is kept of each parameter: adam, sgd, momentum, lion, rmsprop, adagrad, ademamix; of "
          "each "
          "matrix: muon, with those of experts muon,experts, muon,repeated where each rank that shares "
          "a matrix takes the whole; adafactor, adam-mini; with a rank "
          "galore,128 or apollo,128, and galore,128,layerwise where each parameter is updated at once; "
          "qkv_proj and gate_up_proj behind it where these are one matrix (default: adam)")
      ->type_name("KIND[,WORDS]");
  command
      .add_option(
          "--costs", o.costs,
          "times of each stage's passes in place of the formulas: what `ashlar profile` writes, or "
          "a trace of a step")
      ->type_name("FILE");
}

prediction prepare(question_options const& o, fitted_constants const& constants) {
  return prepare(o, read_described_model(o.model), constants);
}

prediction prepare(question_options const& o, described_model model, fitted_constants const& constants) {
  return prepare(o, std::move(model), read_cluster(o.cluster), constants);
}

prediction prepare(question_options const& o, described_model model,
                   ashlar::cost::cluster const& cluster, fitted_constants const& constants) {
  prediction p;
  p.model = std::move(model);
  if (o.vocabulary > 0) p.model.shape.vocabulary = o.vocabulary;
  p.constants = constants;
  p.layout = o.layout;
  question& q = p.asked;
  q = o.asked;
  p.notes.insert(p.notes.end(), p.model.notes.begin(), p.model.notes.end());
  q.model = p.model.shape;
  q.cluster = cluster;
  for (ashlar::cost::device_kind& each : q.cluster.kinds) {
    if (!has_products(each.device, q.program.format))
      throw usage_error(fmt::format("precision {}: {}", word_for(format_choices, q.program.format),
                                    lacking_format_words(each.name, each.device)));
    each.device.is_measured =
        std::any_of(constants.measured_machines.begin(), constants.measured_machines.end(),
                    [&](std::string const& kind) { return is_of_kind(each.device, kind); });
  }
  choose_head(o.head, p);
  choose_teacher(o.teacher, p);
  p.freeze = o.freeze;
  p.train_only = o.train_only;
  // A recipe says of all models that towers are frozen; --train-only freezes them, too.
  bool const is_of_towers = are_kinds_of_towers(o.freeze);
  if (is_of_towers && (q.model.towers.empty() || !o.train_only.empty())) p.freeze.clear();
  if (!p.freeze.empty() && !o.train_only.empty())
    throw usage_error("--freeze and --train-only name the same thing twice: give one of them");
  for (auto const& [option, text, apply] :
       {std::tuple{"--freeze", &p.freeze, &freeze}, {"--train-only", &p.train_only, &freeze_all_but}}) {
    try {
      if (!text->empty()) apply(*text, q.model);
    } catch (usage_error const& e) {
      throw usage_error(fmt::format("{}: {}", option, e.what()));
    }
  }
  if (q.model.has_other_gradients && q.layout.sharding != sharding::none
      && q.layout.sharding != sharding::optimizer)
    throw usage_error("--train-only: gradients that no optimizer takes are shared by no rank");
  if (!o.tower_tokens.empty()) choose_tower_tokens(o.tower_tokens, p);
  if (!o.tower_ranks.empty()) choose_tower_ranks(o.tower_ranks, p);
  check_tower_tokens(p);
  choose_lora(o.lora, p);
  choose_frozen_weights(o.frozen_weights, p);
  q.program.facts = facts_of(o.facts);
  choose_recomputation(o.recompute, p);
  if (q.model.lora.kind != ashlar::cost::adapter_kind::low_rank
      && has(q.layout.recompute, ashlar::cost::recomputation::operators))
    throw usage_error("--lora: kinds other than LoRA have other products than --recompute op counts");
  choose_offload(o.offload, q);
  if (q.layout.offload.weights == ashlar::cost::offloaded_weights::own)
    q.layout.offload.optimizer = true;
  if (q.layout.data == 0) {
    long long const below = 1LL * q.layout.tensor * q.layout.pipeline * q.layout.context;
    if (below > q.cluster.device_count() || q.cluster.device_count() % below != 0)
      throw usage_error(fmt::format(
          "--tensor {} x --pipeline {} x --context {} = {} must divide the {} devices", q.layout.tensor,
          q.layout.pipeline, q.layout.context, below, q.cluster.device_count()));
    q.layout.data = static_cast<int>(q.cluster.device_count() / below);
  }
  choose_schedule(o.schedule, p);
  try {
    if (!o.layout.empty()) q.layout.stages = ashlar::cost::read_layout(o.layout, q.model.predictions);
  } catch (ashlar::cost::unpredictable const& e) {
    throw usage_error(sentence_of(e, q));
  }
  if (is_spread(q.layout.stages)) p.notes.emplace_back(spread_note);
  p.costs = o.costs;
  if (!o.costs.empty()) read_measured_stages(o.costs, q);
  choose_optimizer(o.optimizer, p);
  return p;
}

question_options options_from(option_words const& words) {
  CLI::App app;
  question_options o;
  add_question_options(app, o, false);
  for (auto const& [name, value] : words) {
    CLI::Option* const option = app.get_option_no_throw("--" + name);
    if (option == nullptr) throw CLI::ExtrasError({"--" + name});
    option->add_result(value)->run_callback();
  }
  for (CLI::Option const* each : app.get_options())
    if (each->get_required() && each->count() == 0) throw CLI::RequiredError(each->get_name());
  return o;
}

void answer_it(prediction& p) {
  try {
    p.answer = predict_run(p.asked, p.constants.values, p.constants.around);
    if (!p.not_known.empty()) p.answer.leave_out_intervals();
  } catch (ashlar::cost::unpredictable const& e) {
    throw usage_error(sentence_of(e, p.asked));
  } catch (ashlar::violation const& v) {
    throw usage_error(fmt::format("--schedule {}: {}", p.schedule, ashlar::explain(v.why)));
  }
}

}  // namespace tool
