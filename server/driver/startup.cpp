// SPDX-License-Identifier: Apache-2.0
#include "server/driver/startup.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/model/reader.hpp"
#include "lib/platform/file_facts.hpp"
#include "lib/platform/limits.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/segment_name.hpp"
#include "lib/platform/spill_folder.hpp"
#include "server/driver/driver.hpp"
#include "server/driver/process_changes.hpp"
#include "server/driver/run_log.hpp"
#include "server/driver/run_segment.hpp"
#include "server/driver/start_checks.hpp"
#include "server/failover/drains.hpp"
#include "server/pipeline/event_function.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/placement/machine_file.hpp"
#include "server/scripts/script_files.hpp"
#include "server/session/live_session.hpp"

namespace leat::server {
namespace {

constexpr int kCannotStart = 2;

// Tells who started this server, once, how it went.
class Reporter {
 public:
  Reporter(int fd, const TellHost& tell_host) : fd_(fd), tell_host_(tell_host) {}

  bool has_host() const { return tell_host_ || told_host_; }
  /// False: it is not wanted any more.
  bool ready() {
    send("ready\n");
    return tell(Status::OK, "");
  }
  void drained(const std::string& json) { send(json); }
  void failed(const Error& error) {
    if (!fd_ && !tell_host_) fprintf(stderr, "leatd: %s\n", error.message.c_str());
    send(std::to_string(static_cast<int>(error.status)) + "\n" + error.message);
    tell(error.status, error.message);
  }

 private:
  bool tell(Status status, const std::string& message) {
    const TellHost tell_host = std::exchange(tell_host_, {});
    if (!tell_host) return true;
    told_host_ = true;
    return tell_host(status, message);
  }

  void send(const std::string& text) {
    if (!fd_) return;
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    (void)written;  // a starter that is gone needs no answer
    fd_.reset();
  }

  platform::UniqueFd fd_;
  TellHost tell_host_;
  bool told_host_ = false;
};

Result<model::Model> model_of(model::ReadResult read, std::string* warnings) {
  std::string text = model::format(read.diagnostics);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!read.model) return Error{Status::ERROR_CONFIG, text};
  *warnings = text;
  return std::move(*read.model);
}

// Programs for Damaris may call leat_init alone, whatever their XML says.
bool is_for_damaris(const model::Model& model) {
  return std::any_of(model.layouts.begin(), model.layouts.end(),
                     [](const model::Layout& layout) { return layout.may_change; });
}

// Ranks have become servers before anybody comes; one that died is followed by a process.
model::ReadResult read_for(const Options& options, bool may_be_in_ranks) {
  model::ReadResult read = model::read_file(options.config);
  const bool fits = !read.model || read.model->architecture.place == model::Place::process ||
                    is_for_damaris(*read.model);
  if (fits || may_be_in_ranks || !options.place.empty()) return read;
  read.model.reset();
  read.diagnostics.push_back({model::Severity::error,
                              {options.config, 0, 0},
                              "place=\"ranks\": no rank has become a server, as leat_split was not "
                              "called before leat_init; "
                              "a program that does not call it runs with LEAT_PLACE=process"});
  return read;
}

Result<LoadedPlugin> load_builtin(const std::string& type) {
  Result<std::string> path = find_builtin(type);
  if (!path) return path.error();
  return load_plugin(*path);
}

Result<LoadedPlugin> load(const model::Store& store) {
  if (!store.function.empty()) return load_event_function(store.library, store.function);
  return store.library.empty() ? load_builtin(store.type) : load_own_plugin(store.library);
}

Result<std::vector<LoadedPlugin>> load_plugins(const model::Model& model, Log& log) {
  std::vector<LoadedPlugin> plugins;
  for (const model::Store& store : model.stores) {
    Result<LoadedPlugin> plugin = load(store);
    if (!plugin) {
      return Error{plugin.error().status, store.where.file + ":" +
                                              std::to_string(store.where.line) + ": store \"" +
                                              store.name + "\": " + plugin.error().message};
    }
    const std::string warning = store.library.empty() ? "" : platform::group_warning(store.library);
    if (!warning.empty()) log.warn("store \"{}\": {}", store.name, warning);
    plugins.push_back(*plugin);
  }
  return plugins;
}

std::vector<std::unique_ptr<PluginInstance>> instances_of(const std::vector<LoadedPlugin>& plugins,
                                                          const model::Model& model,
                                                          const PluginView& view,
                                                          const std::shared_ptr<Log>& log) {
  std::vector<std::unique_ptr<PluginInstance>> instances;
  for (std::uint32_t i = 0; i < plugins.size(); ++i) {
    instances.push_back(std::make_unique<PluginInstance>(plugins[i].plugin(), model, i, view, log,
                                                         plugins[i].state()));
  }
  return instances;
}

// A server that takes over goes on without one, as if its disk were full: what is in the segment
// must not be lost for it.
Result<std::optional<platform::SpillFolder>> make_spill_folder(const model::Model& model,
                                                               const LiveSession& live, Log& log) {
  const model::Architecture& architecture = model.architecture;
  if (architecture.overflow_policy != model::OverflowPolicy::spill) {
    return std::optional<platform::SpillFolder>();
  }
  std::string why = platform::why_no_spill_folder(architecture.spill_folder);
  if (why.empty()) {
    Result<platform::SpillFolder> made =
        platform::SpillFolder::make(architecture.spill_folder, platform::stem_of(live.segment()),
                                    live.spill_link(), live.is_taken_over());
    if (made) return std::optional(std::move(*made));
    why = made.error().message;
  }
  const model::Diagnostic error{model::Severity::error, architecture.spill_where,
                                "nothing can be spilled: " + why};
  if (!live.is_taken_over()) return Error{Status::ERROR_CONFIG, error.str()};
  log.error("{}; the simulation waits for the stores when memory is full", error.str());
  return std::optional<platform::SpillFolder>();
}

// The memory node of the rank that started us: its affinity is ours until we widen it.
int memory_node_of_starter(const platform::Machine& machine, const platform::CpuSet& inherited,
                           const Options& options, const model::Model& model) {
  const int cores = static_cast<int>(model.architecture.dedicated_cores);
  const std::vector<platform::CpuSet> ranks(static_cast<std::size_t>(options.node_ranks),
                                            inherited);
  return platform::place_server(machine, platform::allowed_cpus(), ranks, cores).memory_node;
}

Result<void> work_in(const std::string& folder) {
  if (folder.empty() || chdir(folder.c_str()) == 0) return {};
  return Error{Status::ERROR_SYSTEM,
               "cannot work in " + folder + ": " + platform::errno_text(errno)};
}

// Servers of several nodes do not know what is signalled on the others.
Result<void> check_scopes(const model::Model& model, const Options& options) {
  if (options.ranks == options.node_ranks) return {};
  for (const model::Event& event : model.events) {
    if (event.scope != model::Event::Scope::run) continue;
    return Error{Status::ERROR_CONFIG,
                 model::Diagnostic{model::Severity::error, event.where,
                                   "event \"" + event.name +
                                       "\" has scope=\"run\", which is only known on one node: "
                                       "write scope=\"node\", where each node acts by itself"}
                     .str()};
  }
  return {};
}

Result<std::vector<LoadedPlugin>> plugins_and_scripts(model::Model* model, const Options& options,
                                                      Log& log) {
  if (const Result<void> fit = check_scopes(*model, options); !fit) return fit.error();
  if (!options.drain.empty()) model->scripts = {};  // nobody waits for what they would say
  if (model->scripts.exist()) {
    std::string why = model::format(script_problems(model->scripts));
    if (!why.empty()) why.pop_back();  // the end of its last line
    if (!why.empty()) return Error{Status::ERROR_CONFIG, why};
  }
  return load_plugins(*model, log);
}

// To what is drained nobody comes.
Result<platform::UniqueFd> listen_for_ranks(const LiveSession& live) {
  if (live.socket().empty()) return platform::UniqueFd();
  return platform::listen_at(live.socket());
}

// A run goes on without.
platform::UniqueFd listen_for_control(const LiveSession& live, Log& log) {
  if (live.control().empty()) return {};
  Result<platform::UniqueFd> listener =
      platform::listen_at(live.control(), platform::SocketKind::stream);
  if (listener) return std::move(*listener);
  log.warn("there is no control channel: {}", listener.error().message);
  return {};
}

bool wants_overlap_check() {
  const char* const overlaps = std::getenv("LEAT_CHECK_OVERLAPS");
  return overlaps && std::string_view(overlaps) == "1";
}

Result<LiveSession> take_session(const Options& options) {
  if (!options.drain.empty()) return LiveSession::drain(options.drain);
  return LiveSession::begin(options.session, options.take_over,
                            {options.for_rank, options.since_ns});
}

// Nothing when nobody has died.
Result<std::optional<Inherited>> take_inheritance(LiveSession* live, const Options& options) {
  if (!live->is_taken_over()) return std::optional<Inherited>();
  Result<Inherited> taken = take_segment(live, options);
  if (!taken) return taken.error();
  return std::optional<Inherited>(std::move(*taken));
}

// In the midst of a run: the store says so, and all others go on.
Result<void> make_folders(const model::Model& model, const LiveSession& live, Log& log) {
  Result<void> made = make_output_folders(model);
  if (made || !live.is_taken_over()) return made;
  log.error("{}", made.error().message);
  return {};
}

void clear_up(LiveSession* live, std::optional<platform::SpillFolder>* spill) {
  if (*spill) (*spill)->done_with();
  if (!*spill) ::unlink(live->spill_link().c_str());  // the folder is gone
  live->finish();
}

RunFacts facts_of(const Options& options, const LiveSession& live, const Reporter& reporter) {
  return {options.session,        options.ranks,  options.node_ranks, live.is_taken_over(),
          !options.drain.empty(), live.segment(), reporter.has_host()};
}

// That of a dead run is known by its segment.
Result<void> go_to_folder(Options* options) {
  const Result<void> known =
      options->drain.empty() ? Result<void>() : take_options_of_dead_run(options);
  return known ? work_in(options->folder) : known;
}

Result<int> serve(Options options, Reporter& reporter, int signals) {
  const bool draining = !options.drain.empty();
  if (const Result<void> there = go_to_folder(&options); !there) return there.error();
  const platform::CpuSet inherited = platform::current_affinity();
  platform::set_affinity(platform::allowed_cpus());
  Result<LiveSession> live = take_session(options);
  if (!live) return live.error();
  Result<std::optional<Inherited>> inheritance = take_inheritance(&*live, options);
  if (!inheritance) return inheritance.error();
  std::optional<Inherited>& old = *inheritance;
  std::string warnings;
  Result<model::Model> model =
      model_of(old ? model::read_sources(old->run.sources)
                   : read_for(options, reporter.has_host() || live->is_taken_over()),
               &warnings);
  if (!model) return model.error();
  const OwnName log_name = name_of_log(*model, options.session, live->is_taken_over());
  Result<std::shared_ptr<Log>> log = make_log(*model, log_name, live->is_taken_over());
  if (!log) return log.error();
  if (!warnings.empty()) (*log)->warn("{}", warnings);
  Result<std::vector<LoadedPlugin>> plugins = plugins_and_scripts(&*model, options, **log);
  if (!plugins) return plugins.error();
  if (const Result<void> enough = check_limits(*model, options.node_ranks); !enough)
    return enough.error();
  // What is drained goes where it belongs, or stays where it is.
  const Result<void> made = draining ? Result<void>() : make_folders(*model, *live, **log);
  if (!made) return made.error();
  const auto drains = std::make_shared<Drains>(live->undrained(), *log);
  const Result<DescribedMachine> described = machine_here();
  if (!described) return described.error();
  const platform::Machine& machine = described->machine;
  Result<shm::Segment> segment =
      old ? std::move(old->segment)
          : make_segment_in_time(*model, options, live->segment(),
                                 memory_node_of_starter(machine, inherited, options, *model),
                                 *drains);
  if (!segment) return segment.error();
  if (!live->is_taken_over()) live->has_made_segment();
  Result<std::optional<platform::SpillFolder>> spill = make_spill_folder(*model, *live, **log);
  if (!spill) return spill.error();
  Result<platform::UniqueFd> listener = listen_for_ranks(*live);
  if (!listener) return listener.error();
  const RunFacts facts = facts_of(options, *live, reporter);
  const PluginView view(*model, facts);
  Driver driver(*model, *segment, **log,
                {std::move(*listener), live->socket(), machine, listen_for_control(*live, **log),
                 facts, options.config, signals});
  Engine engine({*model, *segment, facts, driver, *log, driver.executor(), ".",
                 instances_of(*plugins, *model, view, *log), live->journal(), live->late_ranks(),
                 *spill ? &**spill : nullptr, drains, wants_overlap_check()});
  if (!draining && !reporter.ready()) return 0;
  engine.open_ledger();
  const int status = driver.run(engine);
  if (const std::string& why = engine.why_given_up(); !why.empty())
    return Error{Status::ERROR_SERVER, why};
  clear_up(&*live, &*spill);
  if (draining) reporter.drained(engine.drained());
  return status;
}

}  // namespace

int run_session(const Options& options, const TellHost& tell_host) {
  const ProcessChanges changes(static_cast<bool>(tell_host));
  Reporter reporter(options.report_fd, tell_host);
  try {
    const Result<int> done = serve(options, reporter, changes.termination());
    if (done) return *done;
    // Another process stores it, or has done so: nobody who did not ask needs to know.
    const bool is_done = done.error().status == Status::ERROR_STATE && !options.drain.empty();
    if (!is_done || options.report_fd >= 0) reporter.failed(done.error());
  } catch (const std::bad_alloc&) {
    reporter.failed({Status::ERROR_MEMORY, "leatd: no memory is left" + platform::limit_hint()});
  } catch (const std::exception& e) {
    reporter.failed({Status::ERROR_INTERNAL, std::string("leatd: ") + e.what()});
  }
  return kCannotStart;
}

}  // namespace leat::server
