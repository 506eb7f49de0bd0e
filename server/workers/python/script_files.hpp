// SPDX-License-Identifier: Apache-2.0
// Which scripts there are on disk, and how Python is started.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/workers/python/module_plan.hpp"

namespace leat::server {

// The Python side of Leat, as programs start it: <libdir>/leat/python/launch.py <tool>.

/// Path of launch.py, beside the installation that the running program is part of.
std::string python_launcher();
/// The variable by which a program finds `import leat`, before what the user has.
std::string variable_of_python();

/// Path of the interpreter that `launch.py` may be given to. Fails when there is none, or no
/// launch.py: the message says what to do. `packages`: that it needs, "h5py"; "": none.
Result<std::string> find_python(const std::string& interpreter, const std::string& packages);

/// Runs `launch.py words...` with `input` as its standard input; what it writes to standard output.
/// Fails as os::run_program does.
Result<std::string> run_python_tool(const std::string& interpreter,
                                    const std::vector<std::string>& words, const std::string& input,
                                    double seconds);

// Which scripts there are on disk.
struct ScriptFile {
  std::string name;                            ///< "hottest" for analysis/hottest.py; unique
  std::string path;                            ///< absolute
  std::size_t source = 0;                      ///< of model::Scripts
  std::uint64_t stamp = 0;                     ///< another one when the file has changed
  std::shared_ptr<const ModulePlan> module{};  ///< of a graph: `path` names it, too

  bool operator==(const ScriptFile&) const = default;
};

struct ScriptScan {
  std::vector<ScriptFile> files;      ///< by source, then by name
  std::vector<std::string> problems;  ///< files that are not used, and why
  std::set<std::size_t>
      unreadable{};  ///< sources, graphs that cannot be read now: what was in them goes on
};

/// What a worker is told of a script that is written for others; null of Leat's own.
nlohmann::json foreign_words(const model::ScriptSource& source, const model::Model& model);
/// The user's own Dask scheduler; null where there is none.
nlohmann::json dask_words(const model::ScriptSource& source);

/// Looks at the folders now. Never throws: what cannot be read is a problem.
ScriptScan find_scripts(const std::vector<model::ScriptSource>& sources, GraphPlans& plans);

/// "" or why a run cannot start with it: no such folder, or one that everybody may write to.
std::string why_not_usable(const model::ScriptSource& source);

/// Why a run cannot start with these scripts, all of it: no interpreter, sources that are not
/// usable.
std::vector<model::Diagnostic> script_problems(const model::Scripts& scripts);

}  // namespace leat::server
