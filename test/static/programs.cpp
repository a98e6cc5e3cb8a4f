// Every published schedule at 4 devices and 8 micro-batches, as a program.
#include <ashlar/catalog.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/valid.hpp>

#include <cstddef>

using namespace ashlar;

template <std::size_t Entry, transfer_lanes Lanes = transfer_lanes::one>
constexpr program program_of() {
  return catalog::entries[Entry].make({.p = devices{4}, .m = micro_batches{8}, .search = {.passes = 0}})
         | lower(lower_options{.lanes = Lanes});
}

static_assert(catalog::entries.size() == 13, "a line for each entry below");

static_assert(valid<program_of<0>>());
static_assert(valid<program_of<1>>());
static_assert(valid<program_of<2>>());
static_assert(valid<program_of<3>>());
static_assert(valid<program_of<4>>());
static_assert(valid<program_of<5>>());
static_assert(valid<program_of<6>>());
static_assert(valid<program_of<7>>());
static_assert(valid<program_of<8>>());
static_assert(valid<program_of<9>>());
static_assert(valid<program_of<10>>());
static_assert(valid<program_of<11>>());
static_assert(valid<program_of<12>>());

static_assert(valid<program_of<1, transfer_lanes::one_a_peer>>());
static_assert(valid<program_of<3, transfer_lanes::one_a_peer>>());
