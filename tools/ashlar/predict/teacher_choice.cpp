#include "predict/teacher_choice.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "predict/models.hpp"

#include <fmt/format.h>

#include <exception>
#include <string_view>

namespace tool {

namespace {

described_model read(std::string const& text) {
  constexpr std::string_view option = "--model";
  if (text[0] == '{') return described_keys(json_text_of(text, "--teacher").root(), "the teacher");
  try {
    return read_described_model(text);
  } catch (std::exception const& e) {
    std::string said = e.what();
    if (said.find(option) == 0) said.erase(0, option.size() + 2);
    throw usage_error(fmt::format("--teacher: {}", said));
  }
}

}  // namespace

void choose_teacher(std::string const& text, prediction& p) {
  p.teacher = text;
  if (text.empty()) return;
  described_model const teacher = read(text);
  if (teacher.shape.has_measured_layers() || !teacher.shape.towers.empty()
      || teacher.shape.has_encoder())
    throw usage_error("--teacher: only a decoder that reads a config.json is predicted beside a model");
  for (std::string const& note : teacher.notes) p.notes.push_back(fmt::format("teacher: {}", note));
  p.asked.teachers.push_back(teacher.shape);
}

}  // namespace tool
