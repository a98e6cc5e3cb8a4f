#include <ashlar/predict/machine.hpp>
// First, so that it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::predict::testing {

TEST_CASE("machine: the peak of a format, or of the nearest wider one") {
  machine m = hopper();
  CHECK(peak(m, number_format::bf16) == 1000e12);
  CHECK(peak(m, number_format::mxfp8) == 2000e12);
  CHECK(peak(m, number_format::nvfp4) == 2000e12);
  CHECK(peak(m, number_format::fp32) == 500e12);
  m.peak.fp8 = m.peak.bf16 = m.peak.tf32 = 0;
  CHECK(peak(m, number_format::nvfp4) == 1000e12);
  CHECK(peak(m, number_format::fp32) == 60e12);
}

TEST_CASE("machine: generations take the shares of the one built most like them") {
  CHECK(family_of(generation::volta) == family::ampere);
  CHECK(family_of(generation::cdna3) == family::hopper);
  CHECK(family_of(generation::cdna4) == family::blackwell);
}

}  // namespace ashlar::predict::testing
