// The proofs of the program that a CSV describes, in the words of the file.
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
  // None, if the file has no token for it.
  site token_of(site at) const;
  std::string place_of(site at) const {
    if (site const t = token_of(at); t.device >= 0) return tokens_.place_of(t);
    return csv_name(at.code, at.what, tokens_.dialect) + " on line " + std::to_string(at.device + 1);
  }
  static bool is_missing(diagnosis const& d) { return d.first.device >= 0 && d.first.index < 0; }

  // What is wrong, after "but".
  std::string reason(diagnosis const& d) const;

  // Who comes too late with the value that is read.
  std::string writer_of(diagnosis const& d) const;

  // Names the first instruction of the cycle that the file has as the culprit.
  std::string cycle(site& culprit) const;

  csv_tokens const& tokens_;
  csv_streams const& streams_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_proof.ipp>
#endif
