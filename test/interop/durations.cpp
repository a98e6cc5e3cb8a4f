// Numbers, times and passes in texts from outside.
#include <ashlar/interop/durations.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include <ashlar/interop/numbers.hpp>
#include <ashlar/interop/pass_token.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace ashlar;

TEST_CASE("times are whole or decimal, plain or with a unit") {
  auto const read = [](char const* text) { return read_duration("it", text, 0); };
  CHECK(read("3") == duration{.given_by = "it", .digits = 3});
  CHECK(read("12.5ms") == duration{.given_by = "it", .digits = 125, .decimals = 1, .unit = "ms"});
  CHECK(read("1.4e-02s") == duration{.given_by = "it", .digits = 14, .decimals = 3, .unit = "s"});
  CHECK(read("1.4e3") == duration{.given_by = "it", .digits = 1400});
  CHECK_FALSE(read("0.1234567890").is_rounded);
  duration const long_one = read("0.9999999996us");
  CHECK((long_one.is_rounded && long_one.digits == 1'000'000'000 && long_one.decimals == most_decimals));
  auto const refused = [](char const* text, std::string const& why, long long least = 0) {
    refused_text([&] { read_duration("--forward", text, least); }, "--forward must be " + why);
  };
  refused("0", "at least 1 and below 2^61, not 0", 1);
  refused("-1", "at least 0 and below 2^61, not -1");
  refused("", "at least 0 and below 2^61, not ''");
  refused("0ms", "a positive time like 3, 1.5, 12.5ms, 800us or 2s, not '0ms'", 1);
  for (char const* text : {"ms", ".5", "1.", "1.5h", "1e99999", "1e-", "1.5 ms", "1e40"})
    refused(text, "a time like 3, 1.5, 12.5ms, 800us or 2s, not '" + std::string(text) + "'");
}

TEST_CASE("ticks are so short that all times are whole, and no shorter") {
  auto const read = [](char const* text) { return read_duration("it", text, 0); };
  time_scale const scale = scale_of({read("12.5ms"), read("800us"), read("0")});
  CHECK(scale == time_scale{.ticks_per_unit = 10, .unit = "ms"});
  CHECK(ticks_of(read("12.5ms"), scale) == 125);
  CHECK(ticks_of(read("800us"), scale) == 8);
  CHECK(scale.number(125) == "12.5");
  CHECK(scale.words(125) == "12.5 ms");
  CHECK(scale.tick_ns() == 1e5);
  CHECK(time_scale{}.words(1) == "1 tick");
  CHECK(time_scale{}.words(2) == "2 ticks");
  CHECK(time_scale{.ticks_per_unit = 4}.words(6) == "1.5 ticks");
  CHECK(time_scale{.ticks_per_unit = 3}.number(1) == "0.333333333333333");
  refused_text([&] { scale_of({read("1ms"), read("2")}); }, "it has no unit, but other times have");
  time_scale const fine = scale_of({read("1s"), read("0.000000001ns")});
  refused_text([&] { ticks_of(read("1000s"), fine); },
               "it is out of the range of times that can be counted together");
  refused_text([&] { ticks_of(read("2"), scale); }, "it has no unit, but other times are in ms");
  refused_text([&] { ticks_of(read("2s"), {}); }, "it has a unit, but other times have none");
  refused_text([&] { ticks_of(read("1us"), scale); },
               "it is no whole number of ticks, of which 10 are 1 ms");
}

TEST_CASE("numbers are written in as few digits as tell them apart") {
  CHECK(number_words(0) == "0");
  CHECK(number_words(-2.5) == "-2.5");
  CHECK(number_words(0.0001) == "0.0001");
  CHECK(number_words(0.00001) == "1e-05");
  CHECK(number_words(1e15) == "1000000000000000");
  CHECK(number_words(1e16) == "1e+16");
  CHECK(number_words(0.1) == "0.1");
  CHECK(range_words(1, 1024) == "from 1 to 1024");
  CHECK(range_words(0.5, 1e9) == "from 0.5 to 1000000000");
  CHECK(number_within<int>("it", "7", 0, 9) == 7);
  refused_text([] { number_within<int>("it", "7x", 0, 9); }, "it must be from 0 to 9, not 7x");
  refused_text([] { number_within<double>("it", "inf", 0, 9); },
               "it must be a number from 0 to 9, not inf");
}

TEST_CASE("passes are written like 2F0") {
  CHECK(read_pass("12B3") == pass{pass_kind::backward, 12, 3});
  CHECK(read_pass("0R1") == pass{pass_kind::recompute, 0, 1});
  CHECK(read_pass("2W", true) == pass{pass_kind::backward_weight, 2, 0});
  for (char const* token : {"", "F0", "2", "2W", "2X0", "2F-1", "-2F0", "2F0 ", "2F99999999999"})
    CHECK_FALSE(read_pass(token));
}
