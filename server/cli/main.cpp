// SPDX-License-Identifier: Apache-2.0
// The program `leat`: finds the verb, and says what there is when there is none.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "lib/base/text.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/verbs.hpp"

namespace {

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

bool is_unknown_verb(const std::vector<std::string>& verbs, const std::string& word) {
  return !word.starts_with('-') && std::find(verbs.begin(), verbs.end(), word) == verbs.end();
}

int refuse_verb(const std::vector<std::string>& verbs, const std::string& word) {
  const std::string hint = leat::did_you_mean(word, verbs);
  std::fprintf(stderr, "leat: there is no command \"%s\"%s\n", word.c_str(), hint.c_str());
  return leat::cli::kUsage;
}

}  // namespace

namespace {

// Of the verbs those that one needs first, in the order of a run's life.
constexpr const char* kOverview =
    R"(Leat stores and analyses what a simulation puts out, while it computes on.

Before a run
  leat doctor                  what is missing or wrong on this machine
  leat check heat.xml          all errors of the XML, or what the run will be
  leat plan heat.xml           how long a run takes, in each way of output
  leat launch heat.xml ...     the line of mpirun or srun for it
While it runs
  leat top                     what your runs do, as they go on; keys steer
  leat dash                    the same as a page, with pictures and fields
  leat ctl heat set dt=0.25    gives a parameter another value
Afterwards
  leat report heat             what became of it; --html makes a page
  leat trace heat              who was at work when; --svg draws it
  leat ls heat.h5              what is in its file
  leat recover heat.h5         finishes what a killed run has left
  leat replay ...              runs analysis scripts on what is stored

All commands: leat --help. One of them: leat check --help.
)";

struct Group {
  const char* title;
  std::vector<const char*> verbs;
};

// Titles come in the order in which the first verb of each is added.
void put_into_groups(CLI::App& app) {
  const std::vector<Group> groups = {
      {"Before a run",
       {"check", "convert", "doctor", "launch", "model", "placement", "plan", "predict"}},
      {"While it runs", {"ctl", "top", "dash", "graph", "staging"}},
      {"Afterwards",
       {"ls", "report", "replay", "trace", "merge", "view", "xdmf", "zarr", "openpmd", "recover",
        "clean"}}};
  for (const Group& group : groups)
    for (const char* verb : group.verbs) app.get_subcommand(verb)->group(group.title);
}

// Who leaves something out sees what there is: the verbs of `leat ctl`, the options of `leat check`.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
  if (error.get_name() != "RequiredError") return CLI::FailureMessage::simple(app, error);
  return std::string(error.what()) + "\n\n" + app->help();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace leat::cli;
  if (argc == 1) {
    print(kOverview);
    return kGood;
  }
  if (const auto done = run_python_verb({argv + 1, argv + argc})) return *done;
  CLI::App app("Leat stores and analyses what a simulation puts out, while it computes on.",
               "leat");
  app.set_version_flag("--version", std::string("leat ") + LEAT_VERSION);
  app.require_subcommand(1);
  app.footer(kExitCodesHelp);
  int exit_code = kGood;
  add_check(app, exit_code);
  add_convert(app, exit_code);
  add_doctor(app, exit_code);
  add_launch(app, exit_code);
  add_placement(app, exit_code);
  add_ctl(app, exit_code);
  add_top(app, exit_code);
  add_staging(app, exit_code);
  add_ls(app, exit_code);
  add_merge(app, exit_code);
  add_view(app, exit_code);
  add_recover(app, exit_code);
  add_clean(app, exit_code);
  add_python_verbs(app);
  put_into_groups(app);
  app.failure_message(failure_text);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const std::vector<std::string> verbs = verbs_of(app);
    if (argc > 1 && is_unknown_verb(verbs, argv[1])) return refuse_verb(verbs, argv[1]);
    return app.exit(e) == 0 ? kGood : kUsage;
  }
  if (std::ferror(stdout) == 0) return exit_code;
  std::fputs("leat: not all could be printed: no space is left, or nobody may write there\n",
             stderr);
  return exit_code == kGood ? kBad : exit_code;
}
