// A training on the backend that was chosen.
#include "command.hpp"
#include "options/effects.hpp"
#include "train/session_of.hpp"
#include "train/train_cuda.hpp"
#include "train/train_host.hpp"
#include "train/train_mpi.hpp"
#include "train/train_options.hpp"
#include "train/train_restart.hpp"
#include "train/train_signals.hpp"
#include "train/train_values.hpp"
#include "train/training.hpp"

namespace tool {

std::string trace_of(ashlar::program_view const& p, std::vector<ashlar::instruction_time> const& times) {
  std::vector<ashlar::trace_span> spans;
  std::size_t at = 0;
  for (int d = 0; d < p.device_count * p.data_ranks; ++d)  // rank after rank
    for (ashlar::instruction const& i : p.stream(d % p.device_count)) {
      spans.push_back(
          {d, i.lane, to_string(i), times[at].begin, times[at].end,
           i.code == ashlar::opcode::compute ? ashlar::name_of(i.what.kind) : "communication"});
      ++at;
    }
  return ashlar::chrome_trace(spans, p.lane_count, p.offloads,
                              ashlar::has_scatter_lane(p.sharding, p.data_ranks));
}

namespace {

// Requires an optimizer step that suits the options: a program that ends a step itself decides what
// becomes of it.
void require_optimizer_step(train_options const& o) {
  using enum ashlar::optimizer_step;
  ashlar::optimizer_step const step = o.lowering.rest.step;
  if (o.backend == "cuda" && is_given(*o.shape.command, "--optimizer-step") && step != after_norm)
    throw usage_error("--backend cuda ends every step with --optimizer-step after-norm");
  if (step != none && o.loss_scale > 0)
    throw usage_error(
        "--loss-scale needs --optimizer-step none: what becomes of a step is decided behind it");
  if (step == at_end && o.clip_norm > 0)
    throw usage_error(
        "--optimizer-step at-end knows no norm to clip by: it needs --clip-norm 0, or after-norm");
  if (step == at_end && o.skip_nonfinite)
    throw usage_error(
        "--optimizer-step at-end has changed the weights before --skip-nonfinite could skip a step");
}

}  // namespace

void require_backend_options(train_options const& o) {
  bool const gpus = o.backend == "cuda", experts = o.model.experts > 0;
  CLI::App const& command = *o.shape.command;
  must_have_effect(command, {{"--gpus", gpus, "without --backend cuda"},
                             {"--no-graph", gpus, "without --backend cuda"},
                             {"--window", !gpus, "on --backend cuda, which issues passes in order"},
                             {"--window", !experts, "with --experts, whose loads count passes in order"},
                             {"--offload-folder", o.host.percent > 0, "without --offload"},
                             {"--offload-folder", o.backend == "host", "without --backend host"},
                             {"--prediction-weight", o.model.predicts, "without --prediction-layer"},
                             {"--prediction-stage", o.model.predicts, "without --prediction-layer"},
                             {"--balance", experts, "without --experts"},
                             {"--balance-weight", experts, "without --experts"},
                             {"--loads", experts, "without --experts"},
                             {"--launcher", o.backend == "mpi" && is_given(command, "--restart"),
                              "without --backend mpi and --restart"}});
  if (o.host.percent > 0 && o.adapt > 0)
    throw usage_error("--offload and --adapt do not go together: another program would keep all of it");
  require_value_options(o);
  require_optimizer_step(o);
  if (!gpus && o.precision == "bf16")
    throw usage_error("--precision bf16 is for --backend cuda; the host computes in float or double");
  if (gpus && o.precision == "double")
    throw usage_error("--backend cuda computes in --precision float or bf16, not double");
  if (gpus && o.precision == "bf16" && o.verify)
    throw usage_error("--verify needs --precision float: the host has no bf16 to compare with");
}

template <class Scalar>
int train(train_options const& o) {
  require_backend_options(o);
  if (o.restart > 0) return train_again_and_again(o);
  if (o.backend == "cuda") return train_on_cuda(o);
  if (o.backend == "mpi") return train_on_mpi<Scalar>(o);
  stop_on_signals();
  training t = training_of(o);
  host_team<Scalar> all(t);
  try {
    return session_of<Scalar>(t, all);
  } catch (ashlar::host::stalled const& e) {
    throw run_error(e.what());
  }
}

template int train<float>(train_options const&);
template int train<double>(train_options const&);

}  // namespace tool
