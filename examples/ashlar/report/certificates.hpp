// The file of --certificate: claims of this tool, with the arguments by which another program checks
// them.
#pragma once

#include "command.hpp"
#include "files/files.hpp"
#include <ashlar/program/program.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

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

  // Writes the file, and prints what has no certificate. Returns done or uncertified.
  int write() const;

 private:
  void add(std::string certificate);
  void refuse(std::string const& what, std::string const& why);

  std::optional<output> to_;
  std::string all_;
  std::string missing_;
};

}  // namespace tool
