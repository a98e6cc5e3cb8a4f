// Work for the time that a pipeline idles: while four devices train, each compresses its part of the
// last checkpoint, and sums up what a second-order optimizer wants to know of its inputs.
#include <ashlar/ashlar.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/render.hpp>

#include <cstdio>
#include <vector>

using namespace ashlar;

namespace {

// On each device six pieces that read nothing but what lies there anyway.
work_graph compression(devices p) {
  std::vector<work_job> jobs;
  for (int d = 0; d < p.value; ++d) jobs.push_back({.parts = std::vector<work_part>(6, {d, 1})});
  return work_graph(jobs, {});
}

// On each device a piece for each micro-batch, which reads what the forward keeps, and an inversion of
// their sum. The stages of 1F1B are numbered as its devices.
work_graph curvature(devices p, micro_batches m) {
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  for (int d = 0; d < p.value; ++d) {
    int const pieces = 2 * d, inversion = 2 * d + 1;
    jobs.push_back({.parts = std::vector<work_part>(static_cast<std::size_t>(m.value), {d, 1}),
                    .does = compute_job{.state = own_state{}}});
    jobs.push_back({.parts = {{d, 2}}});
    for (int k = 0; k < m.value; ++k) edges.push_back({{pass_kind::forward, d, k}, part_id{pieces, k}});
    edges.push_back({part_id{pieces, m.value - 1}, part_id{inversion, 0}});
  }
  return work_graph(jobs, edges);
}

void show(char const* what, schedule const& step, work_graph const& work, fill_options const& options) {
  filling const f = fill_steps(step, work, options);
  std::printf("%s\n%s", what, text(f.filled).c_str());
  for (int d = 0; d < step.device_count(); ++d)
    std::printf("device %d: %d %s, busy %.0f %%\n", d, f.steps[static_cast<std::size_t>(d)],
                f.steps[static_cast<std::size_t>(d)] == 1 ? "step" : "steps", 100 * utilisation(f, d));
  bool const right = check(f.filled).ok() && check(lower(f.filled)).ok();
  std::printf("%s\n\n", right ? "its program is proved" : "which is wrong");
}

}  // namespace

int main() {
  devices const p{4};
  micro_batches const m{4};
  schedule const step = catalog::one_f_one_b(p) | repeat(m) | squeeze();
  show("the step alone", step, {}, {});
  show("a checkpoint is compressed", step, compression(p), {});
  show("curvature, once in as many steps as it takes", step, curvature(p, m), {});
  show("both", fill(step, compression(p)), curvature(p, m), {});
}
