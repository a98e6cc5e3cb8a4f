#include <ashlar/cuda/launch_environment.hpp>

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <string>

namespace {

using ashlar::cuda::launch_place;
using environment = std::map<std::string, std::string>;

auto place_in(environment const& e) {
  return ashlar::cuda::launch_place_from([&e](char const* name) -> char const* {
    auto const found = e.find(name);
    return found == e.end() ? nullptr : found->second.c_str();
  });
}

environment with(environment e, std::string const& name, std::string const& value) {
  e[name] = value;
  return e;
}
environment without(environment e, std::string const& name) {
  e.erase(name);
  return e;
}

environment const torchrun{{"RANK", "5"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29500"}};

void require_refused(environment const& e, std::string const& variable) {
  std::string said;
  try {
    place_in(e);
  } catch (std::invalid_argument const& refusal) {
    said = refusal.what();
  }
  INFO(said);
  CHECK(said.starts_with(variable));
}

}  // namespace

TEST_CASE("launch environment: each launcher's variables give the place") {
  launch_place const expected{5, 8, 1, "node0", 29500};
  CHECK(place_in(torchrun) == expected);
  CHECK(place_in({{"SLURM_PROCID", "5"},
                  {"SLURM_NTASKS", "8"},
                  {"SLURM_LOCALID", "1"},
                  {"MASTER_ADDR", "node0"},
                  {"MASTER_PORT", "29500"}})
        == expected);
  CHECK(place_in({{"OMPI_COMM_WORLD_RANK", "5"},
                  {"OMPI_COMM_WORLD_SIZE", "8"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"SLURM_PROCID", "0"},  // the daemon's
                  {"MASTER_ADDR", "node0"},
                  {"MASTER_PORT", "29500"}})
        == expected);
}

TEST_CASE("launch environment: without a launcher there is none; one process needs no address") {
  CHECK(!place_in({}));
  CHECK(!place_in({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}}));
  CHECK(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_LOCALID", "0"}})
        == launch_place{0, 1, 0, "", 0});
}

TEST_CASE("launch environment: torchrun's agent keeps its port") {
  CHECK(place_in(with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"))->port == 29501);
  CHECK(place_in(with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "False"))->port == 29500);
}

TEST_CASE("launch environment: nonsense is refused by the variable's name") {
  for (auto const& [name, value] : torchrun) {
    if (name != "MASTER_ADDR" && name != "MASTER_PORT") {
      require_refused({{name, "0"}}, name == "WORLD_SIZE" ? "WORLD_SIZE=0" : "WORLD_SIZE is not set");
    }
    require_refused(without(torchrun, name), name + " is not set");
  }
  for (char const* text : {"", "x", "3x", " 3", "1.0", "99999999999999999999"}) {
    require_refused(with(torchrun, "RANK", text), "RANK=");
    require_refused(with(torchrun, "WORLD_SIZE", text), "WORLD_SIZE=");
    require_refused(with(torchrun, "LOCAL_RANK", text), "LOCAL_RANK=");
    require_refused(with(torchrun, "MASTER_PORT", text), "MASTER_PORT=");
  }
  require_refused(with(torchrun, "RANK", "8"), "RANK=8 is not from 0 to 7");
  require_refused(with(torchrun, "RANK", "-1"), "RANK=-1");
  require_refused(with(torchrun, "WORLD_SIZE", "0"), "WORLD_SIZE=0");
  require_refused(with(torchrun, "LOCAL_RANK", "8"), "LOCAL_RANK=8");
  require_refused(with(torchrun, "MASTER_PORT", "0"), "MASTER_PORT=0");
  require_refused(with(torchrun, "MASTER_PORT", "65536"), "MASTER_PORT=65536");
  require_refused(with(torchrun, "MASTER_ADDR", ""), "MASTER_ADDR");
}
