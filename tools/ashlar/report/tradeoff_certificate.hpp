// Certificates of `ashlar tradeoff`: the steps of a schedule on all batches, and which of them costs
// least.
#pragma once

#include "report/certificates.hpp"
#include "report/tradeoff_study.hpp"

namespace tool {

// Adds the points of a schedule with their schedules and bounds, and the best point of each cluster; or
// says what has no certificate.
void certify(certificates& proofs, tradeoff_study const& study, studied_schedule const& s);

}  // namespace tool
