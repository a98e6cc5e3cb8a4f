// Saves and loads a training's state: each process writes and reads the stages of its devices.
#pragma once

#include "command.hpp"
#include "train/checkpoint.hpp"
#include "train/checkpoint_manifest.hpp"
#include "train/checkpoint_reader.hpp"
#include "train/folder_lock.hpp"
#include "train/train_restart.hpp"
#include "train/train_team.hpp"

#include <fmt/core.h>
#include <gpt/worker.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Visits weights and moments: visit(name of the tensor, its entries, values, shape of these).
template <class Scalar, class Visit>
void for_each_stored(gpt::worker<Scalar>& w, int group, Visit visit) {
  w.visit(group, [&](auto const& what, auto const& weight, auto const&) {
    auto const offset = static_cast<std::size_t>(weight.data - w.weights(group).data());
    auto const shape = std::vector<std::size_t>{static_cast<std::size_t>(weight.rows),
                                                static_cast<std::size_t>(weight.cols)};
    auto const size = weight.size();
    visit(what.name, what.part, w.weights(group).subspan(offset, size), shape);
    visit(what.name + ".first_moment", what.part, w.first_moment(group).subspan(offset, size), shape);
    visit(what.name + ".second_moment", what.part, w.second_moment(group).subspan(offset, size), shape);
  });
}

// All processes call all of this, and all throw the same error when one of them fails.
template <class Scalar>
class train_checkpoints {
 public:
  using worker = gpt::worker<Scalar>;

  train_checkpoints(training const& t, team<Scalar>& all)
      : t_(&t), all_(&all), folder_(t.options->save) {}

  // Claims the folder before the first step: nobody else writes into it from here on, and it can be
  // written to. Returns the checkpoint to go on from. It is looked for after the claim: processes of a
  // training that was killed may have gone on for a while.
  std::optional<checkpoint> claim() {
    if (!t_->options->save.empty())
      agreed([&] {
        if (all_->leads()) lock_.emplace(t_->options->save, lock_timeout);
        return std::string();
      });
    std::optional<checkpoint> resumed;
    agreed([&] {
      resumed = resumed_of(*t_);
      return std::string();
    });
    return resumed;
  }

  // Checks before the first step that the folder has room for the checkpoints of `count` that will lie
  // there at once.
  void must_have_room(int count) {
    if (t_->options->save.empty()) return;
    checkpoint c;
    c.identity = t_->identity;
    for (std::string const& text : agreed([&] {
           auto own = nlohmann::json::array();
           for_each_own_part([&](std::string const& file, auto const&, gpt::stored_tensors tensors) {
             own.push_back(json_of(laid_out(file, std::move(tensors))));
           });
           return own.dump();
         }))
      append_parts(text, c.parts);
    agreed([&] {
      if (all_->leads()) folder_.must_have_room(c, count);
      return std::string();
    });
  }

  // Saves between two steps; `c` says all but the parts. Returns the folder.
  std::string save(checkpoint c) {
    gather_shards();
    std::string made;
    try {
      agreed([&] {
        if (all_->leads()) folder_.begin(c.step);
        return std::string();
      });
      for (std::string const& text : agreed([&] { return write_own(c.step).dump(); }))
        append_parts(text, c.parts);
      agreed([&] {
        if (all_->leads()) made = folder_.complete(c);
        return std::string();
      });
    } catch (agreed_error const&) {
      if (all_->leads()) folder_.discard(c.step);
      throw;
    }
    return made;
  }

  // Restores the groups that are held here.
  void load(checkpoint const& c) {
    agreed([&] {
      checkpoint_reader const from(c);
      all_->for_each_held([&](worker& w, int group) {
        for_each_stored(w, group,
                        [&](std::string const& name, gpt::tensor_part const& part, auto values,
                            auto const&) { from.read(name, part, std::as_writable_bytes(values)); });
        for (int copy = 1; copy < w.copies(group); ++copy) {
          copy_values(w.weights(group), w.weights(group, copy));
          copy_values(w.first_moment(group), w.first_moment(group, copy));
          copy_values(w.second_moment(group), w.second_moment(group, copy));
        }
        w.set_updates(group, c.updates);
      });
      return std::string();
    });
  }

 private:
  // Processes of a launcher that was killed end within 2 s.
  static constexpr std::chrono::seconds lock_timeout{5};

  static void copy_values(std::span<Scalar const> from, std::span<Scalar> to) {
    std::copy(from.begin(), from.end(), to.begin());
  }
  int first_holder(int group) const { return t_->program.groups.holders(group)[0]; }

  // Shards are gathered for rank 0, whose first holder of a group writes it. The others send it their
  // shards.
  void gather_shards() {
    worker const& any = *all_->workers().front();
    if (!any.is_sharded()) return;
    for (int g = 0; g < t_->shape.stages; ++g)
      for (auto const of : {+[](worker&w, int group) { return w.weights(group); },
                            +[](worker&w, int group) { return w.first_moment(group); },
                            +[](worker&w, int group) { return w.second_moment(group); }}) {
        std::vector<Scalar> whole(any.elements(g), Scalar{});
        for (int rank = 0; rank < t_->shape.data_ranks; ++rank)
          if (all_->is_here(rank, first_holder(g))) {
            std::span<Scalar> const values = of(*all_->of(rank), g);
            std::span<Scalar> const mine = all_->of(rank)->part(g, values);
            std::copy(mine.begin(), mine.end(), whole.begin() + (mine.data() - values.data()));
          }
        all_->unite(whole);
        if (all_->is_here(0, first_holder(g))) copy_values(whole, of(*all_->of(0), g));
      }
  }

  // Visits the files that the devices here write: visit(file, bytes of each tensor, tensors).
  template <class Visit>
  void for_each_own_part(Visit visit) {
    for (int device = 0; device < t_->program.device_count(); ++device) {
      if (!all_->is_here(0, device)) continue;
      gpt::stored_tensors tensors;
      std::map<std::string, std::span<std::byte const>> data;
      for (int g = 0; g < t_->shape.groups(); ++g)
        if (first_holder(g) == device)
          for_each_stored(*all_->of(0), g,
                          [&](std::string const& tensor, gpt::tensor_part const& part, auto values,
                              auto const& shape) {
                            std::string const name = stored_name(tensor, part);
                            data[name] = std::as_bytes(values);
                            tensors[name] = {sizeof(Scalar) == sizeof(float) ? "F32" : "F64", shape, 0,
                                             data[name].size()};
                          });
      visit(fmt::format("device-{}.safetensors", device), data, std::move(tensors));
    }
  }

  nlohmann::json write_own(int step) {
    auto parts = nlohmann::json::array();
    for_each_own_part([&](std::string const& file, auto const& data, gpt::stored_tensors tensors) {
      parts.push_back(json_of(write_part(folder_.partial(step), file, data, std::move(tensors))));
    });
    return parts;
  }

  static void append_parts(std::string const& text, std::vector<checkpoint_part>& parts) {
    for (auto const& part : nlohmann::json::parse(text)) parts.push_back(part_from(part));
  }

  // Returns the results of act() on each process. Throws agreed_error with what it throws on the first.
  template <class Act>
  std::vector<std::string> agreed(Act act) {
    std::string said, error, temporary;
    all_->work([&] {
      try {
        said = act();
      } catch (run_error const& e) {
        temporary = e.what();
      } catch (std::exception const& e) {
        error = e.what();
      }
    });
    for (std::string const& one : all_->gather_texts(error))
      if (!one.empty()) throw agreed_error(one);
    for (std::string const& one : all_->gather_texts(temporary))
      if (!one.empty()) {
        if (all_->leads()) report_breaking_off(*t_->options);
        throw agreed_error(one, failed);
      }
    return all_->gather_texts(said);
  }

  training const* t_;
  team<Scalar>* all_;
  checkpoint_folder folder_;
  std::optional<folder_lock> lock_;
};

}  // namespace tool
