// The sizes that the command line gives beside a file of a framework.
#pragma once

#include "options/number_option.hpp"
#include "predict/framework_files.hpp"

#include <fmt/core.h>

#include <string>

namespace tool {

class given_sizes {
 public:
  // Refers to the options.
  explicit given_sizes(option_words const& given) : given_(given) {}

  bool has(char const* option) const { return given_.count(option) > 0; }
  // Throws usage_error if it is no size.
  long long number(char const* option) const {
    return number_within<long long>(fmt::format("--{}", option), given_.at(option), 1,
                                    largest_framework_size);
  }

 private:
  option_words const& given_;
};

}  // namespace tool
