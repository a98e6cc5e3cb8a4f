#include <ashlar/core/splitmix.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

using namespace ashlar;

TEST_CASE("the first numbers of splitmix64 with the seed 0") {
  // The reference implementation gives these (prng.di.unimi.it/splitmix64.c).
  static_assert(mixed(splitmix_step) == 0xe220a8397b1dcdafU);
  static_assert(mixed(2 * splitmix_step) == 0x6e789e6aa1b965f4U);
  static_assert(mixed(3 * splitmix_step) == 0x06c45d188009454fU);
  CHECK((mixed(0) == 0 && mixed(splitmix_step) == 0xe220a8397b1dcdafU));
}
