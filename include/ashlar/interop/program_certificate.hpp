// Writes a proved program with a witness of its proofs, which a program that shares nothing with this
// one can check.
#pragma once

#include <ashlar/program/program.hpp>

#include <string>
#include <string_view>

namespace ashlar {

// Why a program has no certificate, or nothing: it has what the verifier does not know.
std::string certificate_obstacle(program const& p);

// One object of JSON, an instruction a line: the program, the turn of each instruction, the order of the
// sums of gradients, and the most slots in use at once. The turns rise along all waits and are equal
// among those that meet. Requires a program that is proved and has no obstacle. Linear in its operands,
// and in devices times stages.
std::string program_certificate(program const& p, std::string_view name);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/program_certificate.ipp>
#endif
