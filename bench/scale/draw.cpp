// Draws curves: `bench_scale_draw TITLE X Y`, with lines "series<TAB>x<TAB>y" on standard input, the
// picture on standard output. An axis is logarithmic if its name begins with log:, percent with %:.
#include <ashlar/render/named_curves.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

ashlar::curve_axis axis_of(std::string_view words) {
  ashlar::curve_axis axis;
  axis.logarithmic = words.starts_with("log:");
  if (axis.logarithmic) words.remove_prefix(4);
  axis.percent = words.starts_with("%:");
  if (axis.percent) words.remove_prefix(2);
  axis.name = words;
  return axis;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bench_scale_draw TITLE X Y < points\n", stderr);
    return 2;
  }
  std::vector<ashlar::named_curve> curves;
  std::string line;
  while (std::getline(std::cin, line)) {
    auto const first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) return 2;
    std::string const name = line.substr(0, first);
    if (curves.empty() || curves.back().name != name) curves.push_back({name, {}});
    curves.back().points.emplace_back(std::atof(line.c_str() + first), std::atof(line.c_str() + second));
  }
  std::fputs(ashlar::svg(curves, axis_of(argv[2]), axis_of(argv[3]), argv[1]).c_str(), stdout);
}
