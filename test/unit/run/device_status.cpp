#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/device_status.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace ashlar;

TEST_CASE("device_status: what a device does, in words") {
  program const p = catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower();
  program_view const v = p.view();
  auto const name = [&](int number) { return name_of_device(v, number); };
  auto const words = [&](device_status const& s) { return describe(v, 1, s, name); };
  int receive = 0;
  while (v.stream(1)[static_cast<std::size_t>(receive)].code != opcode::receive) ++receive;
  std::string const where = "(position " + std::to_string(receive) + " of step 3)";

  CHECK(words({.step = 3, .for_ms = 5}) == "has been between steps 3 and 4 for 5 ms");
  CHECK(words({.what = activity::synchronizes, .step = 3, .for_ms = 5})
        == "has waited 5 ms for all others between steps 3 and 4");
  CHECK(words({.what = activity::computes, .step = 3, .for_ms = 5})
        == "has computed for 5 ms between steps 3 and 4");
  CHECK(words({.what = activity::waits, .step = 3, .for_ms = 5})
        == "has waited 5 ms for nothing that is under way");
  CHECK(words({.what = activity::waits, .index = receive, .missing_count = 1, .missing = 0, .step = 3})
        == "has waited 0 ms for device 0: receive 0F0 from device 0 " + where);
  CHECK(words({.what = activity::waits, .index = receive, .missing_count = 2, .missing = 0, .step = 3})
        == "has waited 0 ms for device 0 and 1 more: receive 0F0 from device 0 " + where);
  CHECK(words({.what = activity::waits, .index = receive, .missing_count = 3, .missing = 0, .step = 3})
        == "has waited 0 ms for device 0 and 2 more: receive 0F0 from device 0 " + where);
  CHECK(words({.what = activity::computes, .index = receive, .step = 3, .for_ms = 7})
        == "has computed for 7 ms: receive 0F0 from device 0 " + where);
}

TEST_CASE("device_status: devices of several ranks have the rank in their names") {
  program const p =
      catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower({.data_ranks = 2});
  CHECK(name_of_device(p.view(), 1) == "rank 0, device 1");
  CHECK(name_of_device(p.view(), 2) == "rank 1, device 0");
}
