// The versions that this tool is built from.
#pragma once

#include <string>

namespace tool {

// The commit of the sources, "with changes" where they differ from it; empty where none is known.
char const* commit();

// Version and commit, compiler, backends: a line each, without a newline after the last.
std::string build_words();

}  // namespace tool
