// Any file with communication is read and proved, or refused.
#include "looped_file.hpp"
#include "random.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/interop/pytorch_comms.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace ashlar;

TEST_CASE("any change of a good file is read or refused, never worse") {
  std::vector<std::string> cells;
  std::string cell;
  for (char c : looped_file)
    if (c == ',' || c == '\n') {
      cells.push_back(cell);
      cell.clear();
    } else {
      cell += c;
    }
  FOR_SEEDS(400) {
    std::string text = looped_file;
    for (int n = d.between(1, 3); n > 0 && !text.empty(); --n) {
      auto const at = static_cast<std::size_t>(d.between(0, static_cast<int>(text.size()) - 1));
      auto const some = static_cast<std::size_t>(d.between(0, static_cast<int>(cells.size()) - 1));
      switch (d.between(0, 3)) {
        case 0:
          text[at] = static_cast<char>(d.between(0, 255));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(d.between(1, 12)));
          break;
        case 2:
          if (std::size_t const comma = text.find(',', at); comma != std::string::npos)
            text.insert(comma, "," + cells[some]);
          break;
        default:
          if (std::size_t const found = text.find(cells[some]); found != std::string::npos)
            text.replace(found, cells[some].size(), cells[static_cast<std::size_t>(d.between(0, 20))]);
      }
    }
    csv_program const read = read_pytorch_comms(text);
    CHECK(read.value.has_value() == read.problems.empty());
    if (read.value) CHECK(check(*read.value).ok());
  }
}

TEST_CASE("random bytes are refused") {
  FOR_SEEDS(200) {
    std::string text;
    for (int n = d.between(1, 200); n > 0; --n)
      text += d.percent(70) ? "0123FIBWRSEND_RECV,;()\n"[d.between(0, 22)]
                            : static_cast<char>(d.between(0, 255));
    CHECK(!read_pytorch_comms(text).value);
  }
}
