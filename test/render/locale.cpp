// Output does not depend on the program's locale, in which a number may have a comma for a point, and
// points between its thousands.
#include "shapes.hpp"
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/named_curves.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/svg_frame.hpp>
#include <ashlar/render/text.hpp>

#include <doctest/doctest.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

using namespace shapes;

namespace {

struct german_numbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// A locale of streams until it goes; of the C library, too, if the system can make one.
class german_locale {
 public:
  german_locale()
      : before_(std::locale::global(std::locale(std::locale::classic(), new german_numbers))) {
    std::filesystem::path const folder = std::filesystem::temp_directory_path() / "ashlar_locales";
    std::filesystem::create_directories(folder);
    std::string const make = "test -d '" + folder.string()
                             + "/de_DE.UTF-8' || localedef -i de_DE -f UTF-8 '" + folder.string()
                             + "/de_DE.UTF-8' >/dev/null 2>&1";
    if (std::system(make.c_str()) == 0 && setenv("LOCPATH", folder.c_str(), 1) == 0)
      is_of_c_ = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
    if (!is_of_c_) MESSAGE("no locale of the C library has a comma: streams alone have one");
  }
  ~german_locale() {
    std::locale::global(before_);
    std::setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
  }
  german_locale(german_locale const&) = delete;
  german_locale& operator=(german_locale const&) = delete;

  bool is_of_c() const { return is_of_c_; }

 private:
  std::locale before_;
  bool is_of_c_ = false;
};

// Everything that has numbers in it.
std::vector<std::string> all_written() {
  schedule s = shapes::one_f_one_b(3, 7);
  s = retime(s, costs(stage_cost{1'234, 2'345, 3'456}, 1'111));
  render_detail::svg_frame frame;
  frame.unit = {1'000, "s"};
  time_scale const scale{.ticks_per_unit = 1'000, .unit = "ms"};
  return {svg(s, {.title = "s", .transfers = true, .memory = true, .unit = {1'000, "ms"}}),
          html(s, {.title = "s", .name = "s", .unit = {1'000, "ms"}}),
          text(s),
          chrome_trace(s, 0.3),
          svg({{.name = "c", .points = {{0.25, 1234.5}, {2.5, 0.001}}}}, {.name = "x"},
              {.name = "y", .percent = true}, "title"),
          frame.number(1'234'567),
          scale.words(1'234'567),
          pytorch_csv(s, csv_dialect::detect),
          explain({.broken = rule::parameter_is_at_most,
                   .number = 1'234,
                   .which = parameter::micro_batch_count,
                   .given = 123'456})};
}

TEST_CASE("numbers are written with a point and without marks of thousands, whatever the locale") {
  std::vector<std::string> const expected = all_written();
  german_locale const german;
  // The locale is as wanted.
  std::ostringstream stream;
  stream << 1234.5;
  CHECK(stream.str() == "1.234,5");
  char printed[8] = {};
  std::snprintf(printed, sizeof printed, "%.1f", 0.5);
  CHECK(std::string(printed) == (german.is_of_c() ? "0,5" : "0.5"));
  std::vector<std::string> const written = all_written();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(written[i] == expected[i]);
  }
}

TEST_CASE("times are read with a point, whatever the locale") {
  german_locale const german;
  CHECK(scale_of({read_duration("x", "1.5ms", 0)}).ticks_per_unit == 2);
}

}  // namespace
