// The report of a checking program: the figures that differ, and how many of all.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace systems {

class report {
 public:
  // Counts one figure, and prints it if it is not the expected one.
  template <class T, class U>
  void same(std::string const& what, T const& computed, U const& expected) {
    count(computed == expected, what, computed, expected);
  }
  // Requires a distance of at most this from the expected figure, as a share of it or in its unit.
  void near(std::string const& what, double computed, double expected, double relative,
            double absolute = 0) {
    double const distance = std::abs(computed - expected);
    count(distance <= relative * std::abs(expected) || distance <= absolute, what, computed, expected);
  }
  void holds(std::string const& what, bool does) { count(does, what, "not so", "so"); }

  std::size_t wrong() const { return wrong_; }
  // Prints the last line; returns the program's exit code.
  int finish() const {
    std::cout << ok_ << " ok, " << wrong_ << " wrong of " << ok_ + wrong_ << '\n';
    return wrong_ == 0 && ok_ > 0 ? 0 : 1;
  }

 private:
  template <class T, class U>
  void count(bool right, std::string const& what, T const& computed, U const& expected) {
    right ? ++ok_ : ++wrong_;
    if (right) return;
    std::ostringstream line;  // of all digits that tell two figures apart
    line.precision(17);
    line << what << ": computed " << computed << ", expected " << expected << '\n';
    std::cout << line.str();
  }

  std::size_t ok_ = 0, wrong_ = 0;
};

inline nlohmann::json read_json(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  try {
    return nlohmann::json::parse(in);
  } catch (nlohmann::json::exception const& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
}

// The main() of a checking program, `systems_NAME GOLD.json [DATA_DIR]`: body(gold, data folder,
// report&).
template <class Body>
int run(int argc, char** argv, Body body) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " GOLD.json [DATA_DIR]\n";
    return 2;
  }
  try {
    report r;
    body(read_json(argv[1]), std::string(argc == 3 ? argv[2] : ""), r);
    return r.finish();
  } catch (std::exception const& e) {
    std::cerr << argv[0] << ": " << e.what() << '\n';
    return 2;
  }
}

}  // namespace systems
