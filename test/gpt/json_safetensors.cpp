// Headers of the safetensors format, there and back, and texts that are none.
#include "gpt/safetensors.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

namespace {

gpt::stored_tensors two_tensors() {
  return {{"a", {"F32", {2, 3}, 0, 24}}, {"b", {"F64", {1, 1}, 24, 8}}};
}

std::string error_of_header(std::string const& text, std::size_t size) {
  try {
    gpt::read_safetensors_header(text, size);
  } catch (std::runtime_error const& e) {
    return e.what();
  }
  return {};
}

std::array<std::byte, 8> first_of(std::string const& file) {
  std::array<std::byte, 8> first{};
  std::memcpy(first.data(), file.data(), first.size());
  return first;
}

}  // namespace

TEST_CASE("safetensors: a header comes back as it was, and what follows is aligned") {
  std::string const file = gpt::safetensors_header(two_tensors());
  CHECK(file.size() % 8 == 0);
  std::size_t const length = gpt::safetensors_header_length(first_of(file), file.size() + 32);
  CHECK(length == file.size() - 8);
  CHECK(gpt::read_safetensors_header(file.substr(8), 32) == two_tensors());
  std::string const with_words = R"({"__metadata__":{"format":"pt"},"a":)"
                                 R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  CHECK(gpt::read_safetensors_header(with_words, 4).size() == 1);
}

TEST_CASE("safetensors: what is no header is refused") {
  std::string const file = gpt::safetensors_header(two_tensors()), text = file.substr(8);
  CHECK_THROWS_AS(gpt::safetensors_header_length(first_of(file), file.size() - 1), std::runtime_error);
  CHECK_THROWS_AS(gpt::safetensors_header_length(first_of(file), 3), std::runtime_error);
  CHECK(error_of_header(text.substr(1), 32) == "its header is damaged");
  CHECK(error_of_header("[]", 32) != "");
  CHECK(error_of_header(text, 31) == "its tensors have 32 bytes, but there are 31");
  gpt::stored_tensors tensors = two_tensors();
  tensors["a"].shape = {2, 2};
  CHECK(error_of_header(gpt::safetensors_header(tensors).substr(8), 32)
        == "tensor 'a' has another size than its shape");
  // 2^64 bytes are not none.
  std::string const far_too_large = R"({"a":{"dtype":"F32","shape":[4611686018427387904],)"
                                    R"("data_offsets":[0,0]}})";
  CHECK(error_of_header(far_too_large, 0) == "tensor 'a' has another size than its shape");
  for (char const* no_size : {"-1", "1e300", "1.0", "\"1\"", "[1]", "null"}) {
    std::string const said = no_size;
    CHECK(error_of_header(R"({"a":{"dtype":"F32","shape":[)" + said + R"(],"data_offsets":[0,4]}})", 4)
          == "its header is damaged");
    CHECK(error_of_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,)" + said + "]}}", 4)
          == "its header is damaged");
  }
  tensors = two_tensors();
  tensors["b"].begin = 20;
  CHECK(error_of_header(gpt::safetensors_header(tensors).substr(8), 28)
        == "tensor 'b' does not follow the one before");
}
