// Stands for ../train_cuda.cpp in the tool itself: the libraries for GPUs take long to load, so what
// trains on them is a program of its own beside it.
#include "train/train_cuda.hpp"

#include "command.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tool {

int train_on_cuda(train_options const&) {
  std::error_code error;
  auto const self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string const other = (self.parent_path() / "ashlar-cuda").string();
  if (error || ::access(other.c_str(), X_OK) != 0)
    throw usage_error(
        "--backend cuda: there is no ashlar-cuda beside this program: build the target "
        "ashlar_tool_cuda, which needs the CUDA toolkit and NCCL (Debian: nvidia-cuda-toolkit, "
        "libnccl-dev)");
  std::vector<char*> words;
  for (std::string& word : command_line) words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(stdout);
  execv(other.c_str(), words.data());
  throw usage_error(fmt::format("cannot run '{}': {}", other, std::strerror(errno)));
}

}  // namespace tool
