// The program that a runtime is given.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/prove/freeze.hpp>
#include <ashlar/prove/proved_program.hpp>
#include <ashlar/prove/window.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace ashlar {

// A program that is proved once, before it runs. Every form of a program converts to it. A proved or
// frozen program is not proved again. Moving it keeps its views valid.
class program_source {
 public:
  // Keeps the program, not yet proved.
  program_source(program p) : program_source(std::move(p), true) {}
  // Keeps the proved program.
  program_source(proved_program p) : program_source(std::move(p).take(), false) {}
  // Refers to the frozen program, which must outlive the runtime.
  template <program_extent Extent>
  program_source(frozen_program<Extent> const& p) : view_(p.view()), needs_proof_(false) {}
  // For tests of a backend with a wrong program, and for programs proved elsewhere. Refers to the
  // program's memory.
  static program_source unproved(program_view const& p) { return program_source(p); }

  // Proves the program and returns it. Throws violation{check(p)} if it is not correct.
  program_source& prove() {
    if (needs_proof_)
      if (diagnosis const d = check(*program_); !d.ok()) throw violation{d};
    needs_proof_ = false;
    return *this;
  }
  program_view const& view() const { return view_; }

 private:
  program_source(program p, bool needs_proof)
      : program_(std::make_unique<program>(std::move(p))),
        view_(program_->view()),
        needs_proof_(needs_proof) {}
  explicit program_source(program_view const& p) : view_(p), needs_proof_(false) {}

  std::unique_ptr<program const> program_;  // empty if the program is owned elsewhere
  program_view view_;
  bool needs_proof_;
};

// Checks run_options::window for a runtime. Throws std::invalid_argument for a window below 1, violation
// with check_window for a proved program whose passes must not run in every resulting order.
inline void require_window(program_view const& p, int window) {
  if (window < 1)
    throw std::invalid_argument("a window has at least one pass, not " + std::to_string(window));
  if (window == 1) return;  // in order, as check() has proved it
  if (diagnosis const d = check_window(p, window); !d.ok()) refuse(d);
}

}  // namespace ashlar
