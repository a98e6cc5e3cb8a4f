// Seconds of the exchanges of one layer and one pass, beside what hides them.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/work.hpp>

namespace ashlar::predict {

// Bytes a second of each device of a group whose ranks are `stride` devices apart: inside a domain, or
// over the ports of all members that sit in one.
double group_rate(question const& q, double size, double stride, constants const& c);

// latency x (1 + log2 ranks)
double latency_seconds(double ranks, constants const& c);

// The bytes of an exchange between tensor ranks. Where these sit in several domains, it goes through one
// and then over the ports: it is too small to be cut into pieces that overlap.
double tensor_bytes_seconds(question const& q, double bytes, constants const& c);

// tensor: count x (bytes / rate + latency) x exposed
double tensor_seconds(question const& q, layer_work const& w, constants const& c);

// expert: dispatch and combine. A token goes once to each other domain that has one of its experts, over
// the ports: (D - 1) (1 - (1 - 1/D)^k) / k of its k copies. Inside the domain each copy moves. Then the
// gathers between expert-tensor ranks.
double expert_seconds(question const& q, layer_work const& w, double chosen, constants const& c);

// context: a ring of keys and values beside attention; what is longer than it is exposed, and each
// step's latency.
double context_seconds(question const& q, layer_work const& w, double attention, constants const& c);

// transfer: between neighbouring stages, as it was measured, else inside the domain where that holds
// more than one stage.
double transfer_seconds(question const& q, constants const& c);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/exchanges.ipp>
#endif
