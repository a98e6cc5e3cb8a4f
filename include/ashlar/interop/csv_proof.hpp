// Proves the program that a CSV describes, and reports errors in the words of the file.
#pragma once

#include <ashlar/interop/csv_program.hpp>

#include <string>

namespace ashlar {

// The token of an instruction between stages of a chain.
std::string csv_name(opcode code, pass what, csv_dialect dialect);

// Proves the program of a file.
class csv_proof {
 public:
  // Refers to both.
  csv_proof(csv_tokens const& tokens, csv_streams const& streams) : tokens_(tokens), streams_(streams) {}

  // Adds the first broken rule, if any.
  void run(csv_problems& problems) const;

 private:
  // Returns no site if the file has no token for it.
  site token_of(site at) const;
  std::string place_of(site at) const {
    if (site const t = token_of(at); t.device >= 0) return tokens_.place_of(t);
    return csv_name(at.code, at.what, tokens_.dialect) + " on line " + std::to_string(at.device + 1);
  }
  static bool is_missing(diagnosis const& d) { return d.first.device >= 0 && d.first.index < 0; }

  // The error, to stand after "but".
  std::string reason(diagnosis const& d) const;

  // The instruction that writes the value too late.
  std::string writer_of(diagnosis const& d) const;

  // Describes the cycle. `culprit` is its first instruction with a token in the file.
  std::string cycle(site& culprit) const;

  csv_tokens const& tokens_;
  csv_streams const& streams_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_proof.ipp>
#endif
