// Orders of schedules as tokens, to compare them with those of other systems.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>
#include <vector>

// 2F0, 2B0: stage, kind, micro-batch.
inline std::string token(ashlar::pass what) {
  return std::to_string(what.stage) + "FRBIWx"[static_cast<int>(what.kind)]
         + std::to_string(what.micro_batch);
}

// An overlapped pair is one token.
inline std::vector<std::vector<std::string>> orders_of(ashlar::schedule const& s) {
  std::vector<std::vector<std::string>> orders;
  for (auto const& order : s.order) {
    orders.emplace_back();
    for (ashlar::time_slot const& t : order)
      orders.back().push_back(t.is_pair() ? '(' + token(t.what) + ';' + token(t.beside) + ")OVERLAP_F_B"
                                          : token(t.what));
  }
  return orders;
}
