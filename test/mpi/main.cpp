// Every process runs the same cases; the launcher's exit status is not zero if any check of any process
// fails.
#define DOCTEST_CONFIG_IMPLEMENT
#include <ashlar/mpi/session.hpp>

#include <doctest/doctest.h>

int main(int argc, char** argv) {
  return ashlar::mpi::launch(argc, argv, [&] { return doctest::Context(argc, argv).run(); });
}
