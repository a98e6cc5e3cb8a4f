// Texts that are read, that are left out, and that are errors.
#include "gpt/corpus.hpp"

#include "gpt/batch.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// A folder of its own, gone afterwards.
class temporary_folder {
 public:
  temporary_folder() {
    do {
      path_ = fs::temp_directory_path() / ("gpt-corpus-" + std::to_string(std::random_device{}()));
    } while (!fs::create_directory(path_));
  }
  ~temporary_folder() { fs::remove_all(path_); }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;

  fs::path write(std::string const& name, std::string_view text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  fs::path const& path() const { return path_; }

 private:
  fs::path path_;
};

std::string text_of(gpt::corpus const& corpus) { return {corpus.all().begin(), corpus.all().end()}; }

std::vector<gpt::token> tokens(std::string_view text) { return {text.begin(), text.end()}; }

std::string error_of(fs::path const& path) {
  try {
    gpt::read_corpus(path);
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("corpus: a file is read as it is") {
  temporary_folder const folder;
  CHECK(text_of(gpt::read_corpus(folder.write("a", "one\r\ntwo\xff\n"))) == "one\r\ntwo\xff\n");
}

TEST_CASE("corpus: a folder is its text files in the order of their paths") {
  temporary_folder const folder;
  folder.write("b.txt", "2");
  folder.write("a.txt", "1");
  folder.write("c/d.txt", "3");
  folder.write("c/empty.txt", "");
  folder.write(".git/x", "hidden");
  folder.write(".hidden", "hidden");
  folder.write("build/x", "built");
  folder.write("build-debug/x", "built");
  folder.write("saved/step-00000001.checkpoint/manifest.json", "{}");
  folder.write("saved/step-00000002.checkpoint.partial/manifest.json", "{}");
  folder.write("binary", std::string_view("a\0b", 3));
  folder.write("large", std::string(100, 'x'));
  CHECK(text_of(gpt::read_corpus(folder.path(), {.largest_file = 50})) == "123");
  CHECK(text_of(gpt::read_corpus(folder.path(), {.largest_file = 50, .most = 2})) == "12");
}

TEST_CASE("corpus: what cannot be read in a folder is passed over and counted") {
  temporary_folder const folder;
  folder.write("a.txt", "1");
  folder.write("b.txt", "2");
  folder.write("c/d.txt", "3");
  CHECK(gpt::read_corpus(folder.path()).unreadable() == 0);
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder.path() / "b.txt", fs::perms::none);
  fs::permissions(folder.path() / "c", fs::perms::none);
  uid_t const self = geteuid();
  uid_t const nobody = 65534;
  if (self == 0) REQUIRE(seteuid(nobody) == 0);  // root reads everything
  gpt::corpus const corpus = gpt::read_corpus(folder.path());
  if (self == 0) REQUIRE(seteuid(self) == 0);
  CHECK(text_of(corpus) == "1");
  CHECK(corpus.unreadable() == 2);
  fs::permissions(folder.path() / "c", fs::perms::owner_all);
}

TEST_CASE("corpus: errors say what is wrong") {
  temporary_folder const folder;
  auto const name = [&](char const* file) { return (folder.path() / file).string(); };
  CHECK(error_of(folder.path() / "none") == "there is no file or folder " + name("none"));
  CHECK(error_of(folder.path()) == "there are no text files in " + folder.path().string());
  CHECK(error_of(folder.write("empty", "")) == name("empty") + " is empty");
  CHECK(error_of(folder.write("binary", std::string_view("a\0", 2)))
        == name("binary") + " is not a text file: it has NUL bytes");
  CHECK(error_of("/dev/null") == "/dev/null is neither a file nor a folder");
}

TEST_CASE("corpus: the last tenth is for validation, and must hold a context") {
  gpt::corpus const corpus(tokens("0123456789012345678x"));
  CHECK(corpus.training().size() == 18);
  CHECK(corpus.validation().size() == 2);
  CHECK(corpus.validation().back() == 'x');
  CHECK_NOTHROW(corpus.require_context(1));
  CHECK_THROWS_WITH_AS(
      corpus.require_context(2),
      "a text of 20 bytes is too short: its last tenth must hold a context of 2 tokens, which takes "
      "at least 30 bytes",
      std::runtime_error);
}

TEST_CASE("corpus: entropy of known texts") {
  CHECK(gpt::unigram_entropy({}) == 0);
  CHECK(gpt::unigram_entropy(tokens("aaaa")) == 0);
  CHECK(gpt::unigram_entropy(tokens("abab")) == doctest::Approx(std::log(2)));
  CHECK(gpt::unigram_entropy(tokens("aabc")) == doctest::Approx(1.5 * std::log(2)));
  std::vector<gpt::token> every(256);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<gpt::token>(i);
  CHECK(gpt::unigram_entropy(every) == doctest::Approx(std::log(256)));
}

TEST_CASE("batch: targets follow inputs and steps differ") {
  std::vector<gpt::token> text(256);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<gpt::token>(i);
  gpt::config const shape{.context = 8, .sequences = 3, .micro_batches = 2};
  auto const batch = gpt::sample(text, shape, 1, 0);
  REQUIRE(batch.inputs.size() == 48);
  REQUIRE(batch.targets.size() == 48);
  for (std::size_t i = 0; i < 48; ++i) {
    CHECK(batch.targets[i] == batch.inputs[i] + 1);
    if (i % 8 != 0) CHECK(batch.inputs[i] == batch.targets[i - 1]);
  }
  CHECK(gpt::sample(text, shape, 1, 0).inputs == batch.inputs);
  CHECK(gpt::sample(text, shape, 1, 1).inputs != batch.inputs);
  CHECK(gpt::sample(text, shape, 2, 0).inputs != batch.inputs);
  // The shortest text has exactly one passage.
  CHECK(gpt::sample(std::span<gpt::token const>(text).first(9), shape, 1, 0).inputs.front() == 0);
  CHECK_THROWS_WITH_AS(gpt::sample(std::span<gpt::token const>(text).first(8), shape, 1, 0),
                       "a text of 8 bytes is too short: a context of 8 tokens needs at least 9",
                       std::runtime_error);
}
