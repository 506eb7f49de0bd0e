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

#include "lib/checkpoint/checkpoints.hpp"
#include "lib/control/machine_file.hpp"
#include "lib/model/places.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/words.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/local_socket.hpp"
#include "lib/os/process.hpp"
#include "lib/staging/shares.hpp"
#include "server/driver/driver.hpp"
#include "server/driver/executors.hpp"
#include "server/driver/meeting_others.hpp"
#include "server/driver/process_changes.hpp"
#include "server/driver/restart.hpp"
#include "server/driver/run_log.hpp"
#include "server/driver/run_segment.hpp"
#include "server/driver/run_trace.hpp"
#include "server/engine/drains.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/journal/session_journal.hpp"
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

  os::UniqueFd fd_;
  std::function<bool(Status status, const std::string& message)> tell_host_;
};

Result<model::Model> model_of(model::ReadResult read, std::vector<model::Diagnostic>* warnings) {
  if (read.model) {
    *warnings = std::move(read.diagnostics);
    return std::move(*read.model);
  }
  std::string text = model::format(read.diagnostics);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return Error{Status::ERROR_CONFIG, text};
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

Error cannot_use(const model::Store& store, const Error& why) {
  return {why.status, store.where.file + ":" + std::to_string(store.where.line) + ": store \"" +
                          store.name + "\": " + why.message};
}

Result<std::vector<LoadedPlugin>> load_plugins(const model::Model& model, Log& log) {
  std::vector<LoadedPlugin> plugins;
  for (const model::Store& store : model.stores) {
    Result<LoadedPlugin> plugin = load_plugin_of(store);
    if (!plugin) return cannot_use(store, plugin.error());
    const std::string warning = store.library.empty() ? "" : os::group_warning(store.library);
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

// A server that takes over goes on without one, as if its disk were full: what is in the segment
// must not be lost for it.
Result<std::optional<node::SpillFolder>> make_spill_folder(const model::Model& model,
                                                           const LiveSession& live, Log& log) {
  const model::Architecture& architecture = model.architecture;
  if (architecture.overflow_policy != model::OverflowPolicy::spill) {
    return std::optional<node::SpillFolder>();
  }
  std::string why = node::why_no_spill_folder(architecture.spill_folder);
  if (why.empty()) {
    Result<node::SpillFolder> made =
        node::SpillFolder::make(architecture.spill_folder, node::stem_of(live.segment()),
                                live.spill_link(), live.is_taken_over());
    if (made) return std::optional(std::move(*made));
    why = made.error().message;
  }
  const model::Diagnostic error{model::Severity::error, architecture.spill_where,
                                "nothing can be spilled: " + why};
  if (!live.is_taken_over()) return Error{Status::ERROR_CONFIG, error.str()};
  log.error("{}; the simulation waits for the stores when memory is full", error.str());
  return std::optional<node::SpillFolder>();
}

// The memory node of the rank that started us: its affinity is ours until we widen it.
int memory_node_of_starter(const os::Machine& machine, const os::CpuSet& inherited,
                           const Options& options) {
  const bool alone = options.servers == 1;  // or the starter may be another server's rank
  const std::vector<os::CpuSet> ranks(static_cast<std::size_t>(options.node_ranks),
                                      alone ? inherited : os::CpuSet{});
  return node::place_servers(machine, os::allowed_cpus(), ranks, options.cores,
                             options.servers)[static_cast<std::size_t>(options.server)]
      .memory_node;
}

Result<void> work_in(const std::string& folder) {
  if (folder.empty() || chdir(folder.c_str()) == 0) return {};
  return Error{Status::ERROR_SYSTEM, "cannot work in " + folder + ": " + os::errno_text(errno)};
}

// A server alone has nobody to report to.
node::RanksOfNode ranks_reported_to(const Options& options) {
  if (options.servers == 1 || !options.drain.empty()) return {};
  const node::SessionFiles files =
      node::session_files(node::runtime_folder_name(), options.session);
  return {files.ranks, options.node_ranks, options.server, options.servers};
}

RunFacts facts_of(const Options& options, const LiveSession& live, Owner owner) {
  const node::Share ranks = ranks_of(options);
  return {.session = own_session(options),
          .ranks = options.ranks,
          .node_ranks = ranks.count,
          .resumed = live.is_taken_over(),
          .drained = !options.drain.empty(),
          .run_id = live.segment(),
          .ranks_are_sure = owner == Owner::rank,
          .server = options.server,
          .servers = options.servers,
          .first_on_node = ranks.first,
          .others_on_node = options.node_ranks - ranks.count,
          .cores_on_node = options.cores,
          .mpi = options.mpi,
          .run_session = options.session,
          .in_simulation = owner == Owner::simulation};
}

// Who asks hosts it then. Of a server that has died in the simulation a process takes over, as of
// any other.
bool belongs_to_simulation(const model::Model& model, const Options& options, Owner owner) {
  return model::is_in_simulation(model.architecture.place) && owner == Owner::leatd &&
         options.report_fd >= 0 && options.place.empty();
}

// Who starts a server for a staging node says so, and the segment of a run keeps it.
model::At place_said() {
  const char* const at = std::getenv("LEAT_AT");
  return at ? model::value_of<model::At>(at) : model::At::node;
}

// The start of a server, step by step. Each step may fail; then those before it are undone by their members, in reverse
// order. The order matters:
//
//   1 enter_folder     paths of the XML, of output and of logs count from there
//   2 take_session     before anything of the run is touched: no other server of this session comes from here on. A server
//                      that has died, or whose run is drained, leaves its segment, which says what the XML was
//   3 read_model       of that segment, or of the XML. It says whether the server belongs here at all
//   4 open_log         its name needs the model and the session; all that follows may log
//   5 load_plugins     before memory is taken: most mistakes in an XML are found here
//   6 make_folders     of output; before memory is taken, as 5
//   7 open_trace       where one is wanted; its file exists before memory is taken, as 6
//   8 choose_checkpoint  from which the run goes on: the segment says so to all ranks
//   9 make_segment     the buffer. What killed sessions hold in memory may have to be stored first
//  10 make_spill       the folder of spilled iterations: without its segment the next start would take it for stale
//  11 listen           from here on ranks can connect, and wait for the welcome of the loop; other servers too, until they are known
//  12 make_engine      asks plugins whether the run fits them; takes over where a server has died
//
// then serve() reports that the server is ready, and its loop begins.
class Startup {
 public:
  Startup(Options options, const HostProcess& host, const ProcessChanges& process)
      : options_(std::move(options)), host_(host), process_(process) {}

  /// kElsewhere, or the exit status of leatd.
  Result<int> serve(Reporter& reporter) {
    for (const auto step :
         {&Startup::enter_folder, &Startup::take_session, &Startup::read_model, &Startup::open_log,
          &Startup::load_plugins, &Startup::make_folders, &Startup::open_trace,
          &Startup::choose_checkpoint, &Startup::make_segment, &Startup::make_spill,
          &Startup::listen, &Startup::make_engine}) {
      if (const Result<void> done = (this->*step)(); !done) return done.error();
      if (is_elsewhere_) return kElsewhere;
    }
    if (!is_draining() && !reporter.ready()) return 0;
    engine_->open_ledger();
    const int status = driver_->run(*engine_);
    if (const std::string& why = engine_->why_given_up(); !why.empty())
      return Error{Status::ERROR_SERVER, why};
    clear_up();
    if (is_draining()) reporter.drained(engine_->drained());
    return status;
  }

 private:
  bool is_draining() const noexcept { return !options_.drain.empty(); }

  // That of a dead run is known by its segment.
  Result<void> enter_folder() {
    if (is_draining()) {
      if (Result<void> known = take_options_of_dead_run(&options_); !known) return known;
    }
    return work_in(options_.folder);
  }

  Result<void> take_session() {
    inherited_cpus_ = os::current_affinity();
    os::set_affinity(os::allowed_cpus());
    Result<LiveSession> live = is_draining()
                                   ? LiveSession::drain(options_.drain)
                                   : LiveSession::begin(own_session(options_), options_.take_over,
                                                        {options_.for_rank, options_.since_ns});
    if (!live) return live.error();
    live_.emplace(std::move(*live));
    if (!live_->is_taken_over()) return {};
    Result<Inherited> old = take_segment(&*live_, options_);
    if (!old) return old.error();
    old_.emplace(std::move(*old));
    return {};
  }

  Result<void> read_model() {
    const bool may_be_in_ranks = host_.owner == Owner::rank || live_->is_taken_over();
    Result<model::Model> model = model_of(
        old_ ? model::read_sources(old_->run.sources) : read_for(options_, may_be_in_ranks),
        &warnings_);
    if (!model) return model.error();
    const model::At at = place_said();
    model_ = model::part_of(std::move(*model), at, options_.config);
    if (Result<void> divided = take_share(&model_, &options_); !divided) return divided;
    is_elsewhere_ = !old_ && belongs_to_simulation(model_, options_, host_.owner);
    has_cores_ = model_.architecture.place != model::Place::none;
    if (!has_cores_) os::set_affinity(inherited_cpus_);
    facts_ = facts_of(options_, *live_, host_.owner);
    if (at == model::At::staging) stand_for_others();
    return {};
  }

  // Of a staging node, whose ranks another one may have after it.
  void stand_for_others() {
    const staging::SessionName name = staging::name_in(options_.session);
    const bool may_move = model_.architecture.staging.when_lost != model::WhenLost::fail;
    facts_.run_session = name.run;
    facts_.succession = name.moved > 0 ? name.moved + 1 : may_move ? 1 : 0;
  }

  Result<void> open_log() {
    node_number_ = NodeNumber(".", model_.name, facts_);
    facts_.node_number = node_number_.value();
    log_name_ = name_of_log(model_, facts_.session, facts_.resumed);
    Result<std::shared_ptr<Log>> log =
        make_log(model_, log_name_, facts_.resumed, own_node_name(facts_));
    if (!log) return log.error();
    log_ = *log;
    for (const model::Diagnostic& each : warnings_) log_->warn("{}", model::for_log(each));
    if (facts_.node_number > 1)
      log_->info(
          "another node of this run is called {} too: in the names of ledger, report and scripts' "
          "folder this one is {}",
          os::node_name(), own_node_name(facts_));
    log_->debug("session {}, of {}: `leat ctl {} status` asks how it does", facts_.session,
                options_.config, facts_.session);
    return {};
  }

  // Its file is to be there before the ranks, who say more then.
  Result<void> open_trace() {
    trace_ = make_trace(model_, facts_, place_said(), log_);
    return {};
  }

  Result<void> load_plugins() {
    if (is_draining()) model_.scripts = {};  // nobody waits for their results
    if (model_.scripts.exist()) {
      std::string why = model::format(script_problems(model_.scripts));
      if (!why.empty()) why.pop_back();  // the end of its last line
      if (!why.empty()) return Error{Status::ERROR_CONFIG, why};
    }
    if (Result<void> enough = check_limits(model_, facts_.node_ranks); !enough) return enough;
    Result<std::vector<LoadedPlugin>> plugins = server::load_plugins(model_, *log_);
    if (!plugins) return plugins.error();
    plugins_ = std::move(*plugins);
    return {};
  }

  // In the midst of a run a store says that it has no folder, and all others go on. What is drained goes where it
  // belongs, or stays where it is.
  Result<void> make_folders() {
    if (is_draining()) return {};
    Result<void> made = make_output_folders(model_);
    if (!made && !live_->is_taken_over()) return made;
    if (!made) log_->error("{}", made.error().message);
    return {};
  }

  // What killed runs have in memory may be the newest checkpoint, and the end of the file that this one goes on in. A server that
  // takes over has the choice in the segment.
  Result<void> choose_checkpoint() {
    drains_ = std::make_shared<Drains>(live_->undrained(), log_);
    if (old_) return {};
    const bool goes_on = std::any_of(model_.stores.begin(), model_.stores.end(), appends);
    if ((goes_on || makes_checkpoints(model_)) && drains_->any()) drains_->store_in_turn();
    Result<RestartFacts> chosen = server::choose_checkpoint(model_, facts_, *log_);
    if (!chosen) return chosen.error();
    restart_ = std::move(*chosen);
    return {};
  }

  Result<void> make_spill() {
    Result<std::optional<node::SpillFolder>> spill = make_spill_folder(model_, *live_, *log_);
    if (!spill) return spill.error();
    if (*spill) spill_.emplace(std::move(**spill));
    return {};
  }

  Result<void> make_segment() {
    Result<DescribedMachine> described = machine_here();
    if (!described) return described.error();
    machine_ = std::move(described->machine);
    Result<shm::Segment> segment =
        old_ ? std::move(old_->segment)
             : make_segment_in_time(model_, options_, live_->segment(),
                                    memory_node_of_starter(machine_, inherited_cpus_, options_),
                                    *drains_, trace_.trace != nullptr, restart_);
    if (!segment) return segment.error();
    segment_.emplace(std::move(*segment));
    if (!live_->is_taken_over()) live_->has_made_segment();
    return {};
  }

  // To what is drained nobody comes. Without a control channel a run goes on.
  Result<void> listen() {
    if (!live_->socket().empty()) {
      Result<os::UniqueFd> listener = os::listen_at(live_->socket());
      if (!listener) return listener.error();
      for_ranks_ = std::move(*listener);
    }
    Result<JoiningParts> joining = prepare_joining(model_, facts_, live_->journal(), *log_);
    if (!joining) return joining.error();
    joining_ = std::move(*joining);
    if (live_->control().empty()) return {};
    Result<os::UniqueFd> listener = os::listen_at(live_->control(), os::SocketKind::stream);
    if (!listener) log_->warn("there is no control channel: {}", listener.error().message);
    if (listener) for_control_ = std::move(*listener);
    return {};
  }

  Result<void> make_engine() {
    view_.emplace(model_, facts_);
    driver_.emplace(model_, *segment_, *log_,
                    DriverParts{.listener = std::move(for_ranks_),
                                .socket_path = live_->socket(),
                                .machine = machine_,
                                .control_listener = std::move(for_control_),
                                .facts = facts_,
                                .config = options_.config,
                                .ranks_of_node = ranks_reported_to(options_),
                                .signals = process_.signals(),
                                .termination = process_.termination(),
                                .among_others = host_.owner == Owner::simulation,
                                .has_cores = has_cores_});
    if (Result<void> fit = check_fit(plugins_, *view_, model_, facts_); !fit) return fit;
    if (!facts_.resumed) {
      Result<std::unique_ptr<PieceRunner>> lent =
          crew_of_simulation(model_, plugins_, host_.lent, log_);
      if (!lent) return lent.error();
      lent_threads_ = std::move(*lent);
    }
    Result<std::unique_ptr<Derivation>> derivation = Derivation::make(
        model_,
        {live_->sums(), saved_sums(), facts_.resumed, segment_->server_state().done_iteration >= 0,
         facts_.has_all_ranks(), goes_on_in_files(),
         [this](const model::Store& store) { return iterations_with_checkpoint(store); }},
        log_);
    if (!derivation) return derivation.error();
    const char* const overlaps = std::getenv("LEAT_CHECK_OVERLAPS");
    engine_.emplace(
        EngineParts{.model = model_,
                    .segment = *segment_,
                    .facts = facts_,
                    .host = *driver_,
                    .log = log_,
                    .executor = driver_->executor(),
                    .folder = ".",
                    .plugins = instances_of(plugins_, model_, *view_, {*segment_, facts_, log_}),
                    .journal_path = live_->journal(),
                    .late_ranks_path = live_->late_ranks(),
                    .spill_folder = spill_ ? &*spill_ : nullptr,
                    .drains = drains_,
                    .lent_threads = lent_threads_.get(),
                    .joining = std::move(joining_),
                    .check_overlaps = overlaps && std::string_view(overlaps) == "1",
                    .trace = trace_.trace,
                    .derivation = std::move(*derivation)});
    return {};
  }

  static bool appends(const model::Store& store) { return store.option("append", "") == "true"; }

  // Where a store goes on in the file of an earlier run, so do the periods that are in it.
  std::string saved_sums() const {
    const bool any = std::any_of(model_.stores.begin(), model_.stores.end(), appends);
    return any ? model_.name : "";
  }

  std::set<std::int64_t> iterations_with_checkpoint(const model::Store& store) const {
    std::set<std::int64_t> iterations;
    for (const checkpoint::Checkpoint& each : checkpoint::checkpoints_in(
             {store.option("folder", model_.name + ".checkpoint"), store.option("copy", "")}))
      iterations.insert(each.key.iteration);
    return iterations;
  }

  bool goes_on_in_files() const {
    return std::any_of(
        model_.stores.begin(), model_.stores.end(), [this](const model::Store& each) {
          return appends(each) && access(model::output_of(each, model_.name).c_str(), F_OK) == 0;
        });
  }

  void clear_up() {
    if (spill_) spill_->done_with();
    if (!spill_) ::unlink(live_->spill_link().c_str());  // the folder is gone
    live_->finish();
  }

  Options options_;
  const HostProcess& host_;
  const ProcessChanges& process_;
  bool is_elsewhere_ = false, has_cores_ = true;
  os::CpuSet inherited_cpus_;
  std::optional<LiveSession> live_;
  std::optional<Inherited> old_;             // of a server that has died
  std::vector<model::Diagnostic> warnings_;  // of the XML
  model::Model model_;
  RunFacts facts_;
  NodeNumber node_number_;
  OwnName log_name_;
  std::shared_ptr<Log> log_;
  std::vector<LoadedPlugin> plugins_;
  RunTrace trace_;
  RestartFacts restart_;
  std::shared_ptr<Drains> drains_;
  os::Machine machine_;
  std::optional<shm::Segment> segment_;
  std::optional<node::SpillFolder> spill_;
  os::UniqueFd for_ranks_, for_control_;
  JoiningParts joining_;
  std::optional<PluginView> view_;
  std::optional<Driver> driver_;
  std::unique_ptr<PieceRunner> lent_threads_;  // of the simulation; null: the run needs none
  std::optional<Engine> engine_;
};

}  // namespace

int run_session(const Options& options, const HostProcess& host) {
  ProcessChanges changes(host.owner);
  Reporter reporter(options.report_fd, host);
  try {
    const Result<void> made = changes.make();
    const Result<int> done =
        made ? Startup(options, host, changes).serve(reporter) : Result<int>(made.error());
    if (done && *done == kElsewhere) {
      reporter.elsewhere();
      return 0;
    }
    if (done) return *done;
    // Another process stores it, or has done so: nobody who did not ask needs to know.
    const bool is_done = done.error().status == Status::ERROR_STATE && !options.drain.empty();
    if (!is_done || options.report_fd >= 0) reporter.failed(done.error());
  } catch (const std::bad_alloc&) {
    reporter.failed({Status::ERROR_MEMORY, "leatd: no memory is left" + os::limit_hint()});
  } catch (const std::exception& e) {
    reporter.failed({Status::ERROR_INTERNAL, std::string("leatd: ") + e.what()});
  }
  return kCannotStart;
}

}  // namespace leat::server
