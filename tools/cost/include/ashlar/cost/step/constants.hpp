// The constants that are fitted to measured runs, with their names in files.
#pragma once

#include <ashlar/cost/model/unpredictable.hpp>

#include <array>
#include <cstddef>

namespace ashlar::cost {

// Shares are fractions of the data sheet's figure. 0 means not set: values come from a file.
struct constants {
  // Share of the dense peak that large products reach, by family and bits.
  double products_ampere_16 = 0;
  double products_hopper_16 = 0, products_hopper_8 = 0;
  double products_hopper_32 = 0;  // of the TF32 peak
  double products_blackwell_16 = 0, products_blackwell_8 = 0, products_blackwell_4 = 0;
  double products_ultra_16 = 0, products_ultra_8 = 0, products_ultra_4 = 0;
  // Share of the 16-bit peak that the products of attention reach.
  double attention_ampere = 0;
  double attention_hopper = 0;         // cuDNN, FlashAttention 3
  double attention_hopper_flash = 0;   // FlashAttention 2
  double attention_hopper_triton = 0;  // Triton's FlashAttention of 2023
  double attention_blackwell = 0;

  double memory = 0;      // share of the bandwidth that memory-bound kernels reach
  double power = 0;       // exponent of the board's power over 700 W, for products on Hopper
  double wave = 0;        // waves of tiles lost at the end of a product
  double traffic = 0;     // share of moving a product's operands and results that is not hidden
  double scan_bytes = 0;  // bytes per channel and token of a state-space layer, both passes
  double loss_bytes = 0;  // bytes moved per logit by the loss, both passes

  double link_inside = 0, link_outside = 0;  // shares of a link that exchanges reach
  double latency = 0;                        // seconds of an exchange, times 1 + log2 of the ranks
  double tensor_exposed_tuned = 0;           // share of tensor exchanges that products do not hide
  double tensor_exposed = 0;                 // share of those in the way of products
  double contention = 0;    // share of the shorter of a pass and its weight exchange that is lost
  double data_exposed = 0;  // share of gradient sums and weight gathers that no pass hides
  double straggler = 0;     // share lost for each doubling of the nodes

  double host = 0;              // seconds to launch a mixer or a feed-forward part, one pass
  double host_tensor = 0;       // more with tensor ranks, plain programs
  double host_expert = 0;       // more for a part with experts
  double host_each_expert = 0;  // more for each expert held
  double host_graphs = 0;       // share of these that graphs of layers leave
  double host_update = 0;       // the optimizer's loops for a layer, plain programs

  double kept_plain = 0;         // bytes per token and hidden element that a plain program keeps more
  double logit_bytes = 0;        // bytes held per logit while the loss is taken
  double logit_bytes_plain = 0;  // likewise in plain programs
  double framework_bytes = 0;    // allocated in addition
  double outside_bytes = 0;      // bytes of the device that the allocator cannot have

  friend constexpr bool operator==(constants const&, constants const&) = default;
};

// A constant and its name in files.
struct named_constant {
  char const* name;
  double constants::*value;
  bool is_share;  // at most 1
};

// All constants by name.
inline constexpr std::array<named_constant, 40> constant_names{{
    {"products.ampere.16", &constants::products_ampere_16, true},
    {"products.hopper.16", &constants::products_hopper_16, true},
    {"products.hopper.8", &constants::products_hopper_8, true},
    {"products.hopper.32", &constants::products_hopper_32, true},
    {"products.blackwell.16", &constants::products_blackwell_16, true},
    {"products.blackwell.8", &constants::products_blackwell_8, true},
    {"products.blackwell.4", &constants::products_blackwell_4, true},
    {"products.ultra.16", &constants::products_ultra_16, true},
    {"products.ultra.8", &constants::products_ultra_8, true},
    {"products.ultra.4", &constants::products_ultra_4, true},
    {"attention.ampere", &constants::attention_ampere, true},
    {"attention.hopper", &constants::attention_hopper, true},
    {"attention.hopper.flash", &constants::attention_hopper_flash, true},
    {"attention.hopper.triton", &constants::attention_hopper_triton, true},
    {"attention.blackwell", &constants::attention_blackwell, true},
    {"memory", &constants::memory, true},
    {"power", &constants::power, false},
    {"wave", &constants::wave, false},
    {"traffic", &constants::traffic, true},
    {"scan_bytes", &constants::scan_bytes, false},
    {"loss_bytes", &constants::loss_bytes, false},
    {"link_inside", &constants::link_inside, true},
    {"link_outside", &constants::link_outside, true},
    {"latency", &constants::latency, false},
    {"tensor_exposed.tuned", &constants::tensor_exposed_tuned, true},
    {"tensor_exposed", &constants::tensor_exposed, true},
    {"contention", &constants::contention, true},
    {"data_exposed", &constants::data_exposed, true},
    {"straggler", &constants::straggler, true},
    {"host", &constants::host, false},
    {"host_tensor", &constants::host_tensor, false},
    {"host_expert", &constants::host_expert, false},
    {"host_each_expert", &constants::host_each_expert, false},
    {"host_graphs", &constants::host_graphs, true},
    {"host_update", &constants::host_update, false},
    {"kept_plain", &constants::kept_plain, false},
    {"logit_bytes", &constants::logit_bytes, false},
    {"logit_bytes.plain", &constants::logit_bytes_plain, false},
    {"framework_bytes", &constants::framework_bytes, false},
    {"outside_bytes", &constants::outside_bytes, false},
}};

// Throws unpredictable{requirement::constants_are_positive} with the number of the first constant that
// is not positive and finite.
inline void check(constants const& c) {
  for (std::size_t i = 0; i < constant_names.size(); ++i)
    if (double const value = c.*constant_names[i].value; !(value > 0 && value < 1e30))
      throw unpredictable(requirement::constants_are_positive, static_cast<long long>(i));
}

}  // namespace ashlar::cost
