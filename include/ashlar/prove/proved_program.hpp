// A program that is known to be right.
#pragma once

#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/prove/prove.hpp>

#include <utility>

namespace ashlar {

// A program that has passed every proof. Nothing can change it, so it need not be proved again: what
// needs a right program takes this type.
class proved_program {
 public:
  // Proves it, so that a program can be passed where a proved one is asked for. Throws
  // violation{check(p)}. As linear as check is.
  constexpr proved_program(program p) : program_(std::move(p)) {
    if (diagnosis const d = check(program_); !d.ok()) refuse(d);
  }

  constexpr program const& get() const { return program_; }
  constexpr operator program const&() const { return program_; }
  // Valid while the program is.
  constexpr program_view view() const { return program_.view(); }
  // Gives the program away; the caller may change it.
  constexpr program take() && { return std::move(program_); }

  friend constexpr bool operator==(proved_program const&, proved_program const&) = default;

 private:
  program program_;
};

// lower() | prove().
constexpr auto prove() {
  return closure([](program p) { return proved_program(std::move(p)); });
}

}  // namespace ashlar
