// The proofs of a program for a backend whose lanes do not all advance by themselves.
#pragma once

#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/prove.hpp>

namespace ashlar {

// Runs check(p), and then checks that the program reaches its end on a backend of this level. Linear in
// instructions and waits.
constexpr diagnosis check(program const& p, progress_level level) {
  diagnosis const d = check(p);
  return d.ok() ? prove_detail::check_progress_of_readable(p.view(), level) : d;
}

}  // namespace ashlar
