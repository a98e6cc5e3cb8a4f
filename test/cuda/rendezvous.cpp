#include "rendezvous_ranks.hpp"
#include <ashlar/cuda/rendezvous.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace rendezvous_tests {

TEST_CASE("rendezvous: all get the root's bytes, and everybody's") {
  for (char const* address : {"127.0.0.1", "::1", "localhost"})
    for (int const size : {1, 2, 5}) {
      CAPTURE(address);
      CAPTURE(size);
      auto const said = on_ranks(size, {.address = address}, [size](ashlar::cuda::rendezvous& r) {
        auto const id = r.broadcast(r.rank() == 0 ? bytes_of("the id") : bytes_of("not mine"));
        require_that(text_in(id) == "the id");
        require_that(r.broadcast({}).empty());
        for (int round = 0; round < 3; ++round) {
          // of different lengths, one of them empty
          auto const mine = std::string(static_cast<std::size_t>(r.rank() * round), 'a');
          auto const all = r.gather_all(bytes_of(mine));
          require_that(all.size() == static_cast<std::size_t>(size));
          for (std::size_t i = 0; i < all.size(); ++i)
            require_that(text_in(all[i]) == std::string(i * static_cast<std::size_t>(round), 'a'));
        }
      });
      for (std::string const& s : said) CHECK(s == "");
    }
}

TEST_CASE("rendezvous: the largest message passes, a larger one is refused at once") {
  auto const said = on_ranks(3, {}, [](ashlar::cuda::rendezvous& r) {
    std::vector<std::byte> const most(ashlar::cuda::rendezvous::most_bytes, std::byte{7});
    for (auto const& b : r.gather_all(most)) require_that(b == most);
    require_that(r.broadcast(most) == most);
    r.broadcast(std::vector<std::byte>(most.size() + 1));
  });
  for (std::string const& s : said) CHECK(has(s, "hands over 1048577 bytes, more than 1048576"));
}

TEST_CASE("rendezvous: a rank that never comes is named on all ranks") {
  auto const said =
      on_ranks(5, {.absent = {2, 4}, .deadline = short_time}, [](ashlar::cuda::rendezvous&) {});
  for (int const r : {0, 1, 3}) CHECK(said[at(r)] == "nobody came as rank 2, 4 within 500 ms");
}

TEST_CASE("rendezvous: no rank 0") {
  auto const said =
      on_ranks(2, {.absent = {0}, .deadline = short_time}, [](ashlar::cuda::rendezvous&) {});
  CHECK(has(said[1], "rank 1 has not met rank 0 at 127.0.0.1, port"));
  CHECK(has(said[1], "within 500 ms: Connection refused"));
}

TEST_CASE("rendezvous: a port in use") {
  ashlar::cuda::tcp_socket const other = ashlar::cuda::listen_on("127.0.0.1", 0);
  int const port = ashlar::cuda::port_of(other);
  CHECK_THROWS_WITH_AS(
      ashlar::cuda::rendezvous({0, 2, 0, "127.0.0.1", port}, short_time),
      ("rank 0 cannot listen at port " + std::to_string(port) + ": Address already in use").c_str(),
      ashlar::cuda::rendezvous_failed);
  // The process that listens there takes connections but never answers.
  CHECK_THROWS_WITH_AS(ashlar::cuda::rendezvous({1, 2, 0, "127.0.0.1", port}, short_time),
                       "rank 0 does not answer in time", ashlar::cuda::rendezvous_failed);
}

TEST_CASE("rendezvous: an address that cannot be resolved") {
  CHECK_THROWS_WITH_AS(ashlar::cuda::rendezvous({1, 2, 0, "no such machine", 29500}, short_time),
                       doctest::Contains("at no such machine, port 29500 within 500 ms: it cannot be "
                                         "resolved: "),
                       ashlar::cuda::rendezvous_failed);
}

TEST_CASE("rendezvous: no rank of that number") {
  for (int const rank : {-1, 2})
    CHECK_THROWS_AS(ashlar::cuda::rendezvous({rank, 2, 0, "127.0.0.1", 0}, short_time),
                    std::invalid_argument);
}

TEST_CASE("rendezvous: two processes with one rank") {
  auto const said = on_ranks(3, {.renamed = {{2, 1}}}, [](ashlar::cuda::rendezvous&) {});
  for (std::string const& s : said)
    CHECK(s == "two processes came as rank 1, from 127.0.0.1 and from 127.0.0.1");
}

TEST_CASE("rendezvous: another world size") {
  auto const said = on_ranks(2, {.sizes = {{1, 4}}}, [](ashlar::cuda::rendezvous&) {});
  for (std::string const& s : said)
    CHECK(s == "rank 1 at 127.0.0.1 was started as one of 4 processes, rank 0 as one of 2");
}

TEST_CASE("rendezvous: who goes away in between is named on all ranks") {
  auto const said = on_ranks(4, {}, [](ashlar::cuda::rendezvous& r) {
    if (r.rank() == 2) return;
    r.gather_all(bytes_of("mine"));
  });
  CHECK(said[2] == "");
  for (int const r : {0, 1, 3}) CHECK(said[at(r)] == "rank 2 has gone away");
}

TEST_CASE("rendezvous: rank 0 goes away") {
  auto const said = on_ranks(3, {}, [](ashlar::cuda::rendezvous& r) {
    if (r.rank() != 0) r.broadcast({});
  });
  for (int const r : {1, 2}) CHECK(said[at(r)] == "rank 0 has gone away");
}

TEST_CASE("rendezvous: who does not take part is named when the deadline has passed") {
  gate over;
  auto const said = on_ranks(3, {.deadline = short_time}, [&](ashlar::cuda::rendezvous& r) {
    if (r.rank() == 1) return over.wait();
    // Open it in any case: rank 1 waits for it.
    auto const opened = opener(over, r.rank() == 0);
    r.gather_all(bytes_of("mine"));
  });
  for (int const r : {0, 2}) CHECK(said[at(r)] == "nothing came from rank 1 within 500 ms");
}

TEST_CASE("rendezvous: different exchanges at one point") {
  auto const said = on_ranks(2, {.deadline = short_time}, [](ashlar::cuda::rendezvous& r) {
    if (r.rank() == 0)
      r.broadcast(bytes_of("id"));
    else
      r.gather_all(bytes_of("hash"));
  });
  CHECK(said[1] == "rank 0 exchanges something else at this point");
}

}  // namespace rendezvous_tests
