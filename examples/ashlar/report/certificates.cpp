#include "report/certificates.hpp"

#include "report/printed.hpp"
#include <ashlar/interop/program_certificate.hpp>

#include <fmt/core.h>

namespace tool {

void add_certificate_option(CLI::App& command, std::string& path) {
  command
      .add_option(
          "--certificate", path,
          "where to write what `python3 -m ashlar_verify` needs to check the claims without this "
          "tool; - is standard output. Exit code 4: a claim has no certificate")
      ->type_name("OUT");
}

certificates::certificates(std::string const& path) {
  if (path == "-") throw usage_error("--certificate needs a file: standard output has the claims");
  if (!path.empty()) to_.emplace(path);
}

void certificates::add(std::string certificate) { all_ += (all_.empty() ? "\n" : ",\n") + certificate; }

void certificates::refuse(std::string const& what, std::string const& why) {
  missing_ += fmt::format("no certificate for {}: {}\n", printable(what), why);
}

void certificates::add(ashlar::program const& p, std::string const& name) {
  if (!to_) return;
  if (std::string const why = ashlar::certificate_obstacle(p); !why.empty())
    return refuse("the program of " + name, why);
  add(ashlar::program_certificate(p, name));
}

int certificates::write() const {
  if (!to_) return done;
  to_->write("{\"ashlar_certificates\":1,\"certificates\":[" + all_ + "]}\n");
  fmt::print("{}", missing_);
  return missing_.empty() ? done : uncertified;
}

}  // namespace tool
