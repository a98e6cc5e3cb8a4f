#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/kept.hpp>

#include <cmath>

namespace ashlar::cost {

namespace exchanges_detail {

// Ranks in one domain, for a group whose ranks are `stride` apart.
inline double ranks_in_domain(cluster const& on, layout const& sizes, double size, double stride) {
  return max_of(1.0, min_of(size, std::floor(stage_ranks_in_domain(on, sizes) / stride)));
}

}  // namespace exchanges_detail

double inside_rate(machine const& m, constants const& c) {
  return m.exchange > 0 ? m.inside / m.exchange : m.inside * c.link_inside;
}

double group_rate(cluster const& on, layout const& sizes, double size, double stride,
                  constants const& c) {
  double const here = exchanges_detail::ranks_in_domain(on, sizes, size, stride);
  double const inside = inside_rate(on.device(), c);
  return here >= size ? inside : min_of(inside, on.device().outside * here * c.link_outside);
}

double ring_seconds(cluster const& on, layout const& sizes, double ranks, double stride) {
  constexpr double outside = 14e-6, inside = 3.4e-6;
  double const domains = ranks / exchanges_detail::ranks_in_domain(on, sizes, ranks, stride);
  double const leave = domains > 1 ? min_of(domains, ranks - 1) : 0;
  return leave * outside + (ranks - 1 - leave) * inside;
}

double copies_seconds(cluster const& on, layout const& sizes, parameter_counts const& held,
                      constants const& c) {
  double const ranks = sizes.sharing_ranks(), copies = sizes.copies_of_shards();
  if (!(copies > 1)) return 0;
  return 8 * held.both() / ranks * (copies - 1) / copies
         / group_rate(on, sizes, copies, sizes.tensor * ranks, c);
}

double latency_seconds(double ranks, constants const& c) {
  return c.latency * (1 + std::log2(max_of(1.0, ranks)));
}

double tensor_bytes_seconds(cluster const& on, layout const& sizes, double bytes, constants const& c) {
  double const inside = bytes / (inside_rate(on.device(), c));
  double const here = stage_ranks_in_domain(on, sizes);
  return sizes.tensor <= here ? inside : inside + bytes / (on.device().outside * here * c.link_outside);
}

double tensor_seconds(question const& q, layer_work const& w, constants const& c) {
  if (q.layout.tensor == 1) return 0;
  double const one =
      tensor_bytes_seconds(q.cluster, q.layout, w.tensor_bytes, c) + latency_seconds(q.layout.tensor, c);
  return w.tensor_count * one
         * (stack_of(q).hides_exchanges ? c.tensor_exposed_tuned : c.tensor_exposed);
}

double tokens_to_domain(feed_forward const& f, double domains) {
  double has_no_group = 0;
  double const all = f.groups, some = f.chosen_groups, here = max_of(1.0, all / domains);
  // The share of choices of groups that all lie elsewhere.
  if (some >= 1 && all - here >= some)
    has_no_group = min_of(1.0, std::exp(std::lgamma(all - here + 1) + std::lgamma(all - some + 1)
                                        - std::lgamma(all - here - some + 1) - std::lgamma(all + 1)));
  // A token's share of experts in a domain that has one of its groups.
  double const share = min_of(1.0, 1 / domains / max_of(1e-9, 1 - has_no_group));
  return (1 - has_no_group) * (1 - std::pow(1 - share, f.chosen));
}

double expert_seconds(question const& q, layer_work const& w, feed_forward const& f,
                      constants const& c) {
  double s = 0;
  fact_values const facts = stack_of(q).facts;
  bool const gathers = facts.dispatch() == token_dispatch::all_gather;
  if (w.expert_bytes > 0 && gathers) {
    double const ranks = q.layout.expert, from = ranks - 1,
                 tokens = w.expert_bytes / f.chosen / facts.expert_load();
    s += 2
         * (from * tokens / group_rate(q.cluster, q.layout, ranks, q.layout.expert_tensor, c)
            + latency_seconds(ranks, c));
  } else if (w.expert_bytes > 0) {
    double const here =
        max_of(1.0, min_of<double>(q.layout.expert, std::floor(stage_ranks_in_domain(q.cluster, q.layout)
                                                               / q.layout.expert_tensor)));
    double const domains = q.layout.expert / here;
    double const away = (domains - 1) * tokens_to_domain(f, domains) / f.chosen;
    // A token that goes to a rank once goes to as many as have one of its experts.
    bool const goes_once = facts.dispatch() == token_dispatch::once;
    double const sent = goes_once ? here * (1 - std::pow(1 - 1 / here, f.chosen)) / f.chosen : 1;
    double const inside = w.expert_bytes * sent * (here - 1) / here / inside_rate(q.cluster.device(), c);
    double const outside = w.expert_bytes * away / (q.cluster.device().outside * c.link_outside);
    double const dispatched = q.program.dispatches_8_bits ? (1 + 4 / 128.0) / 2 : 1;
    s += (dispatched + 1) * max_of(inside, outside) + 2 * latency_seconds(q.layout.expert, c);
  }
  if (w.gather_bytes > 0)
    s += 2
         * (w.gather_bytes / group_rate(q.cluster, q.layout, q.layout.expert_tensor, 1, c)
            + latency_seconds(q.layout.expert_tensor, c));
  return s;
}

double context_seconds(cluster const& on, layout const& sizes, layer_work const& w, double attention,
                       constants const& c) {
  if (sizes.context == 1 || !(w.context_bytes > 0)) return 0;
  double const ranks = sizes.context;
  double const ring =
      (ranks - 1) * (w.context_bytes / group_rate(on, sizes, ranks, sizes.tensor, c) + c.latency);
  return max_of(0.0, ring - attention * (ranks - 1) / ranks) + c.latency * ranks;
}

namespace exchanges_detail {

// Bytes of the output of layer number `from`.
inline double message_bytes(question const& q, int from) {
  if (from >= 0 && from < q.model.layer_count())
    for (measured_layer const& each : q.model.at(from).measured)
      if (each.tensor == q.layout.tensor) return q.layout.micro_batch * each.output;
  return value_bytes(q.program.format) * q.micro_batch_tokens() * q.model.hidden / q.layout.tensor;
}

}  // namespace exchanges_detail

double bytes_after(question const& q, stage const& s) {
  return s.streams_after() * exchanges_detail::message_bytes(q, s.first + s.count - 1);
}

double bytes_before(question const& q, stage const& s) {
  return s.streams * exchanges_detail::message_bytes(q, s.first - 1);
}

double transfer_seconds(question const& q, double bytes, constants const& c) {
  if (q.measured.transfer >= 0) return q.measured.transfer;
  double const apart =
      1.0 * q.layout.tensor * q.layout.context * (q.layout.pipeline_inside ? 1 : q.layout.data);
  machine const& m = q.cluster.device();
  double const one_link = m.pair > 0 ? m.pair / m.inside : 1;  // of those to all others
  double const rate =
      apart < domain_of(q.cluster) ? inside_rate(m, c) * one_link : m.outside * c.link_outside;
  return bytes / rate + c.latency;
}

}  // namespace ashlar::cost
