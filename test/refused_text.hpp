// Checks that a text from outside is refused, and in which words.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <doctest/doctest.h>

#include <string>

// `read()` must throw an input_error that contains `why`.
template <class Read>
void refused_text(Read read, std::string const& why) {
  CAPTURE(why);
  std::string said = "nothing was wrong";
  try {
    read();
  } catch (ashlar::input_error const& e) {
    said = e.what();
  }
  CAPTURE(said);
  CHECK(said.find(why) != std::string::npos);
}
