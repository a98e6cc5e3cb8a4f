// Certificates of partitions: operators cut into stages, and the load that no cut goes below.
#pragma once

#include <ashlar/plan/graphs/graph_plan.hpp>

#include <string>

namespace tool {

// A model, and the machine and batch to cut it for. Refers to the model.
struct partition_question {
  std::string name;
  ashlar::operator_model const& model;
  ashlar::operator_machine machine;
  ashlar::operator_batch batch;
};

// The plan, and that no partition leaves every device, and every message, with less to do than `best`;
// if not all partitions were tried, than an even share of the work.
std::string certificate_of(partition_question const& asked, ashlar::graph_plan const& plan,
                           ashlar::graph_plan const& best);
// That no partition fits into memory.
std::string certificate_of_none(partition_question const& asked);

}  // namespace tool
