// Every published schedule at 8 devices and 32 micro-batches, as a program.
#include <ashlar/catalog.hpp>
#include <ashlar/freeze.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/valid.hpp>

#include <cstddef>

using namespace ashlar;

template <std::size_t Entry>
constexpr program program_of() {
  return catalog::entries[Entry].make({devices{8}, micro_batches{32}}) | lower();
}

static_assert(catalog::entries.size() == 5, "a line for each entry below");

static_assert(valid<program_of<0>>());
static_assert(valid<program_of<1>>());
static_assert(valid<program_of<2>>());
static_assert(valid<program_of<3>>());
static_assert(valid<program_of<4>>());

static_assert(freeze<program_of<3>>.view().device_count == 8);
