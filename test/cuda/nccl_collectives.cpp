// Compares collective calls of the substitute of NCCL with plain sums.
#include "nccl_ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nccl_tests {

// Small whole numbers, which every type holds exactly.
int value(int rank, std::size_t i) { return static_cast<int>((i * 7 + at(rank) * 3) % 5) + 1; }

struct half_bits {
  std::uint16_t bits = 0;
  bool operator==(half_bits const&) const = default;
};
struct brain_bits {
  std::uint16_t bits = 0;
  bool operator==(brain_bits const&) const = default;
};
template <class T>
T number(int x) {
  return static_cast<T>(x);
}
template <>
brain_bits number<brain_bits>(int x) {
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16U)};
}
template <>
half_bits number<half_bits>(int x) {  // of 1 to 2047
  int const exponent = std::ilogb(x);
  return {static_cast<std::uint16_t>(((exponent + 15) << 10) + ((x << 10 >> exponent) - 1024))};
}

template <class T>
std::vector<T> values_of(std::size_t count, int rank) {
  std::vector<T> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(number<T>(value(rank, i)));
  return all;
}

int reduced(ncclRedOp_t op, int size, std::size_t i) {
  int r = value(0, i);
  for (int k = 1; k < size; ++k) {
    int const v = value(k, i);
    r = op == ncclMax ? std::max(r, v) : op == ncclMin ? std::min(r, v) : op == ncclProd ? r * v : r + v;
  }
  return r;
}

template <class T>
void reduces(rank& r, ncclDataType_t type) {
  for (ncclRedOp_t const op : {ncclSum, ncclMax, ncclMin, ncclProd})
    for (std::size_t const count : {1U, 2U, 5U, 1000U}) {
      std::size_t const n = at(r.size);
      auto const from = r.put(values_of<T>(count, r.me)), to = r.put(std::vector<T>(count));
      require_ok(ncclAllReduce(from.data(), to.data(), count, type, op, r.comm, r.stream));
      auto const sums = r.get<T>(to);
      for (std::size_t i = 0; i < count; ++i) require_that(sums[i] == number<T>(reduced(op, r.size, i)));
      // in place
      require_ok(ncclAllReduce(from.data(), from.data(), count, type, op, r.comm, r.stream));
      require_that(r.get<T>(from) == sums);
      auto const wide = r.put(values_of<T>(count * n, r.me));
      require_ok(ncclReduceScatter(wide.data(), to.data(), count, type, op, r.comm, r.stream));
      auto const mine = r.get<T>(to);
      for (std::size_t i = 0; i < count; ++i)
        require_that(mine[i] == number<T>(reduced(op, r.size, at(r.me) * count + i)));
    }
}

template <class T>
void moves(rank& r, ncclDataType_t type) {
  std::size_t const n = at(r.size);
  for (std::size_t const count : {1U, 1000U}) {
    auto const mine = r.put(values_of<T>(count, r.me)), all = r.put(std::vector<T>(count * n)),
               one = r.put(std::vector<T>(count));
    require_ok(ncclAllGather(mine.data(), all.data(), count, type, r.comm, r.stream));
    auto const got = r.get<T>(all);
    for (std::size_t i = 0; i < got.size(); ++i)
      require_that(got[i] == number<T>(value(static_cast<int>(i / count), i % count)));
    for (int root = 0; root < r.size; ++root) {
      require_ok(ncclBroadcast(mine.data(), one.data(), count, type, root, r.comm, r.stream));
      require_that(r.get<T>(one) == values_of<T>(count, root));
    }
  }
}

TEST_CASE("nccl: collective calls of every type") {
  for (int const size : {1, 2, 3, 4}) {
    CAPTURE(size);
    new_machine(size, at(size));
    auto const said = on_ranks(size, [](rank& r) {
      auto const both = [&r](auto example, ncclDataType_t type) {
        reduces<decltype(example)>(r, type);
        moves<decltype(example)>(r, type);
      };
      both(std::int8_t{}, ncclInt8);
      both(std::uint8_t{}, ncclUint8);
      both(std::int32_t{}, ncclInt32);
      both(std::uint32_t{}, ncclUint32);
      both(std::int64_t{}, ncclInt64);
      both(std::uint64_t{}, ncclUint64);
      both(half_bits{}, ncclFloat16);
      both(brain_bits{}, ncclBfloat16);
      both(float{}, ncclFloat32);
      both(double{}, ncclFloat64);
    });
    CHECK(said == all_quiet(size));
  }
}

TEST_CASE("nccl: signs, averages, and numbers beyond the range") {
  new_machine(2);
  auto const said = on_ranks(2, [](rank& r) {
    auto const check = [&r]<class T>(T mine, T other, ncclDataType_t type, ncclRedOp_t op, T expected) {
      auto const m = r.put(std::vector<T>{r.me == 0 ? mine : other});
      require_ok(ncclAllReduce(m.data(), m.data(), 1, type, op, r.comm, r.stream));
      require_that(r.get<T>(m) == std::vector<T>{expected});
    };
    check(-5, 3, ncclInt32, ncclMin, -5);
    check(-5, 3, ncclInt32, ncclMax, 3);
    check(-5, 3, ncclInt32, ncclAvg, -1);
    check(std::int8_t{127}, std::int8_t{1}, ncclInt8, ncclSum, std::int8_t{-128});
    check(-5.5, 3.0, ncclFloat64, ncclAvg, -1.25);
    // rounded to nearest, ties to even: 256 + 1 and 258 + 1 in bf16, 2048 + 1 and 2050 + 1 in fp16
    check(number<brain_bits>(256), number<brain_bits>(1), ncclBfloat16, ncclSum, brain_bits{0x4380});
    check(number<brain_bits>(258), number<brain_bits>(1), ncclBfloat16, ncclSum, brain_bits{0x4382});
    check(half_bits{0x6800}, half_bits{0x3c00}, ncclFloat16, ncclSum, half_bits{0x6800});
    check(half_bits{0x6801}, half_bits{0x3c00}, ncclFloat16, ncclSum, half_bits{0x6802});
    // the largest number twice; the two least numbers above zero; what carries into normal numbers
    check(half_bits{0x7bff}, half_bits{0x7bff}, ncclFloat16, ncclSum, half_bits{0x7c00});
    check(half_bits{0x0001}, half_bits{0x8002}, ncclFloat16, ncclSum, half_bits{0x8001});
    check(half_bits{0x03ff}, half_bits{0x0001}, ncclFloat16, ncclSum, half_bits{0x0400});
  });
  CHECK(said == all_quiet(2));
}

// 1 is lost next to 1e8 in fp32, unless 1e8 and -1e8 meet first.
TEST_CASE("nccl: sums are the same on all ranks and not in the order of the ranks") {
  std::vector<float> const terms{1e8F, 1.0F, -1e8F, 3.0F};
  float const in_order = ((terms[0] + terms[1]) + terms[2]) + terms[3];
  std::vector<std::vector<float>> seen(4);
  new_machine(4);
  auto const said = on_ranks(4, [&](rank& r) {
    auto const m = r.put(std::vector<float>(400, terms[at(r.me)]));
    require_ok(ncclAllReduce(m.data(), m.data(), 400, ncclFloat32, ncclSum, r.comm, r.stream));
    seen[at(r.me)] = r.get<float>(m);
  });
  CHECK(said == all_quiet(4));
  for (auto const& s : seen) CHECK(s == seen[0]);
  CHECK(seen[0] != std::vector<float>(400, in_order));
}

TEST_CASE("nccl: collective calls in a group, several of them, beside transfers") {
  new_machine(3);
  auto const said = on_ranks(3, [](rank& r) {
    auto const a = r.put(std::vector<int>{r.me}), b = r.put(std::vector<int>{10 * r.me}),
               c = r.put(std::vector<int>{0});
    require_ok(ncclGroupStart());
    require_ok(ncclAllReduce(a.data(), a.data(), 1, ncclInt32, ncclSum, r.comm, r.stream));
    require_ok(ncclSend(b.data(), 1, ncclInt32, (r.me + 1) % 3, r.comm, r.stream));
    require_ok(ncclAllReduce(a.data(), c.data(), 0, ncclInt32, ncclSum, r.comm, r.stream));
    require_ok(ncclRecv(c.data(), 1, ncclInt32, (r.me + 2) % 3, r.comm, r.stream));
    require_ok(ncclGroupEnd());
    require_that(r.get<int>(a) == std::vector<int>{3});
    require_that(r.get<int>(c) == std::vector<int>{(r.me + 2) % 3 * 10});
  });
  CHECK(said == all_quiet(3));
}

}  // namespace nccl_tests
