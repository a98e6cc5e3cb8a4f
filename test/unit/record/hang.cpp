// The first operation that cannot end, from records that are written by hand.
#include <ashlar/record/hang.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ashlar;

namespace {

// The record of one rank of a group of all ranks, whose operations are added in order.
class writer {
 public:
  writer(int rank, int count) {
    to_.rank = rank;
    std::vector<int> all;
    for (int r = 0; r < count; ++r) all.push_back(r);
    to_.groups = {{.name = "0", .description = "all", .ranks = all},
                  {.name = "1", .description = "others", .ranks = all}};
  }

  writer& add(recorded_operation one) {
    one.id = first_ + static_cast<long long>(to_.operations.size());
    one.backend = backend_;
    one.created_ns = 100 * one.id + to_.rank;
    to_.operations.push_back(std::move(one));
    return *this;
  }
  writer& transfer(std::string const& kind, int peer, long long size = 4, bool ends = false) {
    return add({.kind = kind,
                .peer = peer,
                .is_transfer = true,
                .sequence = in_batch_ ? transfers_ : ++transfers_,
                .state = ends ? recorded_state::completed : state_,
                .inputs = {{{size}}, {"Float"}},
                .outputs = {{{size}}, {"Float"}}});
  }
  writer& send(int peer, long long size = 4) { return transfer("send", peer, size); }
  writer& receive(int peer, long long size = 4) { return transfer("recv", peer, size); }
  writer& batch() {
    in_batch_ = true;
    ++transfers_;
    return *this;
  }
  writer& end_batch() {
    in_batch_ = false;
    return add({.kind = "coalesced", .is_transfer = true, .sequence = transfers_, .state = state_});
  }
  writer& together(std::string const& kind, int group = 0, long long size = 4,
                   std::string const& dtype = "Float") {
    return add({.group = group,
                .kind = kind,
                .sequence = ++collectives_[group],
                .state = state_,
                .inputs = {{{size}}, {dtype}},
                .outputs = {{{size}}, {dtype}}});
  }
  // Sets the state of all that is added from here on.
  writer& in_state(recorded_state state) {
    state_ = state;
    return *this;
  }
  writer& on(std::string const& backend) {
    backend_ = backend;
    return *this;
  }
  // The ring buffer has lost what was before.
  writer& lost(long long operations, long long collectives) {
    to_.is_whole = false;
    first_ = operations;
    collectives_[0] = collectives;
    return *this;
  }
  operator rank_record() const { return to_; }

 private:
  rank_record to_;
  long long first_ = 0, transfers_ = 0, collectives_[2] = {0, 0};
  bool in_batch_ = false;
  std::string backend_ = "nccl";
  recorded_state state_ = recorded_state::pending;
};

hang of(std::vector<rank_record> const& ranks) { return find_hang(matched(ranks)); }

}  // namespace

TEST_CASE("what all ranks have issued in one order can end") {
  CHECK(of({writer(0, 2).send(1).together("all_reduce").receive(1),
            writer(1, 2).receive(0).together("all_reduce").send(0)})
            .kind
        == hang_kind::none);
  CHECK(of({}).kind == hang_kind::none);
  CHECK(of({writer(0, 2)}).kind == hang_kind::none);
}

TEST_CASE("two ranks that send first wait for each other, unless they do so in a batch") {
  hang const found = of({writer(0, 2).send(1).receive(1), writer(1, 2).send(0).receive(0)});
  CHECK(found.kind == hang_kind::circle);
  CHECK(found.is_certain());
  REQUIRE(found.chain.size() == 2);
  CHECK(found.chain[0].rank != found.chain[1].rank);
  CHECK(of({writer(0, 2).batch().send(1).receive(1).end_batch(),
            writer(1, 2).batch().send(0).receive(0).end_batch()})
            .kind
        == hang_kind::none);
}

TEST_CASE("where batches do not show, nothing is said about the order of transfers") {
  auto const sends = [](int me) {
    recorded_operation one{.kind = "send", .peer = 1 - me, .is_transfer = true, .sequence = 1};
    recorded_operation other{.kind = "recv", .peer = 1 - me, .is_transfer = true, .sequence = 2};
    one.inputs = other.outputs = {{{4}}, {"Float"}};
    return rank_record(writer(me, 2).add(one).add(other));
  };
  CHECK(of({sends(0), sends(1)}).kind == hang_kind::none);
}

TEST_CASE("gloo starts all at once, so only what was not issued can be waited for") {
  CHECK(of({writer(0, 2).on("gloo").send(1).receive(1), writer(1, 2).on("gloo").send(0).receive(0)}).kind
        == hang_kind::none);
}

TEST_CASE("a circle goes through the lanes of several groups") {
  hang const found = of({writer(0, 2).together("all_reduce", 0).send(1),
                         writer(1, 2).batch().receive(0).end_batch().together("all_reduce", 0)});
  CHECK(found.kind == hang_kind::none);  // the send has a lane of its own
  hang const batches = of({writer(0, 2).together("all_reduce", 0).batch().send(1).end_batch(),
                           writer(1, 2).batch().receive(0).end_batch().together("all_reduce", 0)});
  CHECK(batches.kind == hang_kind::circle);
}

TEST_CASE("ranks differ in kind, size or element type") {
  hang const kinds = of({writer(0, 2).together("all_reduce").together("broadcast"),
                         writer(1, 2).together("broadcast").together("all_reduce")});
  CHECK(kinds.kind == hang_kind::other_kind);
  REQUIRE(kinds.chain.size() == 2);
  CHECK(kinds.chain[0].waiting == recorded_place{0, 0});
  CHECK(of({writer(0, 2).together("all_reduce", 0, 4), writer(1, 2).together("all_reduce", 0, 8)}).kind
        == hang_kind::other_size);
  CHECK(of({writer(0, 2).together("all_reduce", 0, 4, "Float"),
            writer(1, 2).together("all_reduce", 0, 4, "BFloat16")})
            .kind
        == hang_kind::other_dtype);
  CHECK(of({writer(0, 2).send(1, 4), writer(1, 2).receive(0, 8)}).kind == hang_kind::other_size);
  // Gathers of lists may be uneven.
  CHECK(of({writer(0, 2).together("all_gather", 0, 4), writer(1, 2).together("all_gather", 0, 8)}).kind
        == hang_kind::none);
}

TEST_CASE("what has ended on all ranks was right, whatever its sizes") {
  auto const ended = recorded_state::completed;
  CHECK(of({writer(0, 2).in_state(ended).together("all_reduce", 0, 4),
            writer(1, 2).in_state(ended).together("all_reduce", 0, 8)})
            .kind
        == hang_kind::none);
}

TEST_CASE("a rank that waits for nothing has not issued what others wait for") {
  hang const found = of({writer(0, 3).together("barrier"), writer(1, 3).together("barrier"),
                         writer(2, 3).send(0).in_state(recorded_state::pending)});
  CHECK(found.kind == hang_kind::waits_in_turn);  // its send waits, too
  hang const late =
      of({writer(0, 3).together("barrier"), writer(1, 3).together("barrier"), writer(2, 3)});
  CHECK(late.kind == hang_kind::never_issued);
  CHECK(late.absent == std::vector<int>{2});
  CHECK_FALSE(late.is_certain());
}

TEST_CASE("a rank without a record is named, where others wait for it") {
  hang const found = of({writer(0, 3).together("barrier"), writer(1, 3).together("barrier")});
  CHECK(found.kind == hang_kind::no_record);
  CHECK(found.absent == std::vector<int>{2});
  CHECK(of({writer(0, 3).in_state(recorded_state::completed).together("barrier")}).kind
        == hang_kind::none);
}

TEST_CASE("ranks that each wait in what the next has not issued form a circle, too") {
  hang const found = of({writer(0, 3).send(1), writer(1, 3).send(2), writer(2, 3).send(0)});
  CHECK(found.kind == hang_kind::waits_in_turn);
  CHECK(found.chain.size() == 3);
}

TEST_CASE("ring buffers that have lost their beginnings make no false claims") {
  auto const ended = recorded_state::completed;
  // Rank 1 has lost its first transfers, and the sizes of those that it has would be matched wrongly.
  CHECK(of({writer(0, 2).in_state(ended).send(1, 1).send(1, 2).send(1, 3),
            writer(1, 2).lost(2, 0).in_state(ended).receive(0, 3)})
            .kind
        == hang_kind::none);
  CHECK(of({writer(0, 2).lost(7, 5).together("all_reduce"), writer(1, 2).lost(9, 6).together("barrier")})
            .chain.size()
        == 1);  // rank 0 may lack the barrier; all_reduce may be lost on rank 1
  hang const late = of({writer(0, 2).lost(7, 5).together("all_reduce"),
                        writer(1, 2).lost(7, 4).in_state(ended).together("all_reduce")});
  CHECK(late.kind == hang_kind::never_issued);
}

TEST_CASE("a lost operation is found where its partner waits") {
  // Rank 1 has lost one receive of three, and went on to the barrier.
  hang const found =
      of({writer(0, 2).send(1).send(1).send(1), writer(1, 2).receive(0).receive(0).together("barrier")});
  CHECK(found.kind == hang_kind::waits_in_turn);
  REQUIRE(found.chain.size() == 2);
}

TEST_CASE("nothing is said about transfers that do not name their other end") {
  recorded_operation const odd{.kind = "all_reduce", .is_transfer = true, .sequence = 1};
  recorded_operation const any{.kind = "recv", .is_transfer = true, .sequence = 2};
  CHECK(of({writer(0, 2).add(odd).add(any), writer(1, 2)}).kind == hang_kind::none);
}

TEST_CASE("collectives of a batch are compared one by one") {
  auto const gathers = [](int me, long long second) {
    recorded_operation one{.kind = "_broadcast_oop", .sequence = 1, .state = recorded_state::pending};
    one.inputs = {{{4}}, {"Float"}};
    recorded_operation other = one;
    other.inputs.sizes = {{second}};
    recorded_operation const end{
        .kind = "ALLGATHER_coalesced", .sequence = 1, .state = recorded_state::pending};
    return rank_record(writer(me, 2).add(one).add(other).add(end));
  };
  CHECK(of({gathers(0, 5), gathers(1, 5)}).kind == hang_kind::none);
  hang const found = of({gathers(0, 5), gathers(1, 4)});
  CHECK(found.kind == hang_kind::other_size);
  REQUIRE(found.chain.size() == 2);
  CHECK(found.chain[0].waiting.operation == 1);
}

TEST_CASE("groups with one communicator for all transfers get stuck where those of pairs do not") {
  std::vector<rank_record> const ranks{writer(0, 3).receive(2).send(1), writer(1, 3).receive(0).send(2),
                                       writer(2, 3).receive(1).send(0)};
  hang const pairs = find_hang(matched(ranks));
  CHECK(pairs.kind == hang_kind::none);
  CHECK(pairs.under_way == 6);
  hang const one = find_hang(matched(ranks, transfer_lanes::one));
  CHECK(one.kind == hang_kind::circle);
  CHECK(one.chain.size() == 3);
  CHECK(one.under_way == 0);
}
