// Finds out which of the job's processes this one is. Launchers say it in environment variables.
#pragma once

#include <ashlar/core/language.hpp>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace ashlar::cuda {

// This process among those of the job, and where the process of rank 0 can be reached. `local_rank`
// counts the processes of one machine.
struct launch_place {
  int rank = 0, size = 1, local_rank = 0;
  std::string address;
  int port = 0;

  friend bool operator==(launch_place const&, launch_place const&) = default;
};

namespace launch_detail {

// The number in that variable, from `least` to `most`. Throws std::invalid_argument, naming the
// variable.
template <class Lookup>
int number_in(Lookup const& lookup, std::string const& name, int least, int most) {
  char const* const text = lookup(name.c_str());
  if (text == nullptr)
    throw std::invalid_argument(name + " is not set, though others of the launcher's variables are");
  std::string_view const digits = text;
  int value = 0;
  auto const [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (wrong != std::errc{} || end != digits.data() + digits.size())
    throw std::invalid_argument(name + "=" + text + " is not a number");
  if (value < least || value > most)
    throw std::invalid_argument(name + "=" + text + " is not from " + std::to_string(least) + " to "
                                + std::to_string(most));
  return value;
}

// The variables of one launcher.
struct names {
  char const *rank, *size, *local_rank;
};

template <class Lookup>
bool any_given(Lookup const& lookup, names const& n) {
  return lookup(n.rank) != nullptr || lookup(n.size) != nullptr || lookup(n.local_rank) != nullptr;
}

template <class Lookup>
launch_place read_place(Lookup const& lookup, names const& n) {
  launch_place place;
  place.size = number_in(lookup, n.size, 1, 1 << 20);
  place.rank = number_in(lookup, n.rank, 0, place.size - 1);
  place.local_rank = number_in(lookup, n.local_rank, 0, place.size - 1);
  if (place.size == 1) return place;  // it is alone
  char const* const address = lookup("MASTER_ADDR");
  if (address == nullptr || *address == '\0')
    throw std::invalid_argument(std::string("MASTER_ADDR is not set, though ") + n.rank
                                + " is: it names the machine of rank 0");
  place.address = address;
  place.port = number_in(lookup, "MASTER_PORT", 1, 65534);
  // torchrun's own agent may keep the port for itself: the next one is taken then, by all alike.
  char const* const agent = lookup("TORCHELASTIC_USE_AGENT_STORE");
  if (agent != nullptr && std::string_view(agent) == "True") ++place.port;
  return place;
}

}  // namespace launch_detail

// The place that torchrun, mpirun (Open MPI) or srun has given to this process, the first of them that
// gave any; nothing if none did. Open MPI comes before Slurm since its processes inherit the variables
// of the daemon that Slurm has started. MASTER_ADDR and MASTER_PORT must be set for more than one
// process. `lookup` is called as std::getenv. Throws std::invalid_argument, naming the variable, when
// one is missing, is not a number or is out of range.
template <class Lookup>
std::optional<launch_place> launch_place_from(Lookup const& lookup) {
  using launch_detail::names;
  for (names const& n :
       {names{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
        names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        names{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}})
    if (launch_detail::any_given(lookup, n)) return launch_detail::read_place(lookup, n);
  return std::nullopt;
}

inline std::optional<launch_place> launch_place_from_environment() {
  return launch_place_from([](char const* name) -> char const* { return std::getenv(name); });
}

}  // namespace ashlar::cuda
