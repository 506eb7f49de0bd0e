// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/ledger.hpp"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kMark = "leat_ledger";
constexpr const char* kNotWritten = "cannot write the ledger";

bool is_ledger(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), kMark, H5P_DEFAULT), kNotWritten) > 0;
}

}  // namespace

std::string name_of_ledger(hid_t file) {
  for (std::string name = own_group(file) + "ledger"; is_in(file, name); name += "_") {
    if (is_ledger(file, name)) return name;
  }
  return "";
}

std::string ledger_text(hid_t file, const std::string& name) {
  const Id dataset = open_dataset(file, name), type(H5Dget_type(dataset), name);
  std::string text(product(extents_of(dataset)) * H5Tget_size(type), '\0');
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "cannot read " + name);
  return text;
}

void write_ledger_text(hid_t file, const std::string& name, const std::string& json) {
  const Shape length{json.size()};
  const Id dataset(H5Dcreate2(file, name.c_str(), H5T_C_S1, space_of(length), link_creation(),
                              H5P_DEFAULT, H5P_DEFAULT),
                   kNotWritten);
  check(H5Dwrite(dataset, H5T_C_S1, H5S_ALL, H5S_ALL, H5P_DEFAULT, json.data()), kNotWritten);
  set_attribute(dataset, kMark, std::int64_t{1});
  set_attribute(dataset, "long_name", "what was written, stored, dropped and lost, as JSON");
  Dataset scale = make_dimension(file, name + "_length", json.size(), false);
  Dataset(file, name).attach_scale(0, scale);
}

namespace {

constexpr const char* kLoss = "leat_lost_before";

void remove_old(hid_t file, const std::string& name) {
  for (const std::string& old : {name, name + "_length"}) {
    if (is_in(file, old)) check(H5Ldelete(file, old.c_str(), H5P_DEFAULT), kNotWritten);
  }
}

// An earlier one goes, and its dimension.
std::string free_name(hid_t file) {
  std::string name = name_of_ledger(file);
  if (name.empty()) {
    name = own_group(file) + "ledger";
    while (is_in(file, name) || is_in(file, name + "_length")) name += "_";
    return name;
  }
  remove_old(file, name);
  return name;
}

}  // namespace

// Of a line of its own: within a text a line end would be written as \n.
std::int64_t losses_in(const std::string& json) {
  const std::string key = "\n  \"lost\": ";
  const std::size_t at = json.find(key);
  return at == std::string::npos ? 0 : std::strtoll(json.c_str() + at + key.size(), nullptr, 10);
}

void write_ledger(hid_t file, const std::string& json) {
  if (json.empty()) return;
  write_ledger_text(file, free_name(file), json);
  set_attribute(file, "lost", losses_in(json));
}

void remove_ledger(hid_t file) {
  if (const std::string name = name_of_ledger(file); !name.empty()) remove_old(file, name);
  remove_attribute(file, "lost");
  remove_attribute(file, kLoss);
}

void note_loss(hid_t file, const std::string& loss) {
  if (!loss.empty()) set_attribute(file, kLoss, loss);
}

std::string noted_loss(hid_t file) { return text_attribute(file, kLoss, ""); }

std::string loss_of_stored(const std::string& json, const std::string& store) {
  const auto ledger = nlohmann::json::parse(json, nullptr, false);
  if (!ledger.is_object()) return "";
  for (const auto& one : ledger.value("stores", nlohmann::json::array())) {
    const std::int64_t until = one.value("stored_until", std::int64_t{-1});
    if (one.value("name", "") == store && until >= 0)
      return "what was stored before the server died, up to iteration " + std::to_string(until) +
             " at least, is lost: the file in which it was has been removed or renamed";
  }
  return "";
}

}  // namespace leat::hdf5
