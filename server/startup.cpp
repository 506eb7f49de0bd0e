// SPDX-License-Identifier: Apache-2.0
#include "server/startup.hpp"

#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>

#include "lib/model/reader.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/numa_binding.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/spill_folder.hpp"
#include "server/catalogue_writer.hpp"
#include "server/crash_note.hpp"
#include "server/live_session.hpp"
#include "server/plugin_loader.hpp"
#include "server/scripts/script_files.hpp"
#include "server/server.hpp"

namespace leat::server {
namespace {

constexpr int kCannotStart = 2;

// Tells the process that started this one, once, how it went.
class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}

  void ready() { send("ready\n"); }
  void failed(const Error& error) {
    if (!fd_) fprintf(stderr, "leatd: %s\n", error.message.c_str());
    send(std::to_string(static_cast<int>(error.status)) + "\n" + error.message);
  }

 private:
  void send(const std::string& text) {
    if (!fd_) return;
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    (void)written;  // a starter that is gone needs no answer
    fd_.reset();
  }

  platform::UniqueFd fd_;
};

Result<model::Model> read_model(const std::string& config, std::string* warnings) {
  model::ReadResult read = model::read_file(config);
  std::string text = model::format(read.diagnostics);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!read.model) return Error{Status::ERROR_CONFIG, text};
  *warnings = text;
  return std::move(*read.model);
}

Result<std::shared_ptr<spdlog::logger>> make_log(const model::Model& model, bool goes_on) {
  try {
    auto log = model.log.file.empty()
                   ? std::make_shared<spdlog::logger>(
                         model.name, std::make_shared<spdlog::sinks::stderr_sink_mt>())
                   : std::make_shared<spdlog::logger>(
                         model.name, std::make_shared<spdlog::sinks::basic_file_sink_mt>(
                                         model.log.file, !goes_on));
    log->set_pattern(model.log.file.empty() ? "leatd %n: %l: %v" : "%Y-%m-%d %H:%M:%S.%e %l: %v");
    log->set_level(spdlog::level::from_str(model.log.level));
    log->flush_on(spdlog::level::info);
    return log;
  } catch (const spdlog::spdlog_ex& e) {
    return Error{Status::ERROR_CONFIG,
                 "cannot write the log file \"" + model.log.file + "\": " + e.what()};
  }
}

Result<LoadedPlugin> load_builtin(const std::string& type) {
  Result<std::string> path = find_builtin(type);
  if (!path) return path.error();
  return load_plugin(*path);
}

Result<std::vector<LoadedPlugin>> load_plugins(const model::Model& model) {
  std::vector<LoadedPlugin> plugins;
  for (const model::Store& store : model.stores) {
    Result<LoadedPlugin> plugin =
        store.library.empty() ? load_builtin(store.type) : load_own_plugin(store.library);
    if (!plugin) {
      return Error{plugin.error().status, store.where.file + ":" +
                                              std::to_string(store.where.line) + ": store \"" +
                                              store.name + "\": " + plugin.error().message};
    }
    plugins.push_back(std::move(*plugin));
  }
  return plugins;
}

std::vector<std::unique_ptr<PluginInstance>> instances_of(
    const std::vector<LoadedPlugin>& plugins, const model::Model& model, const PluginView& view,
    const std::shared_ptr<spdlog::logger>& log) {
  std::vector<std::unique_ptr<PluginInstance>> instances;
  for (std::uint32_t i = 0; i < plugins.size(); ++i) {
    instances.push_back(std::make_unique<PluginInstance>(plugins[i].plugin(), model, i, view, log));
  }
  return instances;
}

// FNV-1a, 64 bits. Source: Fowler, Noll, Vo, draft-eastlake-fnv.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void bind_to_node(void* address, std::size_t bytes, void* memory_node) {
  platform::prefer_memory_node(address, bytes, *static_cast<int*>(memory_node));
}

shm::WhenFull when_full_of(model::WhenFull when_full) {
  switch (when_full) {
    case model::WhenFull::wait:
      return shm::WhenFull::wait;
    case model::WhenFull::drop_iteration:
      return shm::WhenFull::drop_iteration;
    case model::WhenFull::spill:
      return shm::WhenFull::spill;
    case model::WhenFull::error:
      return shm::WhenFull::error;
  }
  return shm::WhenFull::wait;
}

Result<shm::Segment> make_segment(const model::Model& model, const Options& options,
                                  const std::string& name, int memory_node) {
  shm::SegmentPlan plan;
  plan.clients = static_cast<std::uint32_t>(options.node_ranks);
  plan.data_bytes = model.architecture.buffer_bytes;
  plan.timeout_ns = static_cast<std::uint64_t>(model.architecture.timeout_seconds * 1e9);
  plan.catalogue_bytes = catalogue_bytes(model);
  plan.when_full = when_full_of(model.architecture.when_full);
  plan.parameters = static_cast<std::uint32_t>(model.parameters.size());
  plan.stores = static_cast<std::uint32_t>(model.stores.size());
  plan.config_hash = hash_of(model.source_text);
  plan.checksums = model.architecture.checksum == model::Checksum::crc32c;
  Result<shm::Segment> segment = shm::Segment::create(name, plan, bind_to_node, &memory_node);
  if (segment) write_catalogue(model, *segment);
  return segment;
}

Result<std::optional<platform::SpillFolder>> make_spill_folder(const model::Model& model,
                                                               const LiveSession& live) {
  const model::Architecture& architecture = model.architecture;
  if (architecture.when_full != model::WhenFull::spill) {
    return std::optional<platform::SpillFolder>();
  }
  std::string why = platform::why_no_spill_folder(architecture.spill_folder);
  if (why.empty()) {
    Result<platform::SpillFolder> made = platform::SpillFolder::make(
        architecture.spill_folder, live.session(), live.spill_link(), live.is_taken_over());
    if (made) return std::optional(std::move(*made));
    why = made.error().message;
  }
  const model::Diagnostic error{model::Severity::error, architecture.spill_where,
                                "nothing can be spilled: " + why};
  return Error{Status::ERROR_CONFIG, error.str()};
}

// The memory node of the rank that started us: its affinity is ours until we widen it.
int memory_node_of_starter(const platform::Machine& machine, const platform::CpuSet& inherited,
                           const Options& options, int cores) {
  const std::vector<platform::CpuSet> ranks(static_cast<std::size_t>(options.node_ranks),
                                            inherited);
  return platform::place_server(machine, platform::allowed_cpus(), ranks, cores).memory_node;
}

// That of a server which has died, as it left it.
Result<shm::Segment> take_segment(const model::Model& model, const Options& options,
                                  const std::string& name) {
  Result<shm::Segment> segment = shm::Segment::attach(name);
  if (!segment) return segment.error();
  const shm::SegmentHeader& header = segment->header();
  if (header.config_hash != hash_of(model.source_text) ||
      header.catalogue_bytes != catalogue_bytes(model) ||
      header.client_count != static_cast<std::uint32_t>(options.node_ranks)) {
    return Error{Status::ERROR_CONFIG,
                 options.config +
                     " has been changed since the run began: a server that takes over "
                     "needs it as it was"};
  }
  if (const Result<void> may = Server::may_take_over(*segment); !may) return may.error();
  return segment;
}

Result<int> serve(const Options& options, Reporter& reporter) {
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) {
    return Error{Status::ERROR_SYSTEM,
                 "cannot work in " + options.folder + ": " + platform::errno_text(errno)};
  }
  const platform::CpuSet inherited = platform::current_affinity();
  platform::set_affinity(platform::allowed_cpus());
  std::string warnings;
  Result<model::Model> model = read_model(options.config, &warnings);
  if (!model) return model.error();
  Result<LiveSession> live = LiveSession::begin(options.session, options.take_over);
  if (!live) return live.error();
  Result<std::shared_ptr<spdlog::logger>> log = make_log(*model, live->is_taken_over());
  if (!log) return log.error();
  if (!warnings.empty()) (*log)->warn("{}", warnings);
  if (model->scripts.exist()) {
    std::string why = model::format(script_problems(model->scripts));
    if (!why.empty()) why.pop_back();  // the end of its last line
    if (!why.empty()) return Error{Status::ERROR_CONFIG, why};
  }
  Result<std::vector<LoadedPlugin>> plugins = load_plugins(*model);
  if (!plugins) return plugins.error();
  const Result<std::optional<platform::SpillFolder>> spill = make_spill_folder(*model, *live);
  if (!spill) return spill.error();
  const platform::Machine machine = platform::this_machine();
  const int cores = static_cast<int>(model->architecture.dedicated_cores);
  Result<shm::Segment> segment =
      live->is_taken_over()
          ? take_segment(*model, options, live->segment())
          : make_segment(*model, options, live->segment(),
                         memory_node_of_starter(machine, inherited, options, cores));
  if (!segment) return segment.error();
  Result<platform::UniqueFd> listener = platform::listen_at(live->socket());
  if (!listener) return listener.error();

  const RunFacts facts{options.session, options.ranks, options.node_ranks, live->is_taken_over()};
  const PluginView view(*model, facts);
  Server server({*model, *segment, facts, live->socket(), live->journal(), std::move(*listener),
                 instances_of(*plugins, *model, view, *log), machine, *log,
                 *spill ? (*spill)->path() : ""});
  reporter.ready();
  return server.run();
}

}  // namespace

int run_session(const Options& options) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of a write, not an end
  note_crashes();
  Reporter reporter(options.report_fd);
  try {
    const Result<int> done = serve(options, reporter);
    if (done) return *done;
    reporter.failed(done.error());
  } catch (const std::exception& e) {
    reporter.failed({Status::ERROR_INTERNAL, std::string("leatd: ") + e.what()});
  }
  return kCannotStart;
}

}  // namespace leat::server
