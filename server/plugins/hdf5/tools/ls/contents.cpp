// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/ls/contents.hpp"

#include <set>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kVtk[] = "VTKHDF";
constexpr char kNoCoordinates[] = "This is a netCDF dimension but not a netCDF variable";
constexpr int kDeepest = 32;  // groups in groups

enum class Role { variable, parameter, ledger, dimension, scale, plain };

struct Found {
  std::string name;
  Role role;
};

Role role_of(hid_t dataset) {
  if (says(dataset, "leat_layout")) return Role::variable;
  if (says(dataset, "leat_parameter")) return Role::parameter;
  if (says(dataset, "leat_ledger")) return Role::ledger;
  if (text_of(dataset, "CLASS") != "DIMENSION_SCALE") return Role::plain;
  return text_of(dataset, "NAME").rfind(kNoCoordinates, 0) == 0 ? Role::dimension : Role::scale;
}

// All datasets under their first names; groups for VTK are not entered.
class Walk {
 public:
  explicit Walk(hid_t file) : file_(file) { group("", 0); }
  std::vector<Found> datasets;
  std::vector<std::string> vtkhdf;
  Names names;

 private:
  void group(const std::string& prefix, int depth) {
    const Id here(H5Gopen2(file_, ("/" + prefix).c_str(), H5P_DEFAULT), "cannot open a group");
    for (const std::string& name : names_in(here, false)) object(here, prefix, name, depth);
  }

  void object(hid_t group_id, const std::string& prefix, const std::string& name, int depth) {
    const Id object(H5Oopen(group_id, name.c_str(), H5P_DEFAULT), "cannot open " + name);
    const H5I_type_t kind = H5Iget_type(object);
    if (kind == H5I_DATASET) {
      datasets.push_back({prefix + name, role_of(object)});
      names.emplace(address_of(object), prefix + name);
    }
    if (kind != H5I_GROUP) return;
    if (prefix.empty() && name.rfind(kVtk, 0) == 0) {
      vtkhdf.push_back(name);
    } else if (depth < kDeepest && visited_.insert(address_of(object)).second) {
      group(prefix + name + "/", depth + 1);
    }
  }

  hid_t file_;
  std::set<haddr_t> visited_;
};

class Sorter {
 public:
  Sorter(hid_t file, const std::vector<Found>& datasets, Contents* to)
      : file_(file), datasets_(datasets), to_(*to) {
    for (const Found& each : datasets_) named_[each.name] = each.role;
  }

  void run() {
    for (const Found& each : datasets_) {
      if (each.role == Role::variable) variable(each.name);
      if (each.role == Role::parameter) to_.parameters.push_back(each.name);
      if (each.role == Role::ledger) to_.ledger = each.name;
    }
    to_.iterations = companion("iteration", Role::scale);
    if (to_.iterations.empty()) to_.iterations = companion("iteration", Role::plain);
    to_.complete = own("iteration_complete");
    for (const Found& each : datasets_) rest(each);
  }

 private:
  // A name that a variable had already has '_' behind it.
  std::string companion(std::string name, Role role) {
    for (; named_.count(name) > 0; name += "_") {
      if (named_[name] != role) continue;
      belonging_.insert(name);
      return name;
    }
    return "";
  }

  // The store's own tables lie in a group; in files of an older Leat beside the variable.
  std::string own(const std::string& name) {
    for (const char* group : {"leat/", "leat_/", "leat__/"}) {
      if (std::string found = companion(group + name, Role::plain); !found.empty()) return found;
    }
    return companion(name, Role::plain);
  }

  void variable(const std::string& name) {
    to_.variables.push_back(name);
    // With "_rank" and "_block" in the files of an older Leat.
    for (const char* suffix : {"_rank", "_block", "_count", "_extent", "_stored"})
      companion(name + suffix, Role::plain);
    const std::string blocks = text_of(open_dataset(file_, name), "leat_blocks");
    if (!blocks.empty() && tables_.insert(blocks).second) {
      for (const char* suffix : {"_rank", "_number", "_iteration", "_count", "_level", "_lo"})
        companion(blocks + suffix, Role::plain);
    }
    for (const char* suffix : {"_global", "_region"}) own(name + suffix);
    const std::string written = own(name + "_written");
    if (!written.empty()) to_.written[name] = written;
  }

  void rest(const Found& each) {
    if (belonging_.count(each.name) > 0) return;
    if (each.role != Role::plain && each.role != Role::scale) return;
    const std::size_t root = each.name.find('/');
    const std::size_t end = root == std::string::npos ? root : each.name.find('/', root + 1);
    const std::string in = each.name.substr(0, root);
    if ((in != "scripts" && in != "products") || end == std::string::npos) {
      to_.others.push_back(each.name);
    } else if (each.role == Role::plain) {
      to_.results[each.name.substr(0, end)].push_back(each.name);
    }
  }

  hid_t file_;
  const std::vector<Found>& datasets_;
  Contents& to_;
  std::map<std::string, Role> named_;
  std::set<std::string> belonging_, tables_;
};

}  // namespace

Contents contents_of(hid_t file, bool made_by_leat) {
  Walk walk(file);
  Contents contents;
  contents.vtkhdf = std::move(walk.vtkhdf);
  contents.names = std::move(walk.names);
  if (made_by_leat) {
    Sorter(file, walk.datasets, &contents).run();
  } else {
    for (const Found& each : walk.datasets) contents.others.push_back(each.name);
  }
  return contents;
}

}  // namespace leat::hdf5
