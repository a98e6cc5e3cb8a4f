// A training on the backend that was chosen.
#include "train_host.hpp"
#include "train_mpi.hpp"
#include "train_options.hpp"
#include "train_restart.hpp"
#include "train_session.hpp"
#include "train_signals.hpp"
#include "training.hpp"

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
  return ashlar::chrome_trace(spans, p.lane_count);
}

template <class Scalar>
int train(train_options const& o) {
  if (o.restart > 0) return train_again_and_again(o);
  if (o.backend == "mpi") return train_on_mpi<Scalar>(o);
  stop_on_signals();
  training const t = training_of(o);
  host_team<Scalar> all(t);
  try {
    return train_session<Scalar>(t, all).run();
  } catch (ashlar::host::stalled const& e) {
    throw run_error(e.what());
  }
}

template int train<float>(train_options const&);
template int train<double>(train_options const&);

}  // namespace tool
