#include <ashlar/optimize/precedence_graph.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "shapes.hpp"
#include "violations.hpp"

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

std::vector<int> listed(lists<int> const& lists, std::size_t x) {
  std::vector<int> found(lists[x].begin(), lists[x].end());
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("passes by number, what they need and feed") {
  schedule const s = catalog::zb_h1(devices{2}) | repeat(micro_batches{1})
                     | retime(costs(std::vector<stage_cost>{{2, 3, 4}, {5, 6, 7}}, 1));
  precedence_graph const net(s, limits::sized({10, 20}, {3, 20}));
  CHECK(net.orders == precedence_graph::device_orders{{0, 1, 2}, {3, 4, 5}});
  CHECK(std::ranges::equal(
      net.what, std::vector<pass>{{F, 0, 0}, {I, 0, 0}, {W, 0, 0}, {F, 1, 0}, {I, 1, 0}, {W, 1, 0}}));
  CHECK(net.device == std::vector<int>{0, 0, 0, 1, 1, 1});
  CHECK(net.length == std::vector<tick>{2, 3, 4, 5, 6, 7});
  CHECK(net.takes == std::vector<byte_count>{10, 0, 0, 20, 0, 0});
  CHECK(net.gives == std::vector<byte_count>{0, 7, 3, 0, 0, 20});
  std::vector<std::vector<int>> const needs{{}, {0, 4}, {1}, {0}, {3}, {4}},
      feeds{{1, 3}, {2}, {}, {4}, {1, 5}, {}};
  for (std::size_t x = 0; x < 6; ++x) {
    CHECK(listed(net.needs, x) == needs[x]);
    CHECK(listed(net.feeds, x) == feeds[x]);
  }
}

TEST_CASE("a stream is a stage and a kind") {
  schedule const s = catalog::v_half(devices{2}) | repeat(micro_batches{3}) | squeeze();
  precedence_graph const net(s, chunk_activations(9).memory);
  for (std::size_t x = 0; x < net.what.size(); ++x)
    for (std::size_t y = 0; y < net.what.size(); ++y) {
      if (net.device[x] != net.device[y]) continue;
      bool const alike = net.what[x].kind == net.what[y].kind && net.what[x].stage == net.what[y].stage;
      CHECK((net.stream[x] == net.stream[y]) == alike);
      CHECK((alike || (net.stream[x] & net.stream[y]) == 0));
    }
}

TEST_CASE("the orders of another schedule") {
  schedule const s = catalog::zb_h1(devices{2}) | repeat(micro_batches{3}) | squeeze();
  precedence_graph const net(s, chunk_activations(9).memory);
  CHECK(net.orders_of(s) == net.orders);
  schedule turned = s;
  std::reverse(turned.order[1].begin(), turned.order[1].end());
  precedence_graph::device_orders expected = net.orders;
  std::reverse(expected[1].begin(), expected[1].end());
  CHECK(net.orders_of(turned) == expected);
}

TEST_CASE("inference takes no memory for long") {
  schedule const s = catalog::find("inference")->make({devices{3}, micro_batches{4}});
  precedence_graph const net(s, chunk_activations(1).memory);
  CHECK(net.takes == std::vector<byte_count>(12, 1));
  CHECK(net.gives == net.takes);
}

TEST_CASE("what is no network, and what is no order of its passes") {
  CHECK_BREAKS(every_pass_is_known, precedence_graph(with_work(one_f_one_b(2, 2)), {}));
  schedule far = one_f_one_b(2, 2);
  far.order[0][0].what.micro_batch = 2;
  CHECK_BREAKS(every_pass_is_known, precedence_graph(far, {}));
  CHECK_BREAKS(overlapped_passes_are_a_pair,
               precedence_graph(catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}), {}));

  precedence_graph const net(one_f_one_b(2, 3), chunk_activations(9).memory);
  for (schedule const& other : {one_f_one_b(2, 2), one_f_one_b(2, 4), one_f_one_b(3, 3)})
    CHECK_BREAKS(tables_agree, net.orders_of(other));
  CHECK_BREAKS(every_pass_is_known, net.orders_of(split_backward(one_f_one_b(2, 3))));
  CHECK_BREAKS(pass_is_on_its_device, net.orders_of(mirror(one_f_one_b(2, 3))));
  schedule less = one_f_one_b(2, 3);
  less.order[1].pop_back();
  CHECK_BREAKS(every_pass_is_present, net.orders_of(less));
}

}  // namespace
