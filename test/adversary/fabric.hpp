// The parts that the devices of all ranks share.
#pragma once

#include "world.hpp"
#include <ashlar/run/device_plan.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace adversary {

using namespace ashlar;

struct fabric {
  explicit fabric(options o) : all(o) {}

  struct pair {
    int send = -1, receive = -1;           // things
    std::vector<std::byte> kept;           // what has been sent,
    std::function<void(std::byte*)> give;  // or who copies it
  };
  struct member {
    collective_call call;
    std::vector<std::byte> whole, shard;  // what it gives, then what it gets
  };
  struct meeting {
    std::vector<member> members;
    std::size_t begun = 0;
  };
  using link = std::tuple<int, int, int>;  // rank, source, target
  std::map<link, std::deque<pair>> pairs;
  std::map<link, std::pair<std::size_t, std::size_t>> posted;  // sends, receives
  std::map<std::tuple<int, int, int>, std::deque<meeting>> meetings;
  std::map<std::tuple<int, int, int, int>, std::size_t> calls;
  world all;  // last: its threads use the rest

  void step_begins() {
    pairs.clear();
    posted.clear();
    meetings.clear();
    calls.clear();
  }
};

}  // namespace adversary
