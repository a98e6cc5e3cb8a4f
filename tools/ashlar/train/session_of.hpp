// The session of a team: it trains, or measures what training takes.
#pragma once

#include "train/profile_session.hpp"
#include "train/train_session.hpp"

namespace tool {

// All processes return the same exit_code.
template <class Scalar>
int session_of(training& t, team<Scalar>& all) {
  if (t.options->repeats > 0) return profile_session<Scalar>(t, all).run();
  return train_session<Scalar>(t, all).run();
}

}  // namespace tool
