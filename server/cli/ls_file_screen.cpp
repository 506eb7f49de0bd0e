// SPDX-License-Identifier: Apache-2.0
// What `leat ls FILE` shows on a terminal.

#include <algorithm>
#include <cstdio>

#include "lib/base/text.hpp"
#include "server/cli/ls_screen.hpp"

namespace leat::cli {
namespace {

constexpr std::size_t kMostNumbers = 12;

Paint paint_of_file(const std::string& state) {
  if (state == "running") return Paint::green;
  return state == "closed" ? Paint::plain : Paint::yellow;
}

std::string iterations_of(const Json& found) {
  if (!found.is_object()) return "none";
  const std::uint64_t count = count_in(found, "count");
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
  const std::string name = dataset["dimensions"][d];
  const std::string own = text_in(dataset, "name") + "_";
  if (name.empty()) return dataset["shape"][d].dump();
  return (name.starts_with(own) ? name.substr(own.size()) : name) + "=" +
         dataset["shape"][d].dump();
}

Cell dataset_shape(const Json& dataset, bool of_iterations) {
  std::vector<std::string> parts;
  for (std::size_t d = of_iterations ? 1 : 0; d < dataset["shape"].size(); ++d)
    parts.push_back(dimension_of(dataset, d));
  return {parts.empty() ? "scalar" : joined(parts, " ")};
}

bool is_of_iterations(const Json& variable) {
  return variable["layout"] != "varying" && !variable["of_blocks"] &&
         !variable["iterations"].is_null();
}

Cell ratio_of(const Json& dataset) {
  const double bytes = dataset["bytes"], stored = dataset["stored_bytes"];
  if (dataset["filters"].empty() || stored == 0) return {"-"};
  char text[32];
  std::snprintf(text, sizeof text, bytes / stored < 9.95 ? "%.1fx" : "%.0fx", bytes / stored);
  return {text};
}

// Those that make it smaller.
Cell filters_of(const Json& dataset) {
  std::vector<std::string> names;
  for (const Json& filter : dataset["filters"]) {
    if (filter != "shuffle" && filter != "fletcher32") names.push_back(filter);
  }
  return {names.empty() ? "-" : joined(names, "+")};
}

Cell in_file(const Json& dataset) {
  return {dataset["parts"].empty() ? shown_bytes(dataset, "stored_bytes") : "in parts"};
}

class FileScreen {
 public:
  FileScreen(const Json& file, const Look& look) : file_(file), screen_(look) {}

  std::string run() {
    heading();
    if (!text_in(file_, "problem").empty()) return screen_.text();
    const bool is_ours = file_["made_by_leat"];
    if (is_ours)
      facts();
    else
      screen_.note("Leat has not made it: these are its datasets");
    if (is_ours) datasets(file_["variables"], "variable", true);
    Json coordinates = Json::array(), rest = Json::array();
    for (const Json& each : file_["others"])
      (each["is_coordinate"] ? coordinates : rest).push_back(each);
    datasets(coordinates, "coordinate", false);
    datasets(rest, is_ours ? "other dataset" : "dataset", false);
    for (const Json& each : file_["vtkhdf"])
      screen_.line("\n" + text_in(each, "name") + ": " + text_in(each, "type") + ", " +
                   counted(each["arrays"].size(), "array"));
    products("scripts", "script");
    products("products", "products of");
    parameters();
    if (!is_ours) return screen_.text();
    screen_.section("Ledger");
    add_ledger(file_["ledger"], &screen_);
    return screen_.text();
  }

 private:
  void heading() {
    const std::string state = text_in(file_, "state");
    screen_.line(screen_.paint(text_in(file_, "file"), Paint::bold) + "  " +
                 screen_.paint(state, paint_of_file(state)) + "  " + shown_bytes(file_, "bytes"));
    if (const std::string advice = advice_on(file_); !advice.empty())
      screen_.note(advice, Paint::yellow);
  }

  void facts() {
    const Json& found = file_["iterations"];
    screen_.fact("simulation",
                 text_in(file_, "simulation") + ", " + counted(count_in(file_, "ranks"), "rank"));
    screen_.fact("session",
                 text_in(file_, "session") + ", by Leat " + text_in(file_, "leat_version"));
    screen_.fact("iterations", iterations_of(found));
    if (const auto incomplete = found.is_object() ? count_in(found, "incomplete_count") : 0;
        incomplete > 0)
      screen_.fact("incomplete", numbers(found["incomplete"], incomplete), Paint::yellow);
    if (file_["space"].is_object()) space(file_["space"]);
    if (file_["parts"].is_array() && !file_["parts"].empty()) parts();
  }

  // Of files in pieces there may be thousands, called one like the other.
  void parts() {
    constexpr std::size_t kMostPieces = 4;
    const Json& all = file_["parts"];
    const std::string split = text_in(file_, "split");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_shown =
          split.empty() || all.size() <= kMostPieces || i == 0 || i + 1 == all.size();
      if (is_shown || !all[i]["there"])
        names.push_back(text_in(all[i], "file") + (all[i]["there"] ? "" : " (missing)"));
      else if (names.back() != "...")
        names.push_back("...");
    }
    const std::string what = split.empty()
                                 ? counted(all.size(), "part")
                                 : counted(all.size(), "file") + ", split=\"" + split + '"';
    screen_.fact("view of", what + ": " + joined(names, ", "));
  }

  void space(const Json& found) {
    const std::uint64_t overhead = count_in(found, "structures") + count_in(found, "tables") +
                                   count_in(found, "room") + count_in(found, "rest");
    const std::uint64_t all = std::max<std::uint64_t>(1, count_in(found, "values") + overhead);
    screen_.fact("values", shown_bytes(found, "values"));
    screen_.fact("overhead", format_bytes(overhead) + ", " + std::to_string(100 * overhead / all) +
                                 " % of the file");
    screen_.fact("", "structures " + shown_bytes(found, "structures") + ", tables " +
                         shown_bytes(found, "tables"));
    screen_.fact(
        "", "room " + shown_bytes(found, "room") + ", not in use " + shown_bytes(found, "rest"));
  }

  std::string title(const Json& list, const std::string& noun) const {
    std::uint64_t bytes = 0, stored = 0;
    for (const Json& each : list) {
      bytes += count_in(each, "bytes");
      stored += count_in(each, "stored_bytes");
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

  // What says least goes first where there is no room, then long names and shapes are cut.
  void datasets(const Json& list, const std::string& noun, bool of_run) {
    if (list.empty() && !of_run) return;
    screen_.section(title(list, noun));
    const auto may_go = [](Field field) {
      field.column.may_go = true;
      return field;
    };
    std::vector<Field> fields{text("name", "", 12), text("type"),
                              made({.title = "shape", .least = 12}, [=](const Json& each) {
                                return dataset_shape(each, of_run && is_of_iterations(each));
                              })};
    if (of_run)
      fields.push_back(
          made({.title = "written"}, [this](const Json& each) { return Cell{written(each)}; }));
    fields.insert(
        fields.end(),
        {may_go(text("unit")), bytes("bytes"), made({.title = "in file", .right = true}, in_file),
         made({.title = "ratio", .right = true}, ratio_of),
         may_go(made({.title = "filter"}, filters_of)), may_go(dim("description", "", 12))});
    screen_.table(list, fields);
  }

  // `key`: "scripts" or "products"; `kind`: what one of them is called.
  void products(const char* key, const std::string& kind) {
    for (const Json& source : file_[key]) {
      screen_.section(kind + " " + text_in(source, "name") + ", " +
                      counted(count_in(source, "iterations"), "iteration"));
      screen_.table(source["results"],
                    {text("result", "name", 10), text("type"),
                     made({.title = "shape", .least = 10},
                          [](const Json& each) { return dataset_shape(each, true); }),
                     text("unit"), text("last")});
    }
  }

  void parameters() {
    const Json& all = file_["parameters"];
    if (all.empty()) return;
    screen_.section(counted(all.size(), "parameter"));
    screen_.table(all, {text("name", "", 10), text("type"), text("last value", "last", 20)});
  }

  const Json& file_;
  Screen screen_;
};

}  // namespace

std::string file_screen(const Json& file, const Look& look) { return FileScreen(file, look).run(); }

}  // namespace leat::cli
