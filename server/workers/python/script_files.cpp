// SPDX-License-Identifier: Apache-2.0
#include "server/workers/python/script_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/model/words.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"

namespace leat::server {

std::string python_launcher() { return os::path_beside_program(LEAT_PYTHON_FOLDER "/launch.py"); }

std::string variable_of_python() {
  const char* const users = std::getenv("PYTHONPATH");
  return "PYTHONPATH=" + os::path_beside_program(LEAT_PYTHON_FOLDER) +
         (users && *users ? ":" + std::string(users) : "");
}

Result<std::string> find_python(const std::string& interpreter, const std::string& packages) {
  const std::string python = os::find_program(interpreter);
  if (python.empty())
    return Error{Status::ERROR_SYSTEM, "there is no program \"" + interpreter +
                                           "\": install Python 3" +
                                           (packages.empty() ? "" : " with " + packages) +
                                           ", or say --interpreter /path/to/python3"};
  if (!std::filesystem::exists(python_launcher()))
    return Error{Status::ERROR_SYSTEM,
                 "this Leat was built with LEAT_PYTHON=OFF, without its programs in Python"};
  return python;
}

Result<std::string> run_python_tool(const std::string& interpreter,
                                    const std::vector<std::string>& words, const std::string& input,
                                    double seconds) {
  std::vector<std::string> all{interpreter, python_launcher()};
  all.insert(all.end(), words.begin(), words.end());
  return os::run_program(all, input, static_cast<std::int64_t>(seconds * 1e9));
}

namespace {

namespace fs = std::filesystem;

class Finder {
 public:
  explicit Finder(GraphPlans& plans) : plans_(plans) {}
  void look_into(const model::ScriptSource& source, std::size_t index) {
    if (source.form() == model::ScriptForm::graph) return add_modules(source, index);
    if (!source.is_folder) return add(source.path, index);
    const os::FileFacts folder = os::facts_of(source.path);
    if (folder.error != 0) {
      return problem("the folder " + source.path + ": " + os::errno_text(folder.error));
    }
    if (std::string why = os::why_unsafe(source.path); !why.empty()) return problem(why);
    for (const std::string& path : scripts_in(source.path)) add(path, index);
  }
  ScriptScan take() { return std::move(scan_); }

 private:
  static std::vector<std::string> scripts_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
      if (error) break;
      const std::string name = entry->path().filename().string();
      if (entry->path().extension() == ".py" && name[0] != '_' && name[0] != '.')
        paths.push_back(entry->path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void add(const std::string& path, std::size_t source) {
    const os::FileFacts file = os::facts_of(path);
    if (file.error == ENOENT) return;  // removed just now
    if (file.error != 0) return problem(path + ": " + os::errno_text(file.error));
    if (std::string why = os::why_unsafe_to_run(path); !why.empty()) return problem(why);
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    scan_.files.push_back({unique_name(whole), whole.string(), source, file.stamp});
  }

  // A change of one module is none of the others.
  void add_modules(const model::ScriptSource& of, std::size_t source) {
    const std::string& path = of.path;
    const os::FileFacts file = os::facts_of(path);
    if (file.error == ENOENT) return;
    if (file.error != 0) return problem(path + ": " + os::errno_text(file.error));
    if (std::string why = os::why_unsafe_to_run(path); !why.empty()) return problem(why);
    const Result<GraphPlan> graph = plans_.read(path, file.stamp);
    if (!graph) {
      scan_.unreadable.insert(source);
      return problem("the graph " + path + ": " + graph.error().message);
    }
    std::error_code error;
    for (const std::shared_ptr<const ModulePlan>& each : graph->modules) {
      if (each->on_staging != (of.at == model::At::staging)) continue;
      if (!names_.insert(each->name).second) {
        problem("the graph " + path + ": module \"" + each->name +
                "\" is called as another script");
        continue;
      }
      const std::string whole = fs::absolute(path, error).string() + ", module " + each->name;
      scan_.files.push_back({each->name, whole, source, each->stamp, each});
    }
  }

  // The second monitor.py is called after its folder too.
  std::string unique_name(const fs::path& path) {
    std::string name = path.stem().string();
    for (fs::path folder = path.parent_path(); !names_.insert(name).second;
         folder = folder.parent_path()) {
      name = (folder.has_filename() ? folder.filename().string() : "again") + "_" + name;
    }
    return name;
  }

  void problem(std::string text) { scan_.problems.push_back(std::move(text)); }

  GraphPlans& plans_;
  ScriptScan scan_;
  std::set<std::string> names_;
};

}  // namespace

nlohmann::json foreign_words(const model::ScriptSource& source, const model::Model& model) {
  if (!source.foreign) return nullptr;
  const model::ForeignScript& script = *source.foreign;
  nlohmann::json words{{"form", model::word_of(script.form)},
                       {"every", script.every},
                       {"args", script.args},
                       {"scope", model::word_of(script.scope)},
                       {"variables", nlohmann::json::array()}};
  for (const std::uint32_t variable : script.variables)
    words["variables"].push_back(model.variables[variable].name);
  return words;
}

nlohmann::json dask_words(const model::ScriptSource& source) {
  if (!source.dask) return nullptr;
  return {{"scheduler_file", source.dask->file},
          {"threads", source.dask->threads},
          {"timeout", source.dask->timeout_seconds}};
}

ScriptScan find_scripts(const std::vector<model::ScriptSource>& sources, GraphPlans& plans) {
  Finder finder(plans);
  for (std::size_t i = 0; i < sources.size(); ++i) finder.look_into(sources[i], i);
  return finder.take();
}

std::string why_not_usable(const model::ScriptSource& source) {
  const os::FileFacts found = os::facts_of(source.path);
  if (source.is_folder ? found.is_folder : found.is_file)
    return source.is_folder ? os::why_unsafe(source.path) : os::why_unsafe_to_run(source.path);
  std::error_code error;
  return std::string("there is no ") + (source.is_folder ? "folder \"" : "file \"") +
         fs::absolute(source.path, error).string() +
         "\": paths of scripts start from the working folder of the run";
}

std::vector<model::Diagnostic> script_problems(const model::Scripts& scripts) {
  std::vector<model::Diagnostic> problems;
  const auto add = [&](const model::SourceLocation& where, std::string text) {
    if (!text.empty()) problems.push_back({model::Severity::error, where, std::move(text)});
  };
  if (os::find_program(scripts.interpreter).empty()) {
    add(scripts.where, "there is no program \"" + scripts.interpreter +
                           "\" to run the <scripts> with: install Python 3 with NumPy, or say "
                           "interpreter=\"/path/to/python3\"");
  }
  if (std::error_code error; !fs::exists(python_launcher(), error)) {
    add(scripts.where,
        "this Leat has no support for scripts: it was built with LEAT_PYTHON=OFF, or \"" +
            python_launcher() + "\" was removed");
  }
  for (const model::ScriptSource& source : scripts.sources)
    add(source.where, why_not_usable(source));
  return problems;
}

}  // namespace leat::server
