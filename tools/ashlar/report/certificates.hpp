// The file of --certificate: claims of this tool, with the arguments by which another program checks
// them.
#pragma once

#include "command.hpp"
#include "files/files.hpp"
#include "options/durations.hpp"
#include <ashlar/interop/json_certificate.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/study/compare.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tool {

// Adds --certificate, a path; empty: no file is asked for.
void add_certificate_option(CLI::App& command, std::string& path);

// Certificates for one file. Nothing is kept if none is asked for.
class certificates {
 public:
  // Make it before the work, as an output.
  explicit certificates(std::string const& path);

  // A proved program, or the reason why it has no certificate.
  void add(ashlar::program const& p, std::string const& name);
  // A valid schedule and bounds; by default those of its own workload.
  void add(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
           std::vector<ashlar::claimed_bound> const& bounds);
  void add(ashlar::schedule const& s, std::string const& name, time_scale const& scale);
  // A schedule as it is compared; times of the model have this scale.
  void add(ashlar::comparison const& c, std::string const& name, time_scale const& model);
  // The schedule that was found for a layout, with the bound of the objective within its limit.
  void add(ashlar::searched_layout const& s, time_scale const& model);
  // A certificate in JSON.
  void add(std::string const& certificate);
  // A claim that has none.
  void refuse(std::string const& what, std::string const& why);

  // Writes the file, and says on standard error what has no certificate. Returns done or uncertified.
  int write() const;

 private:
  std::optional<output> to_;
  std::string all_;
  std::string missing_;
};

}  // namespace tool
