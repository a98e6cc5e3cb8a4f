// The state of a training between two steps, in a folder: a manifest, and parts with tensors. The
// layout is described in docs/formats.md.
#pragma once

#include "train/checkpoint_part.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Settings that must be equal for a training to go on.
struct checkpoint_identity {
  int blocks = 0, width = 0, heads = 0, context = 0;
  bool tied = false;
  bool predicts = false;
  int experts = 0;
  std::string precision;
  std::uint64_t seed = 0;
  std::uint64_t text_bytes = 0;
  std::uint32_t text_crc32 = 0;
};

struct checkpoint {
  std::string folder;
  checkpoint_identity identity;
  int step = 0;               // steps made
  int updates = 0;            // of them those that changed the weights
  std::uint64_t batches = 0;  // drawn from the text
  int counted_losses = 0;
  double first_loss = 0, mean_loss = 0;
  std::vector<checkpoint_part> parts;
};

// Reads `folder` itself, or the newest checkpoint in it. Throws usage_error, naming the file and what is
// wrong with it: also for a folder whose name says another step than its manifest, or that has no
// manifest.
checkpoint read_checkpoint(std::string const& folder);

// The newest folder in `folder` that is called a checkpoint; empty if there is none.
std::string newest_checkpoint(std::string const& folder);

// Throws usage_error with the option that is not what it was.
void require_same_training(checkpoint const& c, checkpoint_identity const& now);

// A folder of checkpoints that a training writes, one after another. Each is written under another name,
// and renamed when all of it is on the disk: what has the name of a checkpoint is complete. The last two
// are kept. All of this throws usage_error, naming the file.
class checkpoint_folder {
 public:
  explicit checkpoint_folder(std::string path) : path_(std::move(path)) {}

  // Throws usage_error, with both sizes, unless there is room, beside what is there, for as many
  // checkpoints of these parts as will lie there at once: those that are kept and a new one, of `count`
  // that are to come; run_error in a folder that has some, which a training goes on from when others
  // have made room. A file system that does not say how much it has is taken at its word when it is
  // full.
  void must_have_room(checkpoint const& c, int count) const;
  // Where the parts of a step's checkpoint are written; begin() makes it anew.
  std::string partial(int step) const { return final_name(step) + ".partial"; }
  void begin(int step) const;
  // Writes the manifest, and gives the checkpoint its name, which it returns.
  std::string complete(checkpoint const& c) const;
  // Removes a checkpoint that was not completed.
  void discard(int step) const;

 private:
  void remove_what_is_left() const;
  std::string final_name(int step) const;

  std::string path_;
};

}  // namespace tool
