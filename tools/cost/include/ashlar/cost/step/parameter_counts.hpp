// Numbers of parameters, by the ranks that shard them.
#pragma once

namespace ashlar::cost {

// Those of one device.
struct parameter_counts {
  double dense = 0;   // summed over data x context ranks
  double expert = 0;  // summed over the ranks that hold the same experts

  double both() const { return dense + expert; }
  // Adds the numbers of another part of the device's model.
  void add(parameter_counts const& other) {
    dense += other.dense;
    expert += other.expert;
  }
};

}  // namespace ashlar::cost
