// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/ls/facts.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/file_place.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/tools/ls/contents.hpp"
#include "server/plugins/hdf5/tools/ls/dataset_facts.hpp"
#include "server/plugins/hdf5/tools/ls/space.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

// A reader may come in the midst of a commit, which takes less than this.
constexpr int kTries = 10;
constexpr std::chrono::milliseconds kPause(20);
constexpr std::size_t kMostListed = 1000;  // iterations that are not complete

// In equal steps, or null.
Json step_of(const std::vector<std::int64_t>& numbers) {
  if (numbers.size() < 2) return nullptr;
  const std::int64_t step = numbers[1] - numbers[0];
  for (std::size_t i = 2; i < numbers.size(); ++i)
    if (numbers[i] - numbers[i - 1] != step) return nullptr;
  return step;
}

class FileFacts {
 public:
  FileFacts(const std::string& path, Detail detail) : path_(path), detail_(detail) {
    // HDF5 would wait for a pipe.
    if (const OpenedFile opened(path, O_RDONLY); !opened.why().empty())
      throw std::runtime_error("it " + opened.why());
    const Id access(H5Pcreate(H5P_FILE_ACCESS), path);
    file_ = Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "HDF5 cannot open it");
    made_by_leat_ = says(file_, "leat_version");
    contents_ = contents_of(file_, made_by_leat_);
  }

  void add_to(Json* to) {
    Json& facts = *to;
    facts["made_by_leat"] = made_by_leat_;
    facts["layout"] = has_single_iteration() ? kDamarisLayout : made_by_leat_ ? "leat" : "";
    facts["simulation"] = text_of(file_, "simulation");
    facts["session"] = text_of(file_, "session");
    facts["ranks"] = number_of(file_, "ranks", 0);
    facts["leat_version"] = text_of(file_, "leat_version");
    facts["lost"] = says(file_, "lost") ? Json(number_of(file_, "lost", 0)) : Json(nullptr);
    facts["iterations"] = iterations();
    facts["variable_count"] = variable_count();
    if (detail_ == Detail::all) add_details(&facts);
  }

 private:
  void add_details(Json* facts) {
    Json variables = Json::array(), parameters = Json::array(), others = Json::array();
    for (const std::string& name : contents_.variables) variables.push_back(variable(name));
    for (const std::string& name : contents_.parameters) parameters.push_back(parameter(name));
    for (const std::string& name : contents_.others) others.push_back(other(name));
    const auto declared = [](const Json& a, const Json& b) { return a["number"] < b["number"]; };
    std::stable_sort(variables.begin(), variables.end(), declared);
    (*facts)["variables"] = std::move(variables);
    (*facts)["others"] = std::move(others);
    (*facts)["scripts"] = made_in("scripts");
    (*facts)["products"] = made_in("products");
    (*facts)["parameters"] = std::move(parameters);
    (*facts)["vtkhdf"] = vtkhdf();
    (*facts)["space"] = space_of(file_, contents_, (*facts)["bytes"].get<std::uint64_t>());
    (*facts)["ledger"] = ledger();
  }

  Id open(const std::string& name) const { return open_dataset(file_, name); }

  // In a file of a single iteration a variable has a dataset for each block.
  std::size_t variable_count() const {
    if (!has_single_iteration()) return contents_.variables.size();
    std::set<std::int64_t> numbers;
    for (const std::string& name : contents_.variables)
      numbers.insert(number_of(open(name), "leat_number", 0));
    return numbers.size();
  }

  bool has_single_iteration() const { return text_of(file_, "leat_layout") == kDamarisLayout; }

  Json single_iteration() {
    rows_ = 1;
    const Json number = number_of(file_, kIteration, 0);
    const bool complete = number_of(file_, "iteration_complete", 1) != 0;
    return {{"count", 1},
            {"first", number},
            {"last", number},
            {"step", nullptr},
            {"incomplete_count", complete ? 0 : 1},
            {"incomplete", complete ? Json::array() : Json::array({number})}};
  }

  Json iterations() {
    if (has_single_iteration()) return single_iteration();
    if (contents_.iterations.empty()) return nullptr;
    const std::vector<std::int64_t> numbers = integers_in(open(contents_.iterations));
    rows_ = numbers.size();
    Json incomplete = Json::array();
    std::uint64_t count = 0;
    if (!contents_.complete.empty()) {
      const std::vector<std::int64_t> complete = integers_in(open(contents_.complete), rows_);
      for (std::size_t row = 0; row < complete.size(); ++row) {
        if (complete[row] == 0 && ++count <= kMostListed) incomplete.push_back(numbers[row]);
      }
    }
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    return {{"count", rows_},
            {"first", numbers.empty() ? Json(nullptr) : Json(*least)},
            {"last", numbers.empty() ? Json(nullptr) : Json(*most)},
            {"step", step_of(numbers)},
            {"incomplete_count", count},
            {"incomplete", std::move(incomplete)}};
  }

  Json variable(const std::string& name) const {
    Json facts = facts_of_dataset(file_, name, contents_.names);
    const Id dataset = open(name);
    facts["number"] = number_of(dataset, "leat_number", 0);
    facts["layout"] = text_of(dataset, "leat_layout");
    facts["of_blocks"] = says(dataset, "leat_blocks");
    facts["iterations"] = Json(nullptr);
    if (says(dataset, "leat_constant")) return facts;
    std::uint64_t written = rows_;
    if (const auto found = contents_.written.find(name); found != contents_.written.end()) {
      const std::vector<std::int64_t> rows = integers_in(open(found->second), rows_);
      written = static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), 1));
    }
    facts["iterations"] = written;
    return facts;
  }

  // A scale has coordinates: those that have none are no datasets to speak of.
  Json other(const std::string& name) const {
    Json facts = facts_of_dataset(file_, name, contents_.names);
    // H5DSis_scale frees twice what it cannot read (1.10.8).
    facts["is_coordinate"] = made_by_leat_ && text_of(open(name), "CLASS") == "DIMENSION_SCALE";
    return facts;
  }

  Json parameter(const std::string& name) const {
    const Id dataset = open(name), type(H5Dget_type(dataset), name);
    return {{"name", text_of(dataset, "leat_parameter")},
            {"type", is_list_of_texts(dataset) ? "text" : type_name(type)},
            {"last", rows_ > 0 ? element(dataset, rows_ - 1) : Json(nullptr)}};
  }

  // What the scripts, or the plugins, of the run made: `root` is "scripts" or "products".
  Json made_in(const std::string& root) const {
    Json all = Json::array();
    for (const auto& [group, datasets] : contents_.results) {
      if (group.rfind(root + "/", 0) == 0) all.push_back(source(group, datasets));
    }
    return all;
  }

  Json source(const std::string& group, const std::vector<std::string>& datasets) const {
    const std::string prefix = group + "/", name = group.substr(group.find('/') + 1);
    Json results = Json::array();
    const std::string numbers = prefix + "iteration";
    const std::uint64_t rows = is_in(file_, numbers) ? integers_in(open(numbers)).size() : 0;
    for (const std::string& each : datasets) {
      Json facts = facts_of_dataset(file_, each, contents_.names);
      facts["name"] = each.substr(prefix.size());
      const bool is_list = facts["shape"].size() == 1 && rows > 0;
      facts["last"] = is_list ? element(open(each), rows - 1) : Json(nullptr);
      results.push_back(std::move(facts));
    }
    return {{"name", name}, {"iterations", rows}, {"results", std::move(results)}};
  }

  Json vtkhdf() const {
    Json groups = Json::array();
    for (const std::string& name : contents_.vtkhdf) {
      const Id group(H5Gopen2(file_, name.c_str(), H5P_DEFAULT), "cannot open " + name);
      Json arrays = arrays_in(group, "");
      if (H5Lexists(group, "Level0", H5P_DEFAULT) > 0)  // an amr mesh: all levels have the same
        arrays = arrays_in(Id(H5Gopen2(group, "Level0", H5P_DEFAULT), name), "");
      for (const std::string& mesh : names_in(group, false)) add_mesh(group, mesh, &arrays);
      groups.push_back({{"name", name}, {"type", text_of(group, "Type")}, {"arrays", arrays}});
    }
    return groups;
  }

  // A collection has a group for each mesh.
  static void add_mesh(hid_t collection, const std::string& name, Json* arrays) {
    const Id mesh(H5Oopen(collection, name.c_str(), H5P_DEFAULT), name);
    if (H5Iget_type(mesh) != H5I_GROUP || !says(mesh, "Type")) return;
    for (const Json& each : arrays_in(mesh, name + "/")) arrays->push_back(each);
  }

  static Json arrays_in(hid_t group, const std::string& prefix) {
    Json arrays = Json::array();
    for (const char* kind : {"PointData", "CellData", "FieldData"}) {
      if (H5Lexists(group, kind, H5P_DEFAULT) <= 0) continue;
      const Id data(H5Gopen2(group, kind, H5P_DEFAULT), kind);
      for (const std::string& name : names_in(data, false)) arrays.push_back(prefix + name);
    }
    return arrays;
  }

  // Its text, for who understands it.
  Json ledger() const {
    if (contents_.ledger.empty()) return nullptr;
    const Id dataset = open(contents_.ledger), type(H5Dget_type(dataset), "ledger");
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) return nullptr;
    std::string text(product(extents_of(dataset)) * H5Tget_size(type), '\0');
    check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "ledger");
    return text;
  }

  std::string path_;
  Detail detail_;
  Id file_;
  bool made_by_leat_ = false;
  Contents contents_;
  std::uint64_t rows_ = 0;
};

// What has been left beside it.
enum class Trace { none, left, unfinished_commit };

Trace trace_of(const std::string& path) {
  if (has_unfinished_commit(path)) return Trace::unfinished_commit;
  return fs::exists(journal_of(path)) || FileLock::is_left(path) ? Trace::left : Trace::none;
}

// The last thing that a store writes is the ledger.
const char* state_of(bool is_written, Trace trace, const Json& facts) {
  if (is_written) return "running";
  if (trace != Trace::none) return "killed";
  const bool is_ours = facts.value("made_by_leat", false);
  const bool is_whole = facts.value("layout", "") == kDamarisLayout;  // since it has a name
  return !is_ours || is_whole || !facts["lost"].is_null() ? "closed" : "unclosed";
}

void read(const std::string& path, Detail detail, Json* facts) {
  for (int tries = 1;; ++tries) {
    const bool is_written = FileLock::is_taken(path);
    const Trace trace = is_written ? Trace::none : trace_of(path);
    (*facts)["problem"] = "";
    (*facts)["needs_recover"] = trace == Trace::unfinished_commit;
    try {
      FileFacts(path, detail).add_to(facts);
      (*facts)["state"] = state_of(is_written, trace, *facts);
      return;
    } catch (const std::exception& e) {
      (*facts)["problem"] = e.what();
      (*facts)["state"] = state_of(is_written, trace, Json::object());
      if (!is_written || tries == kTries) return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Json facts_of_file(const std::string& path, Detail detail) {
  be_quiet();
  std::error_code error;
  Json facts{{"file", path}, {"state", ""}, {"problem", ""}, {"bytes", fs::file_size(path, error)}};
  if (error) {
    facts["bytes"] = 0;
    facts["problem"] = error.message();
    return facts;
  }
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    facts["problem"] =
        ::access(path.c_str(), R_OK) == 0 ? "it is no HDF5 file" : "you may not read it";
    return facts;
  }
  read(path, detail, &facts);
  return facts;
}

}  // namespace leat::hdf5
