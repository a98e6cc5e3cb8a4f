#include "train/training.hpp"

#include "command.hpp"
#include "options/effects.hpp"
#include "options/number_option.hpp"
#include "predict/embedded.hpp"
#include "train/train_values.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/heads.hpp>
#include <ashlar/catalog/input_shards.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/lower/lower.hpp>

#include <fmt/core.h>
#include <gpt/crc32.hpp>

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tool {

namespace {

constexpr int most_stages = 256;    // a thread or a process is made for each device
constexpr int most_trainers = 256;  // of all data-parallel ranks

gpt::corpus corpus_in(std::string const& path, int context) {
  gpt::corpus text = gpt::read_corpus(path);
  text.require_context(context);
  return text;
}

gpt::corpus corpus_of(train_options const& o) {
  try {
    return corpus_in(o.corpus.empty() ? "." : o.corpus, o.model.context);
  } catch (std::runtime_error const& e) {
    if (!o.corpus.empty()) throw usage_error(fmt::format("--corpus: {}", e.what()));
  }
  std::string_view const bytes = embedded_text();
  gpt::corpus text({bytes.begin(), bytes.end()});
  try {
    text.require_context(o.model.context);
  } catch (std::runtime_error const& e) {
    throw usage_error(
        fmt::format("there is no text here, and the tool's own has a limit: {}; name a "
                    "text with --corpus",
                    e.what()));
  }
  return text;
}

bool has_heads_side_by_side(train_options const& o) {
  return o.model.predicted == gpt::prediction_place::beside_head;
}

// Throws usage_error unless the stages, if they are enough, are a chain and two heads.
void must_end_in_heads(train_options const& o, ashlar::schedule const& s) {
  int const trunk = s.stage_count() - 2;
  if (trunk > 0
      && s.graph
             != in_sequence_chunks(ashlar::catalog::chain_with_heads(ashlar::stages{trunk}, 2),
                                   s.graph.sequence_chunks()))
    throw usage_error(fmt::format(
        "--prediction-stage beside: the stages of {} are not a chain and two heads that read its end",
        o.shape.name));
}

// The last stages that are shards of one layer after a chain; 0: all are a chain. Throws usage_error for
// any other graph.
int shards_of(train_options const& o, ashlar::schedule const& s) {
  if (has_heads_side_by_side(o)) {
    must_end_in_heads(o, s);
    return 0;
  }
  int const inputs = o.input_shards ? s.device_count() : 0;
  int const q = s.graph.sequence_chunks(), count = s.stage_count() - inputs;
  int const shards = static_cast<int>(s.graph.shards_with(s.stage_count() - 1).size());
  ashlar::stages const before{count - shards};
  ashlar::stage_graph const fitting =
      shards == 0 ? chain(before)
                  : ashlar::catalog::chain_with_shards(before, shards, s.graph.gradients());
  if (before.value < 1
      || s.graph != ashlar::catalog::with_input_shards(in_sequence_chunks(fitting, q), inputs))
    throw usage_error(fmt::format(
        "{}: its stages are not a chain, as the layers of the GPT that is trained are, nor a chain and "
        "the shards of its output layer",
        o.shape.name));
  return shards;
}

gpt::config shape_of(train_options const& o, ashlar::schedule const& schedule) {
  gpt::config shape = o.model;
  shape.micro_batches = schedule.micro_batch_count();
  shape.stages = schedule.stage_count();
  shape.shards = shards_of(o, schedule);
  shape.input_shards = o.input_shards ? schedule.device_count() : 0;
  shape.early = schedule.graph.gives_gradient_early(shape.stages - 1);
  if (shape.stages > most_stages)
    throw usage_error(
        fmt::format("training runs at most {} stages here, not {}", most_stages, shape.stages));
  must_be_between("--data-ranks", o.lowering.data_ranks, 1, most_trainers / schedule.device_count());
  shape.data_ranks = static_cast<int>(o.lowering.data_ranks);
  shape.tied = o.lowering.tied;
  shape.chosen = std::min(shape.chosen, std::max(shape.experts, 1));
  if (shape.shards + shape.input_shards > 0 && o.backend == "cuda")
    throw usage_error(
        fmt::format("{}: layers in shards are for --backend host and mpi, not cuda", o.shape.name));
  if (shape.last_sequences > 0 && (o.backend == "cuda" || o.clip))
    throw usage_error(fmt::format("--last-sequences and {} do not go together",
                                  o.clip ? "--clip-micro-batches" : "--backend cuda"));
  try {
    require_valid(shape);
  } catch (std::invalid_argument const& e) {
    throw usage_error(e.what());
  }
  return shape;
}

// Tied parameters lie on the devices of all stages that use them.
ashlar::lower_options lowering_for(train_options const& o, gpt::config const& shape,
                                   ashlar::stage_graph const& graph) {
  ashlar::lower_options lowering = lowering_of(o.lowering, graph);
  if (shape.tied) lowering.shared_parameters = {gpt::tied_stages(shape)};
  return lowering;
}

checkpoint_identity identity_of(train_options const& o, gpt::config const& shape,
                                gpt::corpus const& text) {
  return {.blocks = shape.blocks,
          .width = shape.width,
          .heads = shape.heads,
          .context = shape.context,
          .tied = shape.tied,
          .predicts = shape.predicts,
          .experts = shape.experts,
          .precision = o.precision == "bf16" ? "float" : o.precision,  // of the weights
          .seed = o.seed,
          .text_bytes = text.all().size(),
          .text_crc32 = gpt::crc32(std::as_bytes(text.all()))};
}

// Two trainings in one folder would remove each other's checkpoints.
void must_be_free(train_options const& o, std::optional<checkpoint> const& resumed) {
  if (o.save.empty()) return;
  std::string const there = newest_checkpoint(o.save);
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (there.empty()
      || (resumed && fs::equivalent(fs::path(resumed->folder).parent_path(), o.save, ignored)))
    return;
  throw usage_error(fmt::format(
      "--save: '{}' is there already; --resume {} goes on with it, another folder begins anew", there,
      o.save));
}

// Puts a schedule by name, which is of a chain, over the heads.
ashlar::schedule over_heads(train_options const& o, ashlar::schedule s) {
  if (names_file(o.shape.name)) return s;
  if (o.shape.name != "1f1b")
    throw usage_error(fmt::format(
        "--prediction-stage beside is for 1f1b, and for schedules of such stages in files, not for {}",
        o.shape.name));
  int const heads = std::min(2, s.stage_count() - 1);
  return ashlar::catalog::one_f_one_b(
      ashlar::catalog::chain_with_heads(ashlar::stages{s.stage_count() - heads}, heads), s.where,
      ashlar::micro_batches{s.micro_batch_count()}, s.cost);
}

ashlar::schedule schedule_of(train_options const& o) {
  ashlar::schedule s = choose(o.shape).schedule;
  if (has_heads_side_by_side(o)) s = over_heads(o, std::move(s));
  if (!o.input_shards) return s;
  if (s.where.route_count() > 1)
    throw usage_error(fmt::format("--input-shards: {} has more than one route", o.shape.name));
  return ashlar::catalog::with_input_shards(std::move(s));
}

}  // namespace

int processes_of(train_options const& o) {
  ashlar::schedule const schedule = schedule_of(o);
  return schedule.device_count() * shape_of(o, schedule).data_ranks;
}

training training_of(train_options const& o) {
  ashlar::schedule schedule = schedule_of(o);
  gpt::config const shape = shape_of(o, schedule);
  schedule = with_values(std::move(schedule), o, shape);
  std::optional<output> trace_to, loads_to;
  if (!o.trace.empty()) trace_to.emplace(o.trace);
  if (!o.loads.empty()) loads_to.emplace(o.loads);
  gpt::corpus text = corpus_of(o);
  checkpoint_identity const identity = identity_of(o, shape, text);
  ashlar::program program = program_of(o, schedule, shape);
  return {&o,
          std::move(schedule),
          shape,
          std::move(program),
          std::move(trace_to),
          std::move(loads_to),
          std::move(text),
          identity};
}

std::optional<checkpoint> resumed_of(training const& t) {
  std::optional<checkpoint> resumed;
  if (!t.options->resume.empty()) {
    resumed = read_checkpoint(t.options->resume);
    require_same_training(*resumed, t.identity);
  }
  must_be_free(*t.options, resumed);
  return resumed;
}

ashlar::program program_of(train_options const& o, ashlar::schedule const& schedule,
                           gpt::config const& shape) {
  ashlar::lower_options lowering = lowering_for(o, shape, schedule.graph);
  must_have_effect(*o.shape.command, effects_on(lowering, schedule, o.shape.name));
  // A step on GPUs is one graph; require_backend_options() refuses another end of it.
  if (o.backend == "cuda") lowering.step = ashlar::optimizer_step::after_norm;
  lowering.offload = offload_of(o.host, schedule);
  return lower(schedule, lowering);
}

ashlar::program passes_of(training const& t) {
  ashlar::lower_options lowering = lowering_for(*t.options, t.shape, t.schedule.graph);
  lowering.step = ashlar::optimizer_step::none;
  return lower(t.schedule, lowering);
}

}  // namespace tool
