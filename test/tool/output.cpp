// Places where the tool writes: refused before the work begins, whole or not at all.
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

// Files of a folder.
std::ptrdiff_t files_in(fs::path const& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("an output that cannot be written is refused before the work begins") {
  std::string const tradeoff =
      "tradeoff --as json --model " ASHLAR_TEST_DATA "/tradeoff/model.json --cluster " ASHLAR_TEST_DATA
      "/tradeoff/cluster.json -o /no/such/folder/file";
  all_refused({{"emit 1f1b --as json -o /", "cannot write '/': Is a directory"},
               {"emit 1f1b --as json -o /no/such/folder/file", "cannot write"},
               {"emit 1f1b --as json -o ''", "cannot write"},
               {"emit 1f1b --as json -o new/", "cannot write"},
               {"emit 1f1b --as json -o /dev/full", "cannot write"},
               {"emit v-half -p 64 -m 1000 --as trace -o /no/such/folder/file", "cannot write"},
               {"compare -p 64 -m 512 --as csv -o /no/such/folder/file", "cannot write"},
               {"search --budget 1000000000 --as svg -o /no/such/folder/file", "cannot write"},
               {"frontier --budget 1000000000 -o /no/such/folder/file", "cannot write"},
               {"simulate v-half -p 64 -m 1000 -o /no/such/folder/file", "cannot write"},
               {"train --trace /no/such/folder/file", "cannot write"},
               {tradeoff, "cannot write"}});
}

TEST_CASE("a file appears whole, in place of the one before, or not at all") {
  fs::path const folder = scratch() / "outputs";
  fs::create_directories(folder);
  fs::path const file = folder / "schedule.csv", link = folder / "link";
  std::string const line = "emit 1f1b --as pytorch -o ";
  CHECK(run_tool("emit 1f1b --unknown --as pytorch -o " + file.string()).code == 2);
  CHECK(run_tool("emit bitpipe -p 3 --as pytorch -o " + file.string()).code == 2);
  CHECK(files_in(folder) == 0);

  CHECK(run_tool(line + file.string()).code == 0);
  CHECK(files_in(folder) == 1);
  std::string const first = content(file);
  struct stat is {};
  REQUIRE(stat(file.c_str(), &is) == 0);
  mode_t const mask = umask(0);
  umask(mask);
  CHECK((is.st_mode & 07777) == (0666 & ~mask));

  // A limit on file sizes, in blocks, lets the work be done and its result not be written.
  std::string const large = "emit v-half -p 8 -m 64 --as json -o " + file.string();
  CHECK(std::system(("trap '' XFSZ; ulimit -f 1; '" ASHLAR_TOOL "' " + large + " 2>/dev/null").c_str())
        != 0);
  CHECK(content(file) == first);
  CHECK(files_in(folder) == 1);
  // If it is not ignored, that limit is a signal in the middle of a write: nothing of it is left.
  CHECK(std::system(("ulimit -c 0; ulimit -f 1; '" ASHLAR_TOOL "' " + large + " 2>/dev/null").c_str())
        != 0);
  CHECK(content(file) == first);
  CHECK(files_in(folder) == 1);
  // A signal comes before it. Ctrl-C is one that a search answers: with the best so far.
  auto const status_after = [&](std::string const& seconds, std::string const& signal) {
    return WEXITSTATUS(std::system(("timeout -s " + signal + " --preserve-status " + seconds
                                    + " '" ASHLAR_TOOL
                                      "' search -p 8 -m 32 --memory 0.5 --backward-input 3 --transfer 1 "
                                      "--budget 1000000000 -o "
                                    + file.string() + " >/dev/null")
                                       .c_str()));
  };
  CHECK(status_after("0.5", "TERM") == 143);
  CHECK(content(file) == first);
  CHECK(files_in(folder) == 1);
  for (char const* seconds : {"0.5", "2", "8"}) {  // a slow machine may not have begun
    CHECK(status_after(seconds, "INT") == 130);
    if (content(file) != first) break;
  }
  CHECK(content(file) != first);
  CHECK(files_in(folder) == 1);

  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("schedule.csv", link);
  CHECK(run_tool("emit gpipe --as pytorch -o " + link.string()).code == 0);
  CHECK(fs::is_symlink(link));
  CHECK(content(file) == run_tool("emit gpipe --as pytorch").out);
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("devices and pipes are written as they are") {
  std::string const plain = run_tool("emit 1f1b --as pytorch").out;
  CHECK(run_tool("emit 1f1b --as pytorch -o /dev/null").code == 0);
  CHECK(run_tool("emit 1f1b --as pytorch -o /dev/stdout").out == plain);
  std::string const fifo = (scratch() / "fifo").string(), copy = (scratch() / "copy").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::string const reader = "cat '" + fifo + "' >'" + copy + "' & ";
  CHECK(std::system(
            (reader + "timeout 10 '" ASHLAR_TOOL "' emit 1f1b --as pytorch -o '" + fifo + "'; wait")
                .c_str())
        == 0);
  CHECK(content(copy) == plain);
}

TEST_CASE("a full standard output is an error, even if standard error is full as well") {
  for (std::string const line : {"list", "emit 1f1b --as json", "--help", "--version", "show --help"}) {
    CAPTURE(line);
    CHECK(run_tool(line + " 3>/dev/full 1>&3 2>/dev/null #").code == 2);
    CHECK(run_tool(line + " 3>/dev/full 1>&3 2>&1 #").code == 2);
  }
}

TEST_CASE("a byte order mark of UTF-8 is skipped") {
  CHECK(run_tool("check "
                 + scratch_file("mark.csv",
                                "\xEF\xBB\xBF"
                                "0F0,0B0\n"))
            .code
        == 0);
  CHECK(run_tool("show 1f1b -p 1 --per-stage "
                 + scratch_file("mark.txt",
                                "\xEF\xBB\xBF"
                                "1,2,3\n"))
            .code
        == 0);
}
