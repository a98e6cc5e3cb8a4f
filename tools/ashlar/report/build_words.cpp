#include "report/build_words.hpp"

#include <fmt/core.h>

#include <string_view>

namespace tool {

std::string build_words() {
#if defined(__clang__)
  std::string const compiler =
      fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  std::string const compiler = fmt::format("g++ {}", __VERSION__);
#else
  std::string const compiler = "an unknown compiler";
#endif
  std::string_view const of = commit();
  return fmt::format("ashlar {}{}\ncompiled by {}\nbackends: {}", ASHLAR_VERSION,
                     of.empty() ? "" : fmt::format(", commit {}", of), compiler, ASHLAR_BACKENDS);
}

}  // namespace tool
