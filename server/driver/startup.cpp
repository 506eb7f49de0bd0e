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

#include "lib/control/machine_file.hpp"
#include "lib/model/reader.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/local_socket.hpp"
#include "lib/os/process.hpp"
#include "server/driver/driver.hpp"
#include "server/driver/executors.hpp"
#include "server/driver/process_changes.hpp"
#include "server/driver/run_log.hpp"
#include "server/driver/run_segment.hpp"
#include "server/driver/share.hpp"
#include "server/engine/drains.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/signals/group.hpp"
#include "server/workers/python/script_files.hpp"
#include "server/workers/remote_plugin.hpp"

namespace leat::server {
namespace {

constexpr int kCannotStart = 2;
// The one who asked shall host the server.
constexpr int kElsewhere = -1;

// Tells who started this server, once, how it went.
class Reporter {
 public:
  Reporter(int fd, const HostProcess& host) : fd_(fd), tell_host_(host.tell) {}

  /// False: it is not wanted any more.
  bool ready() {
    send("ready\n");
    return tell(Status::OK, "");
  }
  void drained(const std::string& json) { send(json); }
  void elsewhere() { send("thread\n"); }
  void failed(const Error& error) {
    if (!fd_ && !tell_host_) fprintf(stderr, "leatd: %s\n", error.message.c_str());
    send(std::to_string(static_cast<int>(error.status)) + "\n" + error.message);
    tell(error.status, error.message);
  }

 private:
  bool tell(Status status, const std::string& message) {
    const auto tell_host = std::exchange(tell_host_, {});
    return !tell_host || tell_host(status, message);
  }

  void send(const std::string& text) {
    if (!fd_) return;
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    (void)written;  // a starter that is gone needs no answer
    fd_.reset();
  }

  platform::UniqueFd fd_;
  std::function<bool(Status status, const std::string& message)> tell_host_;
};

Result<model::Model> model_of(model::ReadResult read, std::string* warnings) {
  std::string text = model::format(read.diagnostics);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!read.model) return Error{Status::ERROR_CONFIG, text};
  *warnings = text;
  return std::move(*read.model);
}

// Ranks have become servers before anybody comes; one that died is followed by a process.
model::ReadResult read_for(const Options& options, bool may_be_in_ranks) {
  model::ReadResult read = model::read_file(options.config);
  const bool fits = !read.model || read.model->architecture.place != model::Place::ranks ||
                    read.model->is_for_damaris;  // its programs may call leat_init alone
  if (fits || may_be_in_ranks || !options.place.empty()) return read;
  read.model.reset();
  read.diagnostics.push_back({model::Severity::error,
                              {options.config, 0, 0},
                              "place=\"ranks\": no rank has become a server, as leat_split was not "
                              "called before leat_init; "
                              "a program that does not call it runs with LEAT_PLACE=process"});
  return read;
}

// As it is for this server.
Result<model::Model> model_for(const std::optional<Inherited>& old, bool may_be_in_ranks,
                               Options* options, std::string* warnings) {
  Result<model::Model> model = model_of(
      old ? model::read_sources(old->run.sources) : read_for(*options, may_be_in_ranks), warnings);
  if (!model) return model;
  const Result<void> divided = take_share(&*model, options);
  if (!divided) return divided.error();
  return model;
}

Error cannot_use(const model::Store& store, const Error& why) {
  return {why.status, store.where.file + ":" + std::to_string(store.where.line) + ": store \"" +
                          store.name + "\": " + why.message};
}

Result<std::vector<LoadedPlugin>> load_plugins(const model::Model& model, Log& log) {
  std::vector<LoadedPlugin> plugins;
  for (const model::Store& store : model.stores) {
    Result<LoadedPlugin> plugin = load_plugin_of(store);
    if (!plugin) return cannot_use(store, plugin.error());
    const std::string warning = store.library.empty() ? "" : platform::group_warning(store.library);
    if (!warning.empty()) log.warn("store \"{}\": {}", store.name, warning);
    plugins.push_back(*plugin);
  }
  return plugins;
}

std::vector<std::unique_ptr<PluginInstance>> instances_of(const std::vector<LoadedPlugin>& plugins,
                                                          const model::Model& model,
                                                          const PluginView& view,
                                                          const WorkersRun& run) {
  std::vector<std::unique_ptr<PluginInstance>> instances;
  for (std::uint32_t i = 0; i < plugins.size(); ++i) {
    if (!model::is_apart(model.stores[i].runs)) {
      instances.push_back(std::make_unique<PluginInstance>(plugins[i].plugin(), model, i, view,
                                                           run.log, plugins[i].state()));
    } else {
      instances.push_back(std::make_unique<RemotePlugin>(plugins[i].plugin(), model, i, view, run));
    }
  }
  return instances;
}

// Of a run that goes on after a failover each plugin says in open() whether it can.
Result<void> check_fit(const std::vector<LoadedPlugin>& plugins, const PluginView& view,
                       const model::Model& model, const RunFacts& facts) {
  for (std::uint32_t i = 0; i < plugins.size() && !facts.resumed; ++i) {
    const leat_run run = view.run_for(i);
    const leat_plugin& plugin = *plugins[i].plugin();
    const char* const why = plugin.check ? plugin.check(&run) : nullptr;
    if (why) return cannot_use(model.stores[i], {Status::ERROR_CONFIG, why});
  }
  return {};
}

// Those of the simulation that the run needs; null where it needs none.
Result<std::unique_ptr<PieceRunner>> threads_for(const std::vector<LoadedPlugin>& plugins,
                                                 const PluginView& view, const model::Model& model,
                                                 const RunFacts& facts,
                                                 const leat_server_pieces& lent,
                                                 const std::shared_ptr<Log>& log) {
  if (const Result<void> fit = check_fit(plugins, view, model, facts); !fit) return fit.error();
  if (facts.resumed) return std::unique_ptr<PieceRunner>();
  return crew_of_simulation(model, plugins, lent, log);
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
                           const Options& options) {
  const bool alone = options.servers == 1;  // or the starter may be another server's rank
  const std::vector<platform::CpuSet> ranks(static_cast<std::size_t>(options.node_ranks),
                                            alone ? inherited : platform::CpuSet{});
  return platform::place_servers(machine, platform::allowed_cpus(), ranks, options.cores,
                                 options.servers)[static_cast<std::size_t>(options.server)]
      .memory_node;
}

Result<void> work_in(const std::string& folder) {
  if (folder.empty() || chdir(folder.c_str()) == 0) return {};
  return Error{Status::ERROR_SYSTEM,
               "cannot work in " + folder + ": " + platform::errno_text(errno)};
}

// Null where nothing has to be agreed on: one server has all ranks, or no event is of all of them.
std::unique_ptr<Group> servers_of_run(const model::Model& model, const RunFacts& facts) {
  const bool any =
      std::any_of(model.events.begin(), model.events.end(),
                  [](const model::Event& each) { return each.scope == model::Event::Scope::run; });
  if (!any || facts.has_all_ranks()) return {};
  return std::make_unique<FolderGroup>(
      ".", model.name, facts.run_session,
      platform::node_name() + "." + platform::stem_of(facts.run_id));
}

Result<std::vector<LoadedPlugin>> plugins_and_scripts(model::Model* model, const Options& options,
                                                      Log& log) {
  if (!options.drain.empty()) model->scripts = {};  // nobody waits for what they would say
  if (model->scripts.exist()) {
    std::string why = model::format(script_problems(model->scripts));
    if (!why.empty()) why.pop_back();  // the end of its last line
    if (!why.empty()) return Error{Status::ERROR_CONFIG, why};
  }
  if (const Result<void> enough = check_limits(*model, ranks_of(options).count); !enough)
    return enough.error();
  return load_plugins(*model, log);
}

Result<std::shared_ptr<Log>> open_log(const model::Model& model, const OwnName& name,
                                      const RunFacts& facts, const LiveSession& live,
                                      const std::string& warnings) {
  Result<std::shared_ptr<Log>> log =
      make_log(model, name, live.is_taken_over(), own_node_name(facts));
  if (log && !warnings.empty()) (*log)->warn("{}", warnings);
  if (log && facts.node_number > 1)
    (*log)->info(
        "another node of this run is called {} too: in the names of ledger, report and scripts' "
        "folder this one is {}",
        platform::node_name(), own_node_name(facts));
  return log;
}

// To what is drained nobody comes.
Result<platform::UniqueFd> listen_for_ranks(const LiveSession& live) {
  if (live.socket().empty()) return platform::UniqueFd();
  return platform::listen_at(live.socket());
}

// A server alone has nobody to tell.
platform::RanksOfNode ranks_told(const Options& options) {
  if (options.servers == 1 || !options.drain.empty()) return {};
  const platform::SessionFiles files =
      platform::session_files(platform::runtime_folder_name(), options.session);
  return {files.ranks, options.node_ranks, options.server, options.servers};
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
  return LiveSession::begin(own_session(options), options.take_over,
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
// What is drained goes where it belongs, or stays where it is.
Result<void> make_folders(const model::Model& model, const Options& options,
                          const LiveSession& live, Log& log) {
  if (!options.drain.empty()) return {};
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

RunFacts facts_of(const Options& options, const LiveSession& live, Owner owner) {
  const platform::Share ranks = ranks_of(options);
  return {own_session(options),
          options.ranks,
          ranks.count,
          live.is_taken_over(),
          !options.drain.empty(),
          live.segment(),
          owner == Owner::rank,
          options.server,
          options.servers,
          ranks.first,
          options.node_ranks - ranks.count,
          options.cores,
          options.mpi,
          options.session,
          owner == Owner::simulation};
}

// Who asks hosts it then. Of a server that has died in the simulation a process takes over, as of
// any other.
bool belongs_to_simulation(const model::Model& model, const Options& options, Owner owner) {
  return model::is_in_simulation(model.architecture.place) && owner == Owner::leatd &&
         options.report_fd >= 0 && options.place.empty();
}

// That of a dead run is known by its segment.
Result<void> go_to_folder(Options* options) {
  const Result<void> known =
      options->drain.empty() ? Result<void>() : take_options_of_dead_run(options);
  return known ? work_in(options->folder) : known;
}

Result<int> run_to_the_end(Engine& engine, Driver& driver, Reporter& reporter, LiveSession* live,
                           std::optional<platform::SpillFolder>* spill, bool draining) {
  if (!draining && !reporter.ready()) return 0;
  engine.open_ledger();
  const int status = driver.run(engine);
  if (const std::string& why = engine.why_given_up(); !why.empty())
    return Error{Status::ERROR_SERVER, why};
  clear_up(live, spill);
  if (draining) reporter.drained(engine.drained());
  return status;
}

Result<int> serve(Options options, Reporter& reporter, const HostProcess& host,
                  const ProcessChanges& process) {
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
      model_for(old, host.owner == Owner::rank || live->is_taken_over(), &options, &warnings);
  if (!model) return model.error();
  if (!old && belongs_to_simulation(*model, options, host.owner)) return kElsewhere;
  const bool has_cores = model->architecture.place != model::Place::none;
  if (!has_cores) platform::set_affinity(inherited);
  RunFacts facts = facts_of(options, *live, host.owner);
  const NodeNumber node_number(".", model->name, facts);
  facts.node_number = node_number.value();
  const OwnName log_name = name_of_log(*model, own_session(options), live->is_taken_over());
  Result<std::shared_ptr<Log>> log = open_log(*model, log_name, facts, *live, warnings);
  if (!log) return log.error();
  (*log)->debug("session {}, of {}: `leat ctl {} status` asks how it does", own_session(options),
                options.config, own_session(options));
  Result<std::vector<LoadedPlugin>> plugins = plugins_and_scripts(&*model, options, **log);
  if (!plugins) return plugins.error();
  if (const Result<void> made = make_folders(*model, options, *live, **log); !made)
    return made.error();
  const auto drains = std::make_shared<Drains>(live->undrained(), *log);
  const Result<DescribedMachine> described = machine_here();
  if (!described) return described.error();
  Result<shm::Segment> segment =
      old ? std::move(old->segment)
          : make_segment_in_time(*model, options, live->segment(),
                                 memory_node_of_starter(described->machine, inherited, options),
                                 *drains);
  if (!segment) return segment.error();
  if (!live->is_taken_over()) live->has_made_segment();
  Result<std::optional<platform::SpillFolder>> spill = make_spill_folder(*model, *live, **log);
  if (!spill) return spill.error();
  Result<platform::UniqueFd> listener = listen_for_ranks(*live);
  if (!listener) return listener.error();
  const PluginView view(*model, facts);
  Driver driver(
      *model, *segment, **log,
      {std::move(*listener), live->socket(), described->machine, listen_for_control(*live, **log),
       facts, options.config, ranks_told(options), process.signals(), process.termination(),
       host.owner == Owner::simulation, has_cores});
  const Result<std::unique_ptr<PieceRunner>> lent =
      threads_for(*plugins, view, *model, facts, host.lent, *log);
  if (!lent) return lent.error();
  Engine engine({*model, *segment, facts, driver, *log, driver.executor(), ".",
                 instances_of(*plugins, *model, view, {*segment, facts, *log}), live->journal(),
                 live->late_ranks(), *spill ? &**spill : nullptr, drains, lent->get(),
                 servers_of_run(*model, facts), wants_overlap_check()});
  return run_to_the_end(engine, driver, reporter, &*live, &*spill, draining);
}

}  // namespace

int run_session(const Options& options, const HostProcess& host) {
  ProcessChanges changes(host.owner);
  Reporter reporter(options.report_fd, host);
  try {
    const Result<void> made = changes.make();
    const Result<int> done =
        made ? serve(options, reporter, host, changes) : Result<int>(made.error());
    if (done && *done == kElsewhere) {
      reporter.elsewhere();
      return 0;
    }
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
