// SPDX-License-Identifier: Apache-2.0
// What a file says of its run, so that who has nothing but the file (`leat view`, `leat merge`)
// knows the variables and meshes as the store knew them: the root attribute "leat_run", a JSON text
// beside "leat_xml", which only the server can read. A text of any length goes into it: HDF5 keeps
// those of variable length outside of the attribute, whose own limit is 64 KiB.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/stored_as.hpp"
#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

/// Option of the store, "true": the file has one row, and that of a run that goes on takes its place. The server says so of every="last".
inline constexpr const char* kOneRow = "one-row";
bool has_one_row(const leat_run& run);

/// The attribute.
inline constexpr const char* kRunText = "leat_run";

/// Keeps it in the file, unless it is there. It is the same in all parts of a run: nothing in it is
/// of one node.
void describe_run(hid_t file, const leat_run& run);
/// In the place of what is there: another run goes on in the file.
void describe_run_anew(hid_t file, const leat_run& run);

/// What of a variable stands at its dataset as attributes, by lib/model/fields.def: `units`, `long_name`, those of the CF conventions.
void describe_variable(hid_t dataset, const leat_variable& variable);

/// The option of a variable that names another one, which has the error of storing it.
inline constexpr char kErrorIn[] = "error-in";
inline constexpr char kErrorOf[] = "error-of";  ///< of that one: it names the first
/// What values are made of those in the dataset, by the CF conventions: "scale_factor", "add_offset"; and where their error is.
void describe_storing(hid_t dataset, const leat_variable& variable);
/// How its values are stored; as they are without options that say so.
StoredAs stored_as(const leat_variable& variable);

class DescribedRun;
/// What the file says; none where it says nothing that this version knows: parts of older versions have no description, and are shown without.
std::unique_ptr<DescribedRun> described_run(hid_t file);

/// The run as one server has it that has all of its ranks: node_ranks is ranks, first_rank is 0.
class DescribedRun {
 public:
  /// Throws when the file does not describe its run: it is none of Leat's; or a newer version describes
  /// it in a way that this one does not know.
  explicit DescribedRun(hid_t file);
  DescribedRun(const DescribedRun&) = delete;
  DescribedRun& operator=(const DescribedRun&) = delete;
  /// Valid as long as this object; so is all that it points to. Those which the parameters are is
  /// not known: time_parameter is only their number, -1 for none.
  const leat_run& run() const { return run_; }

 private:
  struct Reader;

  std::deque<std::string> texts_;
  std::deque<std::vector<leat_option>> options_;
  std::vector<leat_variable> variables_;
  std::vector<leat_mesh> meshes_;
  leat_run run_{};
};

}  // namespace leat::hdf5
