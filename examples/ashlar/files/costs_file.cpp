#include "files/costs_file.hpp"

#include "files/json_files.hpp"

namespace tool {

costs_file read_costs(std::string const& path) {
  return {ashlar::read_json_costs(read_json_text(path)), path};
}

}  // namespace tool
