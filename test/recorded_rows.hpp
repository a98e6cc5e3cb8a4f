// Rows of numbers that a test computes, beside those that it computed before, in a file of test/data.
// With ASHLAR_RECORD in the environment, the file is written: for changes that are meant to change them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace recorded_rows {

using row = std::vector<double>;
using table = std::vector<row>;

// One number for a list of many.
class tag {
 public:
  template <class Number>
  void add(Number number) {
    sum_ = (sum_ * 31 + static_cast<std::int64_t>(number) % size + size) % size;
  }
  template <class First, class... Others>
  void add(First first, Others... others) {
    add(first);
    add(others...);
  }
  std::int64_t sum() const { return sum_; }

 private:
  static constexpr std::int64_t size = 1'000'003;
  std::int64_t sum_ = 1;
};

// Sums of the numbers of many cases, each with a weight of its own and on a scale that keeps small ones
// in sight: a change of one number of one case changes a sum. A case has tables of numbers, the same
// ones in each, with rows of one length in a table.
class sums {
 public:
  void add(std::vector<table> const& of_case) {
    weight_ += 0.001;
    all_.resize(of_case.size());
    for (std::size_t t = 0; t < of_case.size(); ++t)
      for (std::size_t r = 0; r < of_case[t].size(); ++r) {
        row const& numbers = of_case[t][r];
        all_[t].resize(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
          all_[t][i] += weight_ * static_cast<double>(r + 1) * std::asinh(1e9 * numbers[i]);
      }
  }
  // One row.
  row take() {
    row made;
    for (row const& each : all_) made.insert(made.end(), each.begin(), each.end());
    all_.clear();
    return made;
  }

 private:
  table all_;
  double weight_ = 1;
};

template <class... Numbers>
void put(row& r, Numbers... each) {
  (r.push_back(static_cast<double>(each)), ...);
}

inline table read(std::string const& path) {
  table rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    rows.emplace_back();
    std::istringstream words(line);
    for (double each = 0; words >> each;) rows.back().push_back(each);
  }
  return rows;
}

// Compilers round sums differently.
inline bool is_same(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::fmax(std::fabs(a), std::fabs(b)) + 1e-15;
}

// Checks the first rows of the file, or writes it.
inline void must_be_as_before(std::string const& name, table const& rows) {
  std::string const path = ASHLAR_TEST_DATA + ("/" + name);
  if (std::getenv("ASHLAR_RECORD") != nullptr) {
    std::ofstream file(path);
    for (row const& one : rows) {
      for (std::size_t i = 0; i < one.size(); ++i)
        file << (i == 0 ? "" : " ") << std::setprecision(12) << one[i];
      file << '\n';
    }
  }
  table const before = read(path);
  REQUIRE_FALSE(rows.empty());
  REQUIRE(before.size() >= rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    CAPTURE(r);
    REQUIRE(before[r].size() == rows[r].size());
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      CAPTURE(i);
      CAPTURE(before[r][i]);
      CHECK(is_same(rows[r][i], before[r][i]));
    }
  }
}

}  // namespace recorded_rows
