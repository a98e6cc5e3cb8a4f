// A number and its noun: 1 device, 2 micro-batches.
#pragma once

#include <string>
#include <string_view>

namespace tool {

inline std::string counted(long long n, std::string_view noun) {
  std::string text = std::to_string(n) + " " + std::string(noun);
  if (n != 1) text += noun.ends_with("ch") || noun.ends_with("ss") ? "es" : "s";
  return text;
}

}  // namespace tool
