// One layout of a search: why it is left out, how it is made to fit, and whether it is kept.
#pragma once

#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/layouts_for_pairs.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost::layouts_detail {

// Tries the layouts that a search sets up, and keeps the best.
class layout_trials {
 public:
  // Refers to the constants.
  layout_trials(question const& q, open_sizes const& open, constants const& c, std::size_t most,
                layouts_watch watch, layout_filter wanted);

  // The layout to try next; the search sets its sizes.
  question tried;

  // Weighs the layout, and with other recomputation and offload if it does not fit. Then these are again
  // as asked.
  void try_one();
  // Whether the best layouts of this pipeline get a division of layers of their own.
  bool divides_layers() const { return open_.stages && tried.layout.pipeline > 1; }
  // Whether the watch ended the search.
  bool are_stopped() const { return stopped_; }
  // Divides the layers of the best, and returns all that was found. To be called once.
  layouts_found take();

 private:
  static constexpr long long between_calls = 256;
  static constexpr std::size_t dealt_at_least = 16;

  enum class weight : unsigned char { fits, too_large, slower, unwanted };

  void count(left_out why) { ++found_.counts[static_cast<std::size_t>(why)]; }
  void run_nothing_again();
  void try_it();
  // A layout that does not fit may fit if it recomputes.
  void try_again(std::vector<stage> const& stages);
  // A layout that does not fit may fit if it offloads to the host.
  void try_leaving(std::vector<stage> const& stages);
  // Finds the fewest first layers of each stage with which the layout fits. Requires that it fits with
  // all.
  void weigh_fewest_layers(std::vector<stage> const& stages, chosen_layers& which);
  weight weigh(std::vector<stage> const& stages);
  void keep(ranked_layout const& made);
  // Keeps fast layouts that are too large, for deal().
  void keep_near(std::vector<ranked_layout>& near) const;
  // Finds the best division of layers for the layouts kept, and for the fastest that do not fit.
  void deal();
  void deal_one(ranked_layout& each, bool fits_as_it_is);

  question const asked_;
  open_sizes open_;
  constants const& c_;
  std::size_t most_;
  std::size_t dealt_;  // layouts whose layers are dealt, at least; first weighed, kinds are further off
  std::size_t kept_;
  layouts_watch watch_;
  layout_filter wanted_;
  int layers_, ends_;  // ends: embedding and head
  std::vector<recomputation> again_;
  layouts_found found_;
  std::vector<ranked_layout> near_, near_without_optimizer_;
  layouts_for_pairs for_pairs_;
  double last_seconds_ = 0;  // of the layout weighed last
  long long seen_ = 0;       // layouts, possible or not
  bool stopped_ = false;
};

}  // namespace ashlar::cost::layouts_detail
