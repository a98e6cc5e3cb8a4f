// The kinds of devices that pipeline ranks and stages are on.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace ashlar::cost {

// The kinds of this pipeline rank's devices, ascending. Ranks have equally many devices each, in order.
std::vector<int> kinds_of_rank(question const& q, int rank);

// The question as each pipeline rank sees it: on a cluster of one kind, which is its own, or as slow as
// the slowest of its own. All ranks run the same program. With one kind it is the question itself.
class rank_questions {
 public:
  // Refers to the question.
  explicit rank_questions(question const& q);

  // Requires a rank of the pipeline, from 0.
  question const& of(int rank) const { return *asked_[number_of(rank)]; }
  // Stages that run on several ranks, one for each route, wait for the slowest.
  std::vector<question const*> of_stages(placement const& where);
  // The question to ask for a message between two neighbouring ranks.
  question const& between(int rank, int other);

 private:
  std::size_t number_of(int rank) const { return numbers_[static_cast<std::size_t>(rank)]; }
  // The number of the question for these kinds. `apart`: devices of different kinds share no fast link.
  std::size_t add(std::vector<int> kinds, bool apart);

  struct known_kinds {
    std::vector<int> kinds;
    bool apart = false;
  };

  question const& q_;
  std::vector<std::unique_ptr<question>> made_;
  std::vector<known_kinds> known_;
  std::vector<question const*> asked_;
  std::vector<std::size_t> numbers_;  // by rank
};

}  // namespace ashlar::cost
