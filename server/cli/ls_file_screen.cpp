// SPDX-License-Identifier: Apache-2.0
// What `leat ls FILE` shows on a terminal.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/ls_screen.hpp"

namespace leat::cli {
namespace {

constexpr std::size_t kMostNumbers = 12;

Paint paint_of(const std::string& state) {
  if (state == "running") return Paint::green;
  return state == "closed" ? Paint::plain : Paint::yellow;
}

std::string iterations_of(const Json& file) {
  const Json& found = file["iterations"];
  if (!found.is_object()) return "none";
  const auto count = found["count"].get<std::uint64_t>();
  if (count == 0) return "none yet";
  if (count == 1) return "1: " + found["first"].dump();
  const Json& step = found["step"];
  return std::to_string(count) + ": " + found["first"].dump() + " to " + found["last"].dump() +
         (step == 1        ? ""
          : step.is_null() ? ", in unequal steps"
                           : " in steps of " + step.dump());
}

std::string numbers(const Json& list, std::uint64_t count) {
  std::vector<std::string> shown;
  for (const Json& each : list) {
    if (shown.size() == kMostNumbers) break;
    shown.push_back(each.dump());
  }
  const std::size_t more = count - shown.size();
  return joined(shown, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// A dimension that is called after the variable, like "wave_slot", goes without that.
std::string dimension_of(const Json& dataset, std::size_t d) {
  const std::string name = dataset["dimensions"][d].get<std::string>();
  const std::string own = dataset["name"].get<std::string>() + "_";
  if (name.empty()) return dataset["shape"][d].dump();
  return (name.starts_with(own) ? name.substr(own.size()) : name) + "=" +
         dataset["shape"][d].dump();
}

std::string dataset_shape(const Json& dataset, bool of_iterations) {
  std::vector<std::string> parts;
  for (std::size_t d = of_iterations ? 1 : 0; d < dataset["shape"].size(); ++d)
    parts.push_back(dimension_of(dataset, d));
  return parts.empty() ? "scalar" : joined(parts, " ");
}

std::string ratio_of(const Json& dataset) {
  const auto bytes = dataset["bytes"].get<double>(), stored = dataset["stored_bytes"].get<double>();
  if (dataset["filters"].empty() || stored == 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, bytes / stored < 9.95 ? "%.1fx" : "%.0fx", bytes / stored);
  return text;
}

// Those that make it smaller.
std::string filters_of(const Json& dataset) {
  std::vector<std::string> names;
  for (const Json& filter : dataset["filters"]) {
    if (filter != "shuffle" && filter != "fletcher32") names.push_back(filter.get<std::string>());
  }
  return names.empty() ? "-" : joined(names, "+");
}

void drop_column(const std::string& title, std::vector<std::vector<Cell>>* rows) {
  const auto& heads = rows->front();
  const auto found = std::find_if(heads.begin(), heads.end(),
                                  [&](const Cell& cell) { return cell.text == title; });
  const auto place = found - heads.begin();
  if (found == heads.end()) return;
  for (auto& row : *rows) row.erase(row.begin() + place);
}

class FileScreen {
 public:
  FileScreen(const Json& file, const Look& look) : file_(file), look_(look) {}

  std::string run() {
    heading();
    if (!file_["problem"].get<std::string>().empty()) return text_;
    facts();
    if (file_["made_by_leat"]) datasets(file_["variables"], "variable", true);
    others();
    for (const Json& each : file_["vtkhdf"])
      text_ += "\n" + each["name"].get<std::string>() + ": " + each["type"].get<std::string>() +
               ", " + counted(each["arrays"].size(), "array") + "\n";
    products("scripts", "script");
    products("products", "products of");
    parameters();
    if (file_["made_by_leat"])
      text_ += section("Ledger", look_) + ledger_text(file_["ledger"], look_);
    return text_;
  }

 private:
  std::string paint(const std::string& text, Paint paint) const {
    return painted(text, paint, look_.colours);
  }

  void heading() {
    const std::string state = file_["state"].get<std::string>();
    text_ = paint(file_["file"].get<std::string>(), Paint::bold) + "  " +
            paint(state, paint_of(state)) + "  " +
            format_bytes(file_["bytes"].get<std::uint64_t>()) + "\n";
    const std::string advice = advice_on(file_);
    if (!advice.empty()) text_ += "  " + paint(advice, Paint::yellow) + "\n";
  }

  void facts() {
    if (!file_["made_by_leat"]) {
      text_ += "  " + paint("Leat has not made it: these are its datasets", Paint::dim) + "\n";
      return;
    }
    text_ += line("simulation",
                  file_["simulation"].get<std::string>() + ", " +
                      counted(file_["ranks"].get<std::uint64_t>(), "rank"),
                  look_);
    text_ += line("session",
                  file_["session"].get<std::string>() + ", by Leat " +
                      file_["leat_version"].get<std::string>(),
                  look_);
    text_ += line("iterations", iterations_of(file_), look_);
    const Json& found = file_["iterations"];
    const auto incomplete =
        found.is_object() ? found["incomplete_count"].get<std::uint64_t>() : std::uint64_t{0};
    if (incomplete > 0)
      text_ +=
          line("incomplete", paint(numbers(found["incomplete"], incomplete), Paint::yellow), look_);
    space();
    const Json& parts = file_["parts"];
    if (!parts.empty()) {
      std::vector<std::string> names;
      for (const Json& each : parts)
        names.push_back(each["file"].get<std::string>() + (each["there"] ? "" : " (missing)"));
      text_ += line("view of", counted(parts.size(), "part") + ": " + joined(names, ", "), look_);
    }
  }

  void space() {
    const Json& found = file_["space"];
    if (!found.is_object()) return;
    const auto bytes = [&found](const char* kind) { return found[kind].get<std::uint64_t>(); };
    const auto with_bytes = [&](const char* title, const char* kind) {
      return title + std::string(" ") + format_bytes(bytes(kind));
    };
    const std::uint64_t overhead =
        bytes("structures") + bytes("tables") + bytes("room") + bytes("rest");
    const std::uint64_t all = std::max<std::uint64_t>(1, bytes("values") + overhead);
    text_ += line("values", format_bytes(bytes("values")), look_);
    text_ += line(
        "overhead",
        format_bytes(overhead) + ", " + std::to_string(100 * overhead / all) + " % of the file",
        look_);
    text_ += line(
        "", with_bytes("structures", "structures") + ", " + with_bytes("tables", "tables"), look_);
    text_ += line("", with_bytes("room", "room") + ", " + with_bytes("not in use", "rest"), look_);
  }

  void others() {
    Json coordinates = Json::array(), rest = Json::array();
    for (const Json& each : file_["others"])
      (each["is_coordinate"] ? coordinates : rest).push_back(each);
    datasets(coordinates, "coordinate", false);
    datasets(rest, file_["made_by_leat"] ? "other dataset" : "dataset", false);
  }

  std::string title(const Json& list, const std::string& noun) const {
    std::uint64_t bytes = 0, stored = 0;
    for (const Json& each : list) {
      bytes += each["bytes"].get<std::uint64_t>();
      stored += each["stored_bytes"].get<std::uint64_t>();
    }
    return counted(list.size(), noun) + ", " + format_bytes(bytes) +
           (stored > 0 ? ", " + format_bytes(stored) + " in the file" : "");
  }

  std::string written(const Json& variable) const {
    const Json& rows = variable["iterations"];
    if (rows.is_null()) return "constant";
    if (!file_["iterations"].is_object()) return "-";
    const Json& all = file_["iterations"]["count"];
    return rows == all ? "all" : rows.dump() + " of " + all.dump();
  }

  void datasets(const Json& list, const std::string& noun, bool of_run) {
    if (list.empty() && !of_run) return;
    text_ += section(title(list, noun), look_);
    if (list.empty()) return;
    auto rows = header_of({"name", "type", "shape", "written", "unit", "bytes", "in file", "ratio",
                           "filter", "description"});
    for (const std::size_t i : {5u, 6u, 7u}) rows[0][i].right = true;
    for (const Json& each : list) rows.push_back(row(each, of_run));
    if (!of_run) drop_column("written", &rows);
    print(std::move(rows));
  }

  std::vector<Cell> row(const Json& each, bool of_run) const {
    const bool per_iteration = of_run && each["layout"] != "varying" && !each["of_blocks"] &&
                               !each["iterations"].is_null();
    return {{each["name"].get<std::string>()},
            {each["type"].get<std::string>()},
            {dataset_shape(each, per_iteration)},
            {of_run ? written(each) : ""},
            {or_dash(each["unit"].get<std::string>())},
            bytes_cell(each["bytes"]),
            each["parts"].empty() ? bytes_cell(each["stored_bytes"]) : right("in parts"),
            right(ratio_of(each)),
            {filters_of(each)},
            {each["description"].get<std::string>(), Paint::dim}};
  }

  // What says least goes first where there is no room, then long names and shapes are cut.
  void print(std::vector<std::vector<Cell>> rows) {
    std::vector<Shrinkable> shrinkable{{rows[0].size() - 1, 12}};
    for (const char* title : {"description", "filter", "unit"}) {
      if (can_fit(rows, shrinkable, look_)) break;
      drop_column(title, &rows);
      shrinkable.clear();
    }
    if (shrinkable.empty()) shrinkable = {{2, 12}, {0, 12}};
    text_ += fitted_table(std::move(rows), shrinkable, look_);
  }

  // `key`: "scripts" or "products"; `kind`: what one of them is called.
  void products(const char* key, const std::string& kind) {
    for (const Json& source : file_[key]) {
      text_ += section(kind + " " + source["name"].get<std::string>() + ", " +
                           counted(source["iterations"].get<std::uint64_t>(), "iteration"),
                       look_);
      auto rows = header_of({"result", "type", "shape", "unit", "last"});
      for (const Json& each : source["results"])
        rows.push_back({{each["name"].get<std::string>()},
                        {each["type"].get<std::string>()},
                        {dataset_shape(each, true)},
                        {or_dash(each["unit"].get<std::string>())},
                        {each["last"].is_null() ? "-" : each["last"].dump()}});
      text_ += fitted_table(std::move(rows), {{2, 10}, {0, 10}}, look_);
    }
  }

  void parameters() {
    const Json& all = file_["parameters"];
    if (all.empty()) return;
    text_ += section(counted(all.size(), "parameter"), look_);
    auto rows = header_of({"name", "type", "last value"});
    for (const Json& each : all) {
      const Json& last = each["last"];
      const std::string value = last.is_string() ? last.get<std::string>() : last.dump();
      rows.push_back({{each["name"].get<std::string>()},
                      {each["type"].get<std::string>()},
                      {last.is_null() ? "-" : value}});
    }
    text_ += fitted_table(std::move(rows), {{2, 20}, {0, 10}}, look_);
  }

  const Json& file_;
  Look look_;
  std::string text_;
};

}  // namespace

std::string advice_on(const Json& file) {
  std::string problem = file["problem"].get<std::string>();
  const std::string name = file["file"].get<std::string>();
  const bool lives = file.value("session_alive", false);
  if (file.value("needs_recover", false)) {
    return lives ? "its server was killed in the midst of a commit; the next one, which comes with "
                   "a rank's next call, puts that right"
                 : "its writer was killed in the midst of a commit: run `leat recover " + name +
                       "`; till then readers may see half of it";
  }
  if (!problem.empty()) return problem;
  const Json held = file.value("in_memory", Json());
  if (held.is_object() && !lives)
    return "everything of its run was killed; " + counted(held["iterations"].size(), "iteration") +
           " (" + counted(held.value("blocks", std::uint64_t{0}), "block") + ", " +
           format_bytes(held.value("bytes", std::uint64_t{0})) +
           ") are in memory: `leat recover` stores them, and so does the next run on this node";
  if (file["state"] == "killed")
    return lives ? "its server was killed; the next one goes on with it"
                 : "its writer was killed; all that is here is whole";
  if (file["state"] == "unclosed")
    return "never closed: its writer was killed, or this is a copy made while it was written";
  return "";
}

std::string file_screen(const Json& file, const Look& look) { return FileScreen(file, look).run(); }

}  // namespace leat::cli
