// SPDX-License-Identifier: Apache-2.0
// `leat ls`: what is in output files, in folders of them, and in running sessions.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/ls_screen.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLsVersion = 1;  // of the JSON

struct LsOptions {
  std::vector<std::string> names;
  std::string interpreter = "python3";
  bool json = false;
  double timeout = 0.5;
};

Json headed(const char* kind, const Json& facts) {
  Json whole{{"leat_ls", kLsVersion}, {"kind", kind}};
  whole.update(facts);
  return whole;
}

class Ls {
 public:
  explicit Ls(const LsOptions& options)
      : options_(options), sessions_(look_at_sessions(options.timeout)) {}

  int run() {
    std::vector<std::string> names = options_.names;
    if (names.empty()) names.push_back(".");
    for (const std::string& name : names) show_or_complain(name);
    return exit_code_;
  }

 private:
  // A ledger may have been written by anybody.
  void show_or_complain(const std::string& name) {
    try {
      show(name);
    } catch (const Json::exception& e) {
      complain(name + ": a ledger of it makes no sense: " + e.what());
    }
  }

  void show(const std::string& name) {
    std::error_code error;
    if (fs::is_directory(name, error)) return print(folder(name), folder_screen);
    if (fs::exists(name, error)) return file(name);
    for (const Json& session : sessions_) {
      if (session["session"] == name) return print(headed("session", session), session_screen);
    }
    std::vector<const Json*> runs;
    for (const Json& session : sessions_) {
      if (session.value("simulation", "") == name && session.value("server", 0) == 0)
        runs.push_back(&session);
    }
    if (runs.size() == 1) return print(headed("session", *runs.front()), session_screen);
    complain("there is no file \"" + name + "\" and no session of this name" + hint(name));
  }

  // Of the folder where the file would be, and of sessions.
  std::string hint(const std::string& name) const {
    const fs::path path = name;
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    if (!fs::is_directory(folder)) return ": there is no folder \"" + folder + "\" either";
    std::vector<std::string> names = output_files_in(folder);
    for (const Json& session : sessions_) names.push_back(session["session"].get<std::string>());
    std::vector<std::string> all = folders_in(folder);
    all.insert(all.end(), names.begin(), names.end());
    const std::string nearest = nearest_name(name, all);
    return nearest.empty() ? did_you_mean(name, names) : "; did you mean \"" + nearest + "\"?";
  }

  void file(const std::string& path) {
    Result<std::vector<Json>> read = look_at_files({path}, Depth::all, options_.interpreter);
    Json facts = read ? std::move(read->front()) : unread_file(path, read.error().message);
    add_session(&facts);
    add_parts(&facts);
    const std::string problem = facts["problem"].get<std::string>();
    if (problem.empty()) return print(headed("file", facts), file_screen);
    if (options_.json) print(headed("file", facts), file_screen);
    complain(path + ": " + advice_on(facts) +
             (problem == "it is no HDF5 file" ? ", and `leat ls` reads what a store of type hdf5 "
                                                "has written"
                                              : "") +
             (facts.value("needs_recover", false) ? " (" + problem + ")" : ""));
  }

  Json folder(const std::string& name) const {
    Json files = Json::array();
    std::uint64_t others = 0;
    for (Json& each : files_in(name)) {
      if (each["problem"] == "" && !each.value("made_by_leat", false)) {
        ++others;
        continue;
      }
      add_session(&each);
      if (each.value("lost", Json()).is_null()) each["lost"] = lost_so_far(each);
      files.push_back(std::move(each));
    }
    return headed("folder", {{"folder", name},
                             {"files", std::move(files)},
                             {"other_files", others},
                             {"checkpoints", checkpoints_below(name)},
                             {"sessions", sessions_}});
  }

  // Without a Python that can read them these are names and sizes.
  std::vector<Json> files_in(const std::string& name) const {
    const std::vector<std::string> paths = output_files_in(name);
    Result<std::vector<Json>> read = look_at_files(paths, Depth::brief, options_.interpreter);
    if (read) return std::move(*read);
    refuse("ls", read.error().message);
    std::vector<Json> files;
    for (const std::string& path : paths)
      files.push_back(unread_file(path, "not read: there is no Python with h5py"));
    return files;
  }

  static Json lost_so_far(const Json& file) {
    const Json ledger = ledger_beside(file);
    return ledger.is_object() ? ledger["lost"] : Json(nullptr);
  }

  void add_session(Json* file) const {
    const std::string session = file->value("session", "");
    bool lives = false;
    for (const Json& each : sessions_) {
      if (each["session"] != session) continue;
      lives = lives || each["state"] != "killed";
      if (each["state"] == "killed" && (*file)["state"] != "closed")
        (*file)["in_memory"] = each["in_memory"];
    }
    (*file)["session_alive"] = lives;
    if (file->contains("ledger")) note_server_gone(&(*file)["ledger"], lives, *file);
    // A view is made anew now and then, and written by nobody in between.
    if (lives && file->value("is_view", false) && (*file)["state"] == "unclosed")
      (*file)["state"] = "running";
  }

  // Nothing was there any more to say that the run is over.
  static void note_server_gone(Json* ledger, bool lives, const Json& file) {
    if (lives || !ledger->is_object() || ledger->value("state", "") != "running") return;
    const Json& held = file.value("in_memory", Json());
    (*ledger)["server_is_gone"] = true;
    (*ledger)["iterations_in_memory"] = held.is_object() ? held["iterations"].size() : 0;
  }

  // All parts of all variables of a view, and whether they are where it looks for them.
  static void add_parts(Json* file) {
    std::vector<std::string> names;
    for (const char* list : {"variables", "others"}) {
      for (const Json& variable : file->value(list, Json::array()))
        for (const Json& part : variable["parts"]) names.push_back(part.get<std::string>());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const fs::path folder = fs::path((*file)["file"].get<std::string>()).parent_path();
    (*file)["parts"] = Json::array();
    for (const std::string& name : names)
      (*file)["parts"].push_back({{"file", name}, {"there", fs::exists(folder / name)}});
  }

  void print(const Json& facts, std::string (*screen)(const Json&, const Look&)) {
    cli::print(options_.json ? text_of(facts)
                             : (any_ ? "\n" : "") + screen(facts, look_of(stdout)));
    any_ = true;
  }

  void complain(const std::string& message) { exit_code_ = refuse("ls", message); }

  const LsOptions& options_;
  std::vector<Json> sessions_;
  int exit_code_ = kGood;
  bool any_ = false;
};

}  // namespace

void add_ls(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<LsOptions>();
  CLI::App* verb = app.add_subcommand(
      "ls",
      "Shows what is in an output file, a folder of them or of checkpoints, or a running session.");
  verb->add_option("NAME", options->names,
                   "A file, a folder (default: the current one, and your running sessions), or the "
                   "name of a running session");
  verb->add_flag("--json", options->json,
                 "JSON on standard output, an object for each name, and nothing else");
  verb->add_option("--timeout", options->timeout,
                   "Seconds that the servers of running sessions have to answer")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--interpreter", options->interpreter,
                   "Python with h5py, which reads files (default: python3 in PATH)");
  verb->footer(
      "Changes nothing, and no run waits for it. Exit codes: 0 good; 1 something is not there or "
      "cannot "
      "be read; 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = Ls(*options).run(); });
}

}  // namespace leat::cli
