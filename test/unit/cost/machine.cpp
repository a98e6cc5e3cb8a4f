#include <ashlar/cost/cluster/machine.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

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

TEST_CASE("machine: formats that it has products in") {
  using enum number_format;
  machine m = hopper();
  for (number_format f : {bf16, fp16, fp32, fp8}) CHECK(has_products(m, f));
  for (number_format f : {mxfp8, nvfp4}) CHECK(!has_products(m, f));
  m.peak.fp4 = 4000e12;  // its file says so
  for (number_format f : {mxfp8, nvfp4}) CHECK(has_products(m, f));
  m.built = generation::cdna4;  // its 4 bits are MXFP4
  CHECK(has_products(m, mxfp8));
  CHECK(!has_products(m, nvfp4));
  m.built = generation::blackwell;
  m.peak.fp4 = 0;
  CHECK(has_products(m, mxfp8));
  CHECK(!has_products(m, nvfp4));
  m.peak = {.fp32 = 60e12, .fp16 = 1000e12};
  for (number_format f : {fp16, fp32}) CHECK(has_products(m, f));
  for (number_format f : {bf16, fp8, mxfp8, nvfp4}) CHECK(!has_products(m, f));
}

TEST_CASE("machine: generations take the shares of the one built most like them") {
  CHECK(family_of(generation::volta) == family::ampere);
  CHECK(family_of(generation::cdna3) == family::hopper);
  CHECK(family_of(generation::cdna4) == family::blackwell);
}

}  // namespace ashlar::cost::testing
