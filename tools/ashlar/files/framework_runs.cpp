#include "files/framework_runs.hpp"

#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/core.h>

namespace tool {

namespace {

using namespace ashlar;

int stages_on(schedule const& s, int device) {
  int held = 0;
  for (int stage = 0; stage < s.stage_count(); ++stage) held += s.where.device_of(0, stage) == device;
  return held;
}

// The reason why our runtimes in PyTorch do not run it either; empty if there is none.
std::string obstacle_everywhere(schedule const& s) {
  if (s.mode != execution_mode::training) return "it runs forwards alone";
  bool const is_chain =
      s.graph == in_sequence_chunks(chain(ashlar::stages{s.stage_count()}), s.graph.sequence_chunks());
  if (!is_chain) return "its stages are not a chain";
  return s.work.view().job_count() > 0 ? "it has work of other systems" : "";
}

// The reason why ashlar_pp.megatron refuses it (python/ashlar_pp/megatron/programs.py).
std::string obstacle_in_megatron(schedule const& s) {
  if (s.graph.sequence_chunks() > 1) return "its schedules do not cut sequences into chunks";
  if (s.where.route_count() > 1) return "it has one copy of each stage";
  if (recomputes(s))
    return "its layers recompute by themselves (recompute_granularity): take a schedule without "
           "recomputes";
  for (int device = 0; device < s.device_count(); ++device)
    if (stages_on(s, device) * s.device_count() != s.stage_count())
      return "its ranks have as many stages each";
  return "";
}

std::string run_in_pytorch(schedule const& s) {
  return fmt::format(
      "PyTorch:\n"
      "  the file of --as pytorch-comms\n"
      "  _PipelineScheduleRuntime(stages, {}, loss_fn=...)._load_csv(FILE, format=\"compute_comms\")\n",
      s.micro_batch_count());
}

// torchtitan's own flags place stages in a loop or in a V of two chunks.
std::string run_in_torchtitan(schedule const& s) {
  int const p = s.device_count(), stages = s.stage_count();
  std::string text = fmt::format(
      "torchtitan 0.3:\n"
      "  --parallelism.pipeline_parallel_degree {}\n"
      "  --training.local_batch_size {} --parallelism.pipeline_parallel_microbatch_size 1 (or both "
      "times as many)\n",
      p, s.micro_batch_count());
  bool const loops = stages % p == 0 && s.where == looped(devices{p}, chunks{stages / p});
  bool const is_v = s.where == v_shape(devices{p});
  if (loops || is_v)
    text += fmt::format(
        "  --parallelism.pipeline_parallel_schedule {} --parallelism.pipeline_parallel_schedule_csv "
        "FILE of --as pytorch\n"
        "  {} lists in --parallelism.module_fqns_per_model_part\n",
        is_v          ? "ZBVZeroBubble"
        : stages == p ? "1F1B"
                      : "Interleaved1F1B",
        stages);
  else
    text += "  a placement that its own flags do not have\n";
  return text +
         "  or with the file of --as json: pipelining_fn = ashlar_pp.torchtitan.pipelining(ashlar_pp.read_json(TEXT))\n";
}

std::string run_in_megatron(schedule const& s) {
  int const p = s.device_count(), stages = s.stage_count();
  return fmt::format(
      "Megatron-Core:\n"
      "  the file of --as json: get_forward_backward_func gives\n"
      "  ashlar_pp.megatron.forward_backward(ashlar_pp.read_json(TEXT))\n"
      "  --pipeline-model-parallel-size {}{} --global-batch-size: {} times --micro-batch-size times "
      "data ranks\n",
      p, stages > p ? fmt::format(" --num-virtual-stages-per-pipeline-rank {}", stages / p) : "",
      s.micro_batch_count());
}

}  // namespace

std::string framework_runs(schedule const& s, std::string const& name) {
  std::string text = fmt::format("{}: {} devices, {} stages, {} micro-batches\n", name, s.device_count(),
                                 s.stage_count(), s.micro_batch_count() / s.graph.sequence_chunks());
  if (std::string const why = obstacle_everywhere(s); !why.empty())
    return text + fmt::format("PyTorch, torchtitan and Megatron-Core cannot run it: {}\n", why);
  std::string const why = pytorch_obstacle(lower(s));
  text += why.empty() ? run_in_pytorch(s) + run_in_torchtitan(s)
                      : fmt::format("PyTorch's own runtime and torchtitan cannot run it: {}\n", why);
  std::string const others = obstacle_in_megatron(s);
  text += others.empty() ? run_in_megatron(s) : fmt::format("Megatron-Core cannot run it: {}\n", others);
  return text
         + "PyTorch, in any case:\n"
           "  the file of --as json: ashlar_pp.torch.pipeline(stages, ashlar_pp.read_json(TEXT), loss_fn)\n";
}

}  // namespace tool
