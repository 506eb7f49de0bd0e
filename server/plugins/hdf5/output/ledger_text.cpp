// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/ledger_text.hpp"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kMark = "leat_ledger";  // on our own, for whoever comes back to the file
constexpr const char* kLoss = "leat_lost_before";
constexpr const char* kWhat = "cannot write the ledger";

bool is_ledger(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), kMark, H5P_DEFAULT), kWhat) > 0;
}

std::string free_name(hid_t file) {
  std::string name = "ledger";
  while (is_in(file, name) && !is_ledger(file, name)) name += "_";
  if (is_in(file, name)) check(H5Ldelete(file, name.c_str(), H5P_DEFAULT), kWhat);
  return name;
}

// Of a line of its own: within a text a line end would be written as \n.
std::int64_t lost_of(const std::string& json) {
  const std::string key = "\n  \"lost\": ";
  const std::size_t at = json.find(key);
  return at == std::string::npos ? 0 : std::strtoll(json.c_str() + at + key.size(), nullptr, 10);
}

}  // namespace

void write_ledger(hid_t file, const std::string& json) {
  if (json.empty()) return;
  const Id type = text_type(json.size());
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), kWhat);
  const Id dataset(H5Dcreate2(file, free_name(file).c_str(), type, space_of({}), H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT),
                   kWhat);
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, json.data()), kWhat);
  set_attribute(dataset, kMark, std::int64_t{1});
  set_attribute(dataset, "long_name", "what was written, stored, dropped and lost, as JSON");
  set_attribute(file, "lost", lost_of(json));
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
