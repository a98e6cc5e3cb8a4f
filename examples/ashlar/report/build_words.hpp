// What this tool is made of.
#pragma once

#include <string>

namespace tool {

// The commit of the sources, "with changes" where they differ from it; empty where none is known.
char const* commit();

// Version and commit, compiler, backends: a line each, without an end of the last.
std::string build_words();

}  // namespace tool
