#include <ashlar/model/work.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"

using namespace shapes;

namespace {

TEST_CASE("there may be no work") {
  CHECK((work_graph().empty() && work_graph().view().empty() && work_graph() == work_graph({}, {})));
}

TEST_CASE("mirrored, laid over each other, renamed") {
  work_graph const graph(norm_jobs(2), norm_edges(2));
  work_graph const other = mirror(graph, 2);
  CHECK((other.view().part({0, 0}).device == 1 && mirror(other, 2) == graph));
  work_graph const two = overlay(graph, graph, 5);
  CHECK((two.job_count() == 6 && two.edges().size() == 16));
  CHECK(two.view().inputs({X, 3, 1})[0].from == pass{B, 1, 5});
  CHECK(two.view().inputs({X, 4, 1})[0].from == pass{X, 3, 1});
  work_graph const split = renamed(graph, [](pass what, bool) {
    what.kind = I;
    return what;
  });
  CHECK((split.view().readers({I, 0, 0}).size() == 2 && split.view().readers({B, 0, 0}).empty()));
  CHECK(split.view().readers({X, 1, 0}).size() == 1);
}

work_job on(std::vector<work_part> parts) { return {std::move(parts)}; }

}  // namespace

TEST_CASE("jobs that cannot be") {
  CHECK_BREAKS(counts_are_positive, work_graph({on({})}, {}));
  CHECK_BREAKS(every_pass_is_known, work_graph({on({{-1, 1}})}, {}));
  CHECK_BREAKS(no_duration_is_negative, work_graph({on({{0, 0}})}, {}));
  CHECK_BREAKS(ticks_fit, work_graph({on({{0, max_tick / 2}, {1, max_tick / 2}, {0, 2}})}, {}));
  CHECK_BREAKS(ticks_fit, work_graph({on({{0, std::numeric_limits<tick>::max()}})}, {}));
}

TEST_CASE("edges that cannot be") {
  std::vector<work_job> const jobs{on({{0, 1}, {0, 1}, {1, 1}})};
  auto const edge = [&](pass from, pass to) { work_graph(jobs, {{from, to}}); };
  edge({X, 0, 0}, {X, 0, 1});
  CHECK_BREAKS(every_pass_is_known, edge({X, 0, 0}, {X, 0, 3}));
  CHECK_BREAKS(every_pass_is_known, edge({X, 1, 0}, {F, 0, 0}));
  CHECK_BREAKS(every_pass_is_known, edge({static_cast<pass_kind>(6), 0, 0}, {X, 0, 0}));
  CHECK_BREAKS(work_edges_ascend, edge({F, 0, 0}, {B, 0, 0}));
  CHECK_BREAKS(work_edges_ascend, edge({X, 0, 1}, {X, 0, 0}));
  CHECK_BREAKS(work_edges_ascend, edge({X, 0, 1}, {X, 0, 1}));
  CHECK_BREAKS(work_edges_ascend, work_graph(jobs, {{{F, 0, 0}, {X, 0, 0}}, {{F, 0, 0}, {X, 0, 0}}}));
  CHECK_BREAKS(work_reads_what_its_device_keeps, edge({X, 0, 1}, {X, 0, 2}));
  CHECK_BREAKS(work_reads_what_its_device_keeps, edge({W, 0, 0}, {X, 0, 0}));
  edge({X, 0, 0}, {W, 0, 0});
}

TEST_CASE("sums that cannot be") {
  std::vector<work_job> const jobs = norm_jobs(2);
  std::vector<work_edge> const edges = norm_edges(2);
  auto const with = [&](auto change) {
    std::vector<work_job> j = jobs;
    std::vector<work_edge> e = edges;
    change(j, e);
    work_graph(j, e);
  };
  with([](auto&, auto&) {});
  with([](auto& j, auto&) { j[1].parts[0].duration = 0; });
  CHECK_BREAKS(no_duration_is_negative, with([](auto& j, auto&) { j[1].parts[0].duration = -1; }));
  // The sums are of nothing, of two values, of what another reads too, of a stash, of a sum.
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto&, auto& e) {
                 std::erase(e, work_edge{{X, 0, 1}, {X, 1, 1}});
               }));
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto& j, auto& e) {
                 j[0].parts.push_back({1, 1});
                 e.push_back({{X, 0, 2}, {X, 1, 1}});
               }));
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto&, auto& e) {
                 e.push_back({{X, 0, 1}, {B, 1, 0}});
               }));
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto&, auto& e) {
                 for (work_edge& each : e)
                   if (each.to == pass{X, 1, 1}) each.from = {B, 1, 0};
               }));
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto& j, auto& e) {
                 j[2] = j[1];
                 e.clear();
                 for (int d = 0; d < 2; ++d)
                   for (int job = 0; job < 2; ++job) e.push_back({{X, job, d}, {X, job + 1, d}});
               }));
  // The state is that of a job that has none, of a sum, of itself, of a later job, of nobody; the
  // gradient is of no stage.
  auto const state_of = [&](std::size_t job, int owner) {
    with([&](auto& j, auto&) { j[job].does = compute_job{.state = shared_state{owner}}; });
  };
  CHECK_BREAKS(work_uses_what_exists, state_of(2, 0));
  CHECK_BREAKS(work_uses_what_exists, state_of(2, 1));
  CHECK_BREAKS(work_uses_what_exists, state_of(2, 2));
  CHECK_BREAKS(work_uses_what_exists, state_of(0, 2));
  CHECK_BREAKS(work_uses_what_exists, state_of(2, -2));
  CHECK_BREAKS(work_uses_what_exists,
               with([](auto& j, auto&) { j[0].does = compute_job{.gradient = take_gradient{-1}}; }));
  // A device has two parts.
  CHECK_BREAKS(collective_work_sums_one_value, with([](auto& j, auto& e) {
                 j[0].parts.push_back({1, 1});
                 j[1].parts.push_back({1, 1});
                 e.push_back({{X, 0, 2}, {X, 1, 2}});
               }));
}
