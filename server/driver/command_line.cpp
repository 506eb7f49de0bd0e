// SPDX-License-Identifier: Apache-2.0
#include "server/driver/command_line.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/words.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/process.hpp"
#include "server/driver/startup.hpp"
#include "server/hosts/command_line.hpp"
#include "server/workers/plugin_words.hpp"
#include "server/workers/script_output.hpp"

namespace leat::server {
namespace {

std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const char letter = c == '\t' ? 't' : c == '\n' ? 'n' : c == '\\' ? '\\' : '\0';
    line += letter ? std::string{'\\', letter} : std::string(1, c);
  }
  return line;
}

std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string parameter_line(const model::Parameter& parameter) {
  struct Words {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(std::int64_t value) const { return "\t" + std::to_string(value); }
    std::string operator()(double value) const { return "\t" + exactly(value); }
    std::string operator()(const std::string& value) const { return "\t" + in_one_line(value); }
  };
  return "parameter\t" + parameter.name + "\t" + model::word_of(parameter.kind) +
         std::visit(Words{}, parameter.value) + "\n";
}

// Damaris' XML has them as char, and what `leat convert` makes of it as uint8.
std::set<std::uint32_t> types_of_cells(const model::Model& model) {
  std::set<std::uint32_t> variables;
  for (const model::Mesh& mesh : model.meshes) {
    if (mesh.types) variables.insert(*mesh.types);
  }
  return variables;
}

bool write_whole(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::string description_of(const model::Model& model) {
  const model::Architecture& architecture = model.architecture;
  std::string text = std::string("place\t") + model::word_of(architecture.place) + "\t" +
                     std::to_string(architecture.dedicated_cores) + "\t" +
                     std::to_string(architecture.servers) + "\n";
  if (architecture.staging.place == model::StagingPlace::ranks)
    text += "staging\t" + std::to_string(architecture.staging.nodes) + "\n";
  for (const model::Parameter& parameter : model.parameters) text += parameter_line(parameter);
  const std::set<std::uint32_t> of_cells = types_of_cells(model);
  for (std::uint32_t number = 0; number < model.variables.size(); ++number) {
    const model::Variable& variable = model.variables[number];
    const model::Layout& layout = model.layouts[variable.layout];
    text += "type\t" + variable.name + "\t" +
            (of_cells.contains(number) ? "char" : std::string(scalar_name(layout.type))) + "\n";
    if (layout.has_global)
      text += "variable\t" + variable.name + "\t" + std::to_string(layout.blocks) + "\n";
  }
  return text;
}

int describe_to(const std::string& config, int fd) {
  const model::ReadResult read = model::read_file(config);
  if (read.model) return write_whole(fd, "described\n" + description_of(*read.model)) ? 0 : 1;
  std::string errors = model::format(read.diagnostics);
  if (!errors.empty()) errors.pop_back();
  write_whole(fd, std::to_string(static_cast<int>(Status::ERROR_CONFIG)) + "\n" + errors);
  return 2;
}

namespace {

constexpr const char* kAbout =
    "leatd: takes over what the ranks of a simulation write on this node, stores it, and ends "
    "when they have.\nIt is started by leat_init. Exit status: 0 all stored, 1 something could "
    "not be stored, 2 it could not start, 3 all stored, but a rank died, a script failed, or "
    "something was dropped.";

struct OtherDuties {
  int guarded = 0;
  bool plugin = false;
};

void add_options(CLI::App* app, Options* options, OtherDuties* others) {
  app->set_version_flag("--version", LEAT_VERSION);
  auto* const config = app->add_option("--config", options->config, "XML file of the run");
  auto* const session =
      app->add_option("--session", options->session, "name of the run on this node");
  app->add_option("--server", options->server, "number of this server on its node")
      ->check(CLI::Range(0, 65535));
  app->add_option("--ranks", options->ranks, "processes in the simulation");
  app->add_option("--node-ranks", options->node_ranks, "processes on this node")
      ->check(CLI::Range(1, 65536));
  app->add_option("--folder", options->folder, "folder that paths in the XML count from");
  app->add_option("--take-over", options->take_over, "segment of a server that has died");
  app->add_option("--for-rank", options->for_rank, "rank on this node that starts it");
  app->add_option("--since", options->since_ns,
                  "when that rank began, in ns since the machine's start");
  app->add_option("--drain", options->drain,
                  "stores what lies in this segment, all processes of which are dead, and ends")
      ->excludes(config, session);
  app->add_option("--describe", options->describe,
                  "says what this XML says, in the form of leat_describe, and ends")
      ->excludes(config, session);
  app->add_option("--report-fd", options->report_fd, "descriptor to report readiness to");
  app->add_option(
      "--guard-scripts", others->guarded,
      "ends what scripts have started, should the leatd of this process id, which starts "
      "this one, be killed");
  app->add_flag("--work-for-plugin", others->plugin,
                "runs a plugin as the leatd says that starts this one, and ends with it");
  app->add_option("--place", options->place, "where the server lives, before what the XML says")
      ->check(CLI::IsMember({"process"}));
}

// "" or what is wrong.
std::string problem_with(const Options& options) {
  if (!options.drain.empty() || !options.describe.empty()) return "";
  if (options.config.empty()) return "--config is missing";
  if (node::valid_session_name(options.session)) return "";
  return "\"" + options.session + "\" is no session name";
}

}  // namespace

int run_command_line(int argc, char** argv, const HostProcess& host) {
  if (argc > 1 && argv[1] == std::string_view(hosts::kGraphHost))
    return hosts::run_graph_host(argc - 1, argv + 1);
  Options options;
  options.mpi = host.mpi;
  OtherDuties others;
  CLI::App app{kAbout};
  add_options(&app, &options, &others);
  CLI11_PARSE(app, argc, argv);
  if (others.guarded > 0) return guard_scripts(others.guarded);
  if (others.plugin) return work_for_plugin();
  if (const std::string problem = problem_with(options); !problem.empty()) {
    fprintf(stderr, "leatd: %s\n", problem.c_str());
    return 2;
  }
  // Of what the starter had open only the report pipe is ours.
  if (host.owner == Owner::leatd) os::close_from(options.report_fd >= 0 ? os::kReportFd + 1 : 3);
  if (!options.describe.empty())
    return describe_to(options.describe,
                       options.report_fd >= 0 ? options.report_fd : STDOUT_FILENO);
  return run_session(options, host);
}

}  // namespace leat::server
