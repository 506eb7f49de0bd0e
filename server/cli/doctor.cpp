// SPDX-License-Identifier: Apache-2.0
// `leat doctor`: what is missing or wrong on this machine, and what to do; and what somebody else needs to find it out.
#include "server/cli/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "lib/base/text.hpp"
#include "lib/model/reader.hpp"
#include "lib/os/process.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {

Need need_of(const model::Model& model) {
  Need need{model.architecture.buffer_bytes, model.scripts.interpreter, model.scripts.exist()};
  need.hdf5 = std::any_of(model.stores.begin(), model.stores.end(),
                          [](const model::Store& each) { return each.type == "hdf5"; });
  return need;
}

namespace {

struct DoctorOptions {
  std::string config, bundle, interpreter;
  bool json = false;
};

constexpr const char* kHealth[] = {"ok", "warn", "bad"};

Json json_of(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& each : findings)
    list.push_back({{"state", kHealth[static_cast<int>(each.health)]},
                    {"what", each.what},
                    {"found", each.found},
                    {"remedy", each.remedy}});
  return list;
}

std::vector<Finding> examined(const Need& need) {
  std::vector<Finding> findings;
  look_at_server(&findings);
  look_at_memory(need, &findings);
  look_at_limits(need, &findings);
  look_at_cores(&findings);
  look_at_folders(&findings);
  look_at_sessions(&findings);
  look_at_hdf5(need, &findings);
  look_at_python(need, &findings);
  look_at_mpi(&findings);
  look_at_network(&findings);
  return findings;
}

std::size_t count_of(const Json& findings, const std::string& state) {
  return std::count_if(findings.begin(), findings.end(),
                       [&](const Json& each) { return each["state"] == state; });
}

std::string doctor_screen(const Json& facts, const Look& look) {
  Screen screen(look);
  screen.title(text_in(facts, "node"), "leat " + text_in(facts, "leat"));
  for (const Json& each : facts["findings"]) {
    const std::string state = text_in(each, "state"), what = text_in(each, "what");
    const Paint paint = state == "ok" ? Paint::green : state == "warn" ? Paint::yellow : Paint::red;
    const auto padded = [](std::string text, std::size_t width) {
      text.resize(std::max(width, text.size()), ' ');
      return text + " ";
    };
    screen.line("  " + screen.paint(padded(state, 4), paint) + " " + padded(what, 14) +
                text_in(each, "found"));
    const std::string remedy = text_in(each, "remedy");
    if (!remedy.empty()) screen.line(std::string(23, ' ') + "-> " + remedy);
  }
  const std::size_t bad = count_of(facts["findings"], "bad"),
                    warn = count_of(facts["findings"], "warn");
  screen.line("");
  screen.line(bad > 0    ? screen.paint(counted(bad, "thing") + " to mend", Paint::red)
              : warn > 0 ? counted(warn, "thing") + " to know of, nothing that must be mended"
                         : screen.paint("good", Paint::green));
  return screen.text();
}

int run_doctor(const DoctorOptions& options) {
  Need need;
  if (!options.config.empty()) {
    const model::ReadResult read = model::read_file(options.config);
    if (read.model) need = need_of(*read.model);
    if (!read.model && options.bundle.empty())
      return refuse(
          "doctor",
          options.config + " cannot be used: `leat check " + options.config + "` says why", kUsage);
  }
  if (!options.interpreter.empty()) need.interpreter = options.interpreter;
  Json facts{{"leat", LEAT_VERSION},
             {"node", os::node_name()},
             {"config", options.config.empty() ? Json() : Json(options.config)},
             {"findings", json_of(examined(need))}};
  facts["good"] = count_of(facts["findings"], "bad") == 0;
  std::string made;
  if (!options.bundle.empty()) {
    const auto names = make_bundle(options.bundle, options.config, facts);
    if (!names) return refuse("doctor", names.error().message);
    facts["bundle"] = {{"file", options.bundle}, {"holds", *names}};
    made = "\n" + options.bundle + " has " + counted(names->size(), "file") + ":";
    for (const std::string& name : *names) made += " " + name;
    made +=
        "\nNo data are in it, but names: of files, variables, this machine. Look before you send "
        "it.\n";
  }
  print(options.json ? text_of(facts) : doctor_screen(facts, look_of(stdout)) + made);
  return facts["good"] ? kGood : kBad;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand(
      "doctor", "Says what is missing or wrong on this machine, and what to do about it.");
  verb->add_option("CONFIG", options->config,
                   "The XML of a simulation: asks whether this machine has what it needs");
  verb->add_option(
      "--bundle", options->bundle,
      "Makes this .tar.gz for a report of a bug: what was found, XML, logs, ledgers and "
      "reports of the runs in this folder, and no data");
  verb->add_option("--interpreter", options->interpreter,
                   "Python to look at (default: as the XML says, else python3 in PATH)");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  verb->footer(
      "Exit codes: 0 nothing is bad; 1 something is, or the bundle could not be made; 2 the "
      "command "
      "line or the XML is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_doctor(*options); });
}

}  // namespace leat::cli
