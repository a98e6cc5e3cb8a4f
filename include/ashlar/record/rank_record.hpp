// The record of one rank: which communication it issued, as PyTorch's flight recorder writes it.
#pragma once

#include <ashlar/core/language.hpp>

#include <string>
#include <vector>

namespace ashlar {

// `unknown`: the recorder was not told when operations end.
enum class recorded_state { unknown, pending, completed };

// A line of the program that issued an operation.
struct source_line {
  std::string function = {};
  std::string file = {};
  long long line = 0;

  friend bool operator==(source_line const&, source_line const&) = default;
};

// Ranks that communicate with each other. The name is the same on all of them.
struct recorded_group {
  std::string name = {};
  std::string description = {};
  std::vector<int> ranks = {};  // of the world, by rank in the group; empty: the record does not say

  friend bool operator==(recorded_group const&, recorded_group const&) = default;
};

// Sizes of tensors, each by dimension, and their element types as PyTorch writes them ("Float").
struct recorded_tensors {
  std::vector<std::vector<long long>> sizes = {};
  std::vector<std::string> dtypes = {};

  friend bool operator==(recorded_tensors const&, recorded_tensors const&) = default;
};

struct recorded_operation {
  long long id = 0;          // counts the operations of the rank; a ring buffer loses the first ones
  int group = 0;             // index into rank_record::groups
  std::string backend = {};  // "nccl", "gloo"
  std::string kind = {};     // "send", "recv", "all_reduce"; "coalesced" ends a batch
  int peer = -1;             // rank in the group, of a send or receive; -1: none, or any
  bool is_transfer = false;  // point to point, or the end of a batch of such
  long long sequence = 0;    // the group's count of collectives or of transfers; a batch has one
  recorded_state state = recorded_state::unknown;
  recorded_tensors inputs = {}, outputs = {};
  bool is_in_batch = false;  // issued by batch_isend_irecv, as its lines say
  long long created_ns = 0;
  std::vector<source_line> lines = {};  // innermost first

  friend bool operator==(recorded_operation const&, recorded_operation const&) = default;
};

struct rank_record {
  int rank = 0;
  std::vector<recorded_group> groups = {};
  std::vector<recorded_operation> operations = {};  // in the order of their issue
  bool is_whole = true;                             // no operation is missing from the first to the last

  friend bool operator==(rank_record const&, rank_record const&) = default;
};

}  // namespace ashlar
