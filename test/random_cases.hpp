// How many of many random cases to run. A sanitizer judges the code, which the first cases run through;
// all of them, and what they come to, are for the tests without one.
#pragma once

constexpr int random_cases(int all) {
#if defined(ASHLAR_SANITIZED)
  return all / 4;
#else
  return all;
#endif
}
