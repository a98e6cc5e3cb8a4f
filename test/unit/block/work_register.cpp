#include <ashlar/block/work_register.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// Judges 1F1B on two devices with a part on device 0 that reads one pass, or that one pass reads.
constexpr diagnosis judge(pass what, bool reads, bool recomputed = false, int device = 0) {
  schedule s = one_f_one_b(2, 2);
  if (recomputed) s = recompute(s, {0});
  s.work = work_graph({{.parts = {{device, 1}}}},
                      {reads ? work_edge{what, {X, 0, 0}} : work_edge{{X, 0, 0}, what}});
  std::vector<time_slot>& order = s.order[static_cast<std::size_t>(device)];
  order.insert(reads ? order.end() : order.begin(), {{X, 0, 0}, 0});
  return check_passes(s);
}

TEST_CASE("what edges name") {
  for (bool reads : {true, false}) {
    CHECK((judge({F, 0, 1}, reads).ok() && judge({B, 0, 1}, reads).ok()));
    CHECK(judge({F, 1, 1}, reads, false, 1).ok());
    diagnosis d = judge({F, 1, 1}, reads);  // it is on device 1
    CHECK((d.broken == rule::work_reads_what_its_device_keeps && d.first.what == pass{X, 0, 0}));
    CHECK((d.second.device == 1 && d.second.what == pass{F, 1, 1} && d.first.device == 0));
    for (pass unknown :
         {pass{F, 2, 0}, pass{F, 0, 2}, pass{F, -1, 0}, pass{F, 0, -1}, pass{I, 0, 0}, pass{R, 0, 0}}) {
      d = judge(unknown, reads);
      CHECK((d.broken == rule::every_pass_is_known && d.first.what == unknown));
    }
  }
  // A recomputed pass keeps nothing, but can wait for work.
  for (int k : {0, 1})
    CHECK(judge({F, 0, k}, true, true).broken == rule::work_reads_what_its_device_keeps);
  CHECK((judge({F, 0, 0}, false, true).ok() && judge({R, 0, 0}, true, true).ok()));
}

}  // namespace
