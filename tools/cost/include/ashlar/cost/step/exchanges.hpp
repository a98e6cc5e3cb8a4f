// Seconds of the exchanges of one layer and one pass that other work does not hide.
#pragma once

#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost {

// Bytes per second of a device that exchanges reach within its domain.
double inside_rate(machine const& m, constants const& c);

// Bytes per second of each device of a group whose ranks are `stride` devices apart: within a domain, or
// over the ports of all members in one domain.
double group_rate(cluster const& on, layout const& sizes, double size, double stride,
                  constants const& c);

// latency x (1 + log2 ranks)
double latency_seconds(double ranks, constants const& c);

// Latency of a sum or a gather of shards, which goes around a ring: 14 us for each step to another
// domain, 3.4 us within one (NCCL, src/graph/tuning.cc, its protocol for large messages). Ranks are
// `stride` apart.
double ring_seconds(cluster const& on, layout const& sizes, double ranks, double stride);

// The seconds of summing a shard's gradients, in 32 bits, over its copies.
double copies_seconds(cluster const& on, layout const& sizes, parameter_counts const& held,
                      constants const& c);

// Seconds of the bytes of an exchange between tensor ranks. Across domains it goes through one and then
// over the ports: it is too small to be cut into pieces that overlap.
double tensor_bytes_seconds(cluster const& on, layout const& sizes, double bytes, constants const& c);

// tensor: count x (bytes / rate + latency) x exposed
double tensor_seconds(question const& q, layer_work const& w, constants const& c);

// The share of tokens that have an expert in a given one of `domains`. With k experts anywhere it is 1 -
// (1 - 1/D)^k. With experts limited to some groups, this holds within the domains that have such a
// group.
double tokens_to_domain(feed_forward const& f, double domains);

// expert: dispatch and combine. A token goes once to each other domain that has one of its k experts,
// over the ports: (D - 1) tokens_to_domain / k of its copies. Inside the domain each copy moves. Then
// come the gathers between expert-tensor ranks. An 8-bit dispatch has a 32-bit scale per 128 values. If
// all ranks gather all tokens, each has those of E - 1 others, in 16 bits, and sends back as many sums.
double expert_seconds(question const& q, layer_work const& w, feed_forward const& f, constants const& c);

// context: a ring of keys and values during attention. Exposed are the time beyond attention and each
// step's latency.
double context_seconds(cluster const& on, layout const& sizes, layer_work const& w, double attention,
                       constants const& c);

// Bytes of a micro-batch's message from this stage to the next, and from the one before to this.
// Requires a question that check() accepts, and a stage of it.
double bytes_after(question const& q, stage const& s);
double bytes_before(question const& q, stage const& s);

// transfer: bytes between neighbouring stages. As measured if given; else inside the domain if that
// holds more than one stage, over the one link of a pair of devices where no switch joins all.
double transfer_seconds(question const& q, double bytes, constants const& c);

}  // namespace ashlar::cost
