#include "predict/runs_file.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace tool {

namespace {

constexpr std::size_t most_runs = 100'000;

// Cells of a row from `at` on, which may be in quotes; `at` comes to the next row.
std::vector<std::string> csv_row(std::string_view text, std::size_t& at) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (; at < text.size(); ++at) {
    char const c = text[at];
    if (is_quoted) {
      if (c != '"')
        cells.back() += c;
      else if (at + 1 < text.size() && text[at + 1] == '"')
        cells.back() += text[++at];
      else
        is_quoted = false;
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

// Tells what is wrong with a row, without the long help of the parser.
template <class Act>
void in_line(std::string const& path, int line, Act act) {
  try {
    act();
  } catch (std::exception const& e) {
    throw usage_error(fmt::format("'{}', line {}: {}", path, line, e.what()));
  }
}

}  // namespace

std::vector<measured_run> read_runs(std::string const& path, fitted_constants const& constants) {
  std::string const text = read_text(path);
  std::size_t at = 0;
  std::vector<std::string> const columns = csv_row(text, at);
  std::vector<std::string> known;
  {
    CLI::App names;
    question_options unused;
    add_question_options(names, unused);
    for (CLI::Option const* option : names.get_options())
      for (std::string const& name : option->get_lnames())
        if (name != "help") known.push_back(name);
    known.emplace_back("step_seconds");
  }
  for (std::string const& column : columns)
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw usage_error(fmt::format("'{}': a column '{}' means nothing here{}; there are: {}", path,
                                    column.substr(0, 64), did_you_mean(column, known),
                                    fmt::join(known, " ")));
  for (auto each = columns.begin(); each != columns.end(); ++each)
    if (std::find(columns.begin(), each, *each) != each)
      throw usage_error(fmt::format("'{}' has the column '{}' twice", path, *each));
  std::map<std::string, described_model> models;
  std::vector<measured_run> runs;
  for (int line = 2; at < text.size(); ++line) {
    std::vector<std::string> const cells = csv_row(text, at);
    if (cells.size() == 1 && cells[0].empty()) continue;
    measured_run run;
    run.line = line;
    in_line(path, line, [&] {
      if (cells.size() != columns.size())
        throw usage_error(fmt::format("has {} cells, the first row {}", cells.size(), columns.size()));
      if (runs.size() >= most_runs) throw usage_error(fmt::format("is beyond {} runs", most_runs));
      option_words words;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].empty()) continue;
        if (columns[i] == "step_seconds")
          run.seconds = number_within<double>("step_seconds", cells[i], 1e-9, 1e9);
        else
          words[columns[i]] = cells[i];
      }
      question_options const o = options_from(words);
      auto found = models.find(o.model);
      if (found == models.end()) found = models.emplace(o.model, read_described_model(o.model)).first;
      run.asked = prepare(o, found->second, constants);
    });
    runs.push_back(std::move(run));
  }
  if (runs.empty()) throw usage_error(fmt::format("'{}' has no runs", path));
  return runs;
}

}  // namespace tool
