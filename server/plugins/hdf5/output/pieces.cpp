// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/pieces.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::string split_option(const leat_run& run) {
  return option(run.options, run.option_count, kSplit);
}

void read_rows(hid_t file, Piece* piece) {
  const std::string numbers = table_of(file, "", "iteration");
  if (numbers.empty()) throw std::runtime_error("it has no iterations, not even none");
  piece->iterations = integers_of(file, numbers);
  const std::string times = name_of_times(file);
  if (times.empty()) return;
  const std::vector<double> all = doubles_of(file, times);
  if (!all.empty() && all.size() >= piece->iterations.size() && !piece->iterations.empty())
    piece->last_time = all[piece->iterations.size() - 1];
}

// Lists of iterations are called "scripts/<script>/iteration".
void read_products(hid_t file, Piece* piece) {
  constexpr std::string_view kList = "/iteration";
  for (const char* const root : {"scripts", "products"}) {
    for (const std::string& name : datasets_in(file, root)) {
      if (!name.ends_with(kList)) continue;
      const std::string group = name.substr(0, name.size() - kList.size());
      for (const std::int64_t each : integers_of(file, name)) piece->products.emplace(group, each);
    }
  }
}

Piece piece_at(const std::string& path, const leat_run& run) {
  Piece piece;
  piece.path = path;
  const LastCommit commit = finish_last_commit(path);
  if (commit.kind == LastCommit::Kind::not_finished)
    throw std::runtime_error("its last commit cannot be finished: " + commit.why +
                             ". It is kept as " + commit.kept);
  const Id file = open_plain(path, "HDF5 cannot open it");
  piece.split = text_attribute(file, kSplitText, "");
  const std::vector<double> begin = numbers_attribute(file, kSplitBegin);
  piece.begin = begin.empty() ? -std::numeric_limits<double>::infinity() : begin.front();
  piece.is_of_run = run_in(file).is_of(run);
  piece.started_ns = integer_attribute(file, kStarted, 0);
  read_rows(file, &piece);
  read_products(file, &piece);
  return piece;
}

}  // namespace

bool Piece::has_something_from(std::int64_t first) const {
  const auto is_from = [first](std::int64_t each) { return each >= first; };
  return std::any_of(iterations.begin(), iterations.end(), is_from) ||
         std::any_of(products.begin(), products.end(),
                     [&](const auto& each) { return is_from(each.second); });
}

bool Piece::has_something_before(std::int64_t first) const {
  const auto is_before = [first](std::int64_t each) { return each < first; };
  return std::any_of(iterations.begin(), iterations.end(), is_before) ||
         std::any_of(products.begin(), products.end(),
                     [&](const auto& each) { return is_before(each.second); });
}

std::vector<std::string> files_of_server(const std::string& folder, const leat_run& run) {
  std::vector<std::string> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_part(entry.path()) && server_of_part(entry.path()) == name_of_part(run))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Piece> pieces_in(const std::string& folder, const leat_run& run, const Host& host) {
  be_quiet();
  std::vector<Piece> pieces;
  for (const std::string& path : files_of_server(folder, run)) {
    try {
      pieces.push_back(piece_at(path, run));
    } catch (const std::exception& e) {
      host.warn(path + " cannot be read: " + e.what() +
                "; whether iterations are in it already is not known");
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.started_ns, a.begin) < std::tie(b.started_ns, b.begin);
  });
  return pieces;
}

std::string path_of_piece(const std::string& folder, const leat_run& run, const std::string& name) {
  return fs::path(folder) / (name_of_part(run) + "." + name + ".h5");
}

namespace {

model::Calendar calendar_of(const leat_run& run) {
  const bool has_time = leat_run_time_parameter(&run) >= 0;
  return {has_time ? run.time_unit : "", has_time ? run.calendar : ""};
}

}  // namespace

std::string why_no_split(const leat_run& run) {
  const std::string text = split_option(run), what = "option split=\"" + text + "\": ";
  if (text.empty()) return "";
  const Result<model::Every> split = model::parse_split(text);
  if (!split) return what + split.error().message;
  if (split->clock != model::Every::Clock::simulation) return "";
  if (leat_run_time_parameter(&run) < 0)
    return what + "the simulation says no time; give a number of iterations like \"1000\"";
  const std::string why = model::why_no_marks(*split, calendar_of(run));
  return why.empty() ? "" : what + why;
}

model::Splitting splitting_of(const leat_run& run) {
  if (const std::string why = why_no_split(run); !why.empty()) throw std::runtime_error(why);
  return {*model::parse_split(split_option(run)), calendar_of(run)};
}

std::string split_text(const leat_run& run) {
  const Result<model::Every> split = model::parse_split(split_option(run));
  return split ? model::to_text(*split) : "";
}

}  // namespace leat::hdf5
