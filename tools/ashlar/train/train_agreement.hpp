// Options that must be the same on all processes of a training.
#pragma once

#include "command.hpp"
#include "train/train_team.hpp"
#include "train/training.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace tool {

// A line for each option that decides about numbers, or about when processes meet.
inline std::string agreed_options(training const& t) {
  train_options const& o = *t.options;
  checkpoint_identity const& id = t.identity;
  std::string all;
  auto const add = [&all](char const* option, auto const& value) {
    all += fmt::format("{} {}\n", option, value);
  };
  add("--corpus", fmt::format("a text of {} bytes with checksum {:08x}", id.text_bytes, id.text_crc32));
  add("--seed", o.seed);
  add("--learning-rate", o.rate);
  add("--clip-norm", o.clip_norm);
  add("--loss-scale", o.loss_scale);
  add("--steps", o.steps);
  add("--blocks", id.blocks);
  add("--width", id.width);
  add("--heads", id.heads);
  add("--context", id.context);
  add("--sequences", o.model.sequences);
  add("--last-sequences", o.model.last_sequences);
  add("--prediction-layer", id.predicts);
  add("--prediction-stage", word_of(o.model.predicted));
  add("--prediction-weight", o.model.prediction);
  add("--experts", id.experts);
  add("--precision", o.precision);
  add("--verify", o.verify);
  add("--skip-nonfinite", o.skip_nonfinite);
  add("--adapt", o.adapt);
  add("--save", o.save.empty() ? "nothing" : fmt::format("every {} steps", o.save_every));
  return all;
}

// `mine`: lines as those of agreed_options(). Throws agreed_error, on all processes, with the first
// option that is not alike on all.
template <class Scalar>
void must_be_alike(std::string const& mine, team<Scalar>& all) {
  std::vector<std::string> const texts = all.gather_texts(mine);
  for (std::size_t process = 1; process < texts.size(); ++process) {
    std::istringstream first(texts[0]), other(texts[process]);
    for (std::string a, b; std::getline(first, a) && std::getline(other, b);)
      if (a != b) {
        std::size_t const cut = a.find(' ');
        throw agreed_error(
            fmt::format("{} is {} in process {} and {} in process 0: all processes of a "
                        "training need the same",
                        a.substr(0, cut), b.substr(b.find(' ') + 1), process, a.substr(cut + 1)));
      }
  }
}

}  // namespace tool
