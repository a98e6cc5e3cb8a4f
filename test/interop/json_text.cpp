// Texts of JSON, and where in them something is.
#include <ashlar/interop/json_reader.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace ashlar;

TEST_CASE("every value has its place") {
  json_text const source =
      parse_json("{\"a\": [1,\n  {\"b\\\"\": \"two words\", \"c\": -3.5e2}],\n \"d\": {}}", "mine.json");
  nlohmann::json const& a = source.root()["a"];
  CHECK(source.place_of(source.root()) == "'mine.json', line 1, column 1");
  CHECK(source.place_of(a) == "'mine.json', line 1, column 7");
  CHECK(source.place_of(a[0]) == "'mine.json', line 1, column 8");
  CHECK(source.place_of(a[1]) == "'mine.json', line 2, column 3");
  CHECK(source.place_of(a[1]["b\""]) == "'mine.json', line 2, column 11");
  CHECK(source.place_of(a[1]["c"]) == "'mine.json', line 2, column 29");
  CHECK(source.place_of(source.root()["d"]) == "'mine.json', line 3, column 7");
  nlohmann::json const other = 1;
  CHECK(source.place_of(other) == "'mine.json'");
}

TEST_CASE("a text without a name has places alone") {
  json_text const source = parse_json("[true]");
  CHECK(source.place_of(source.root()[0]) == "line 1, column 2");
  CHECK(source.place_of(nlohmann::json()) == "the text");
  refused_text([] { parse_json("[1,"); }, "line 1, column 4");
}

TEST_CASE("what is no JSON is refused, with the place") {
  auto const refused = [](std::string const& text, std::string const& why) {
    refused_text([&] { parse_json(text, "mine.json"); }, "'mine.json', " + why);
  };
  refused("{\"a\":\n }", "line 2, column 2: syntax error");
  refused("{\"a\": 1,\n \"a\": 2}", "line 2, column 2: \"a\" is there twice");
  refused("[1, 1e999]", "line 1, column 5: the number is too large");
  refused(std::string("{}\n\0 junk", 9), "line 2, column 1: a byte of zero is no JSON");
  refused(std::string(70, '['), "line 1, column 66: lists and objects must not be within each other 65");
  refused("\"\xFF\"", "line 1, column ");
}

TEST_CASE("what is asked of a value, it must be") {
  json_text const source = parse_json(R"({"n": 1.5, "far": 18446744073709551615, "t": "x", "l": []})");
  json_reader const read(source);
  nlohmann::json const& all = source.root();
  CHECK(read.number(read.at(all, "n"), "n", 0, 2) == 1.5);
  CHECK(read.text(read.at(all, "t"), "t") == "x");
  refused_text([&] { read.at(all, "m"); }, "line 1, column 1: lacks \"m\"");
  refused_text([&] { read.at(all["l"], "m"); }, "lacks \"m\"");
  refused_text([&] { read.number(all["n"], "n", 2, 1e18); }, "\"n\" must be a number from 2 to 1e+18");
  refused_text([&] { read.number(all["n"], "n", -1e12, 0.001); },
               "\"n\" must be a number from -1000000000000 to 0.001");
  refused_text([&] { read.number(all["t"], "t", 1e-5, 1e9); }, "from 1e-05 to 1000000000");
  refused_text([&] { read.number(all["t"], "t", 0, 2); }, "\"t\" must be a number from 0 to 2");
  refused_text([&] { read.whole(all["n"], "n", 0, 2); }, "\"n\" must be a whole number from 0 to 2");
  refused_text([&] { read.whole(all["far"], "far", -1, 2); }, "\"far\" must be a whole number");
  refused_text([&] { read.text(all["l"], "l"); }, "\"l\" must be a text");
  refused_text([&] { read.list(all["t"], "t"); }, "\"t\" must be a list");
  refused_text([&] { read.object(all["l"], "l"); }, "line 1, column 56: \"l\" must be an object");
}
