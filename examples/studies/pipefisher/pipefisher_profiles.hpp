// Measured times of one layer, by model, GPU and micro-batch: layer_profiles.csv.
#pragma once

#include "../csv.hpp"
#include "refresh_model.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace systems {

class profiles {
 public:
  explicit profiles(std::string const& folder) {
    for (csv_row const& row : read_csv(folder + "/layer_profiles.csv")) {
      auto const number = [&](char const* column) { return std::stod(row.at(column)); };
      all_[{row.at("model"), row.at("gpu"), std::stoi(row.at("micro_batch"))}] = {
          number("t_fwd_ms"), number("t_bwd_ms"), number("t_curv_ms"), number("t_inv_ms"),
          number("t_prec_ms")};
    }
  }

  // Returns milliseconds.
  ashlar::refresh_times of(std::string const& model, std::string const& gpu, int micro_batch) const {
    auto const found = all_.find({model, gpu, micro_batch});
    if (found == all_.end())
      throw std::runtime_error("no profile of " + model + " on " + gpu + " with micro-batches of "
                               + std::to_string(micro_batch));
    return found->second;
  }

 private:
  std::map<std::tuple<std::string, std::string, int>, ashlar::refresh_times> all_;
};

}  // namespace systems
