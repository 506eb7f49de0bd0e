// SPDX-License-Identifier: Apache-2.0
#include "server/workers/plugin_words.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/model/reader.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "lib/shm/catalogue.hpp"
#include "lib/shm/segment.hpp"
#include "server/pipeline/plugin_instance.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/schedule_apart.hpp"
#include "server/workers/worker_process.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

struct BlockRecord {
  std::uint32_t variable, block;
  std::int32_t rank, has_position, has_level, level;
  std::uint32_t has_checksum, checksum;
  std::uint64_t in_segment, offset,
      bytes;  // the offset counts from there, or from the order's data
  std::array<std::int64_t, kMaxDims> extent, position, global;
};
static_assert(sizeof(BlockRecord) == 32 + 8 * (3 + 3 * kMaxDims),
              "no byte of it is left unwritten");

BlockRecord record_of(const Block& block) {
  return {block.variable,
          block.block,
          block.rank,
          block.has_position,
          block.level.has_value(),
          block.level.value_or(0),
          block.checksum.has_value(),
          block.checksum.value_or(0),
          0,
          0,
          block.bytes,
          block.extent,
          block.position,
          block.global};
}

Block block_in(const BlockRecord& record, const char* start) {
  Block block;
  block.variable = record.variable;
  block.block = record.block;
  block.rank = record.rank;
  block.has_position = record.has_position != 0;
  if (record.has_level) block.level = record.level;
  if (record.has_checksum) block.checksum = record.checksum;
  block.data = start + record.offset;
  block.bytes = record.bytes;
  block.extent = record.extent;
  block.position = record.position;
  block.global = record.global;
  return block;
}

// What was spilled is read back elsewhere. Returns where it is now.
std::uint64_t put_behind(const Block& block, std::string* data) {
  data->resize((data->size() + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
  const std::uint64_t offset = data->size();
  data->append(static_cast<const char*>(block.data), block.bytes);
  return offset;
}

void add_blocks(const std::vector<const Block*>& blocks, std::span<const char> segment,
                std::string* data) {
  std::vector<BlockRecord> records;
  data->resize(blocks.size() * sizeof(BlockRecord));
  for (const Block* block : blocks) {
    BlockRecord record = record_of(*block);
    const auto at = reinterpret_cast<std::uintptr_t>(block->data),
               start = reinterpret_cast<std::uintptr_t>(segment.data());
    record.in_segment = at >= start && at - start < segment.size();
    record.offset = record.in_segment ? at - start : put_behind(*block, data);
    records.push_back(record);
  }
  if (!records.empty())
    std::memcpy(data->data(), records.data(), records.size() * sizeof(BlockRecord));
}

// Bit for bit, and texts in whatever encoding.
json parameters_to_json(const std::vector<ParameterValue>& parameters, std::string* data) {
  json all = json::array();
  for (const ParameterValue& value : parameters) {
    json& told = all.emplace_back(json::object());
    if (const auto* integer = std::get_if<std::int64_t>(&value)) told["integer"] = *integer;
    if (const auto* real = std::get_if<double>(&value))
      told["real"] = std::bit_cast<std::int64_t>(*real);
    if (const auto* text = std::get_if<std::string>(&value)) {
      told["text"] = data->size();
      told["bytes"] = text->size();
      data->append(*text);
    }
  }
  return all;
}

std::vector<ParameterValue> parameters_from_json(const Frame& order) {
  std::vector<ParameterValue> all;
  for (const json& told : order.head.at("parameters")) {
    ParameterValue& value = all.emplace_back();
    if (told.contains("integer")) value = told["integer"].get<std::int64_t>();
    if (told.contains("real")) value = std::bit_cast<double>(told["real"].get<std::int64_t>());
    if (told.contains("text"))
      value = order.data.substr(told["text"].get<std::size_t>(), told["bytes"].get<std::size_t>());
  }
  return all;
}

}  // namespace

Frame iteration_order(const Iteration& iteration, std::size_t waiting,
                      const std::function<bool(std::uint32_t variable)>& takes,
                      const std::vector<const Block*>& constants, std::span<const char> segment) {
  std::vector<const Block*> blocks;
  for (const Block& block : iteration.blocks) {
    if (takes(block.variable)) blocks.push_back(&block);
  }
  const std::size_t of_iteration = blocks.size();
  blocks.insert(blocks.end(), constants.begin(), constants.end());
  Frame order;
  add_blocks(blocks, segment, &order.data);
  order.head = {{"kind", "iteration"},
                {"iteration", iteration.number},
                {"complete", iteration.complete},
                {"waiting", waiting},
                {"blocks", of_iteration},
                {"constants", constants.size()},
                {"due", iteration.due},
                {"parameters", parameters_to_json(iteration.parameters, &order.data)},
                {"signals", iteration.signals}};
  return order;
}

Iteration iteration_in(const Frame& order, const char* segment_start) {
  Iteration iteration;
  iteration.number = order.head.at("iteration");
  iteration.complete = order.head.at("complete");
  const std::size_t blocks = order.head.at("blocks"), constants = order.head.at("constants");
  for (std::size_t i = 0; i < blocks + constants; ++i) {
    BlockRecord record;
    std::memcpy(&record, order.data.data() + i * sizeof record, sizeof record);
    (i < blocks ? iteration.blocks : iteration.constants)
        .push_back(block_in(record, record.in_segment ? segment_start : order.data.data()));
  }
  order.head.at("due").get_to(iteration.due);
  iteration.parameters = parameters_from_json(order);
  order.head.at("signals").get_to(iteration.signals);
  return iteration;
}

Frame products_order(const Publication& publication, const std::vector<const Product*>& wanted) {
  Frame order;
  json told = json::array();
  for (const Product* product : wanted) add_product(*product, product->name, 0, &told, &order.data);
  order.head = {{"kind", "products"},
                {"source", publication.source},
                {"by_plugin", publication.kind == Publication::Source::plugin},
                {"of_run", publication.of_run},
                {"iteration", publication.iteration},
                {"arrays", std::move(told)}};
  return order;
}

Publication publication_in(const Frame& order) {
  const auto kind = order.head.at("by_plugin").get<bool>() ? Publication::Source::plugin
                                                           : Publication::Source::script;
  Publication publication{kind, order.head.at("source"), order.head.at("iteration"),
                          products_in(order.head, order.data)};
  publication.of_run = order.head.at("of_run");
  return publication;
}

namespace {

constexpr std::int64_t kForEverNs = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kProgressNs = 100'000'000;  // it is told so often at most

// Frames to leatd from any thread; those of it are for the main thread.
class ToLeatd {
 public:
  void send(const Frame& frame) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!send_frame(kWorkerSocket, frame, kForEverNs)) _Exit(1);  // nobody needs us any more
  }
  bool receive(Frame* frame) {
    return receive_frame(kWorkerSocket, frame, kForEverNs) == FrameStatus::frame;
  }
  std::string ask_for_ledger() {
    send({{{"kind", "ledger"}}, ""});
    Frame answer;
    return receive(&answer) ? text_in(answer.head, "text") : "";
  }

 private:
  std::mutex mutex_;
};

// leatd leaves out what is below its own level.
class LogAtLeatd final : public Log {
 public:
  explicit LogAtLeatd(ToLeatd& leatd) : Log(LogLevel::debug), leatd_(leatd) {}

 private:
  void put(LogLevel level, const std::string& text) override {
    leatd_.send({{{"kind", "log"}, {"level", name_of(level)}, {"text", text}}, ""});
  }
  ToLeatd& leatd_;
};

// Threads keep the schedule of the one that starts them.
class PieceThreads final : public Executor {
 public:
  std::jthread run(const char* name, Urgency, std::function<void()> work) override {
    return std::jthread([name, work = std::move(work)] {
      os::name_thread(name);
      work();
    });
  }
};

RunFacts facts_in(const nlohmann::json& setup) {
  RunFacts facts;
  facts.session = setup.at("session");
  facts.run_session = setup.at("run_session");
  facts.run_id = setup.at("run_id");
  facts.ranks = setup.at("ranks");
  facts.node_ranks = setup.at("node_ranks");
  facts.resumed = setup.at("resumed");
  facts.drained = setup.at("drained");
  return facts;
}

model::Model model_in(const shm::Segment& segment) {
  const std::optional<shm::RunText> text = shm::decode_run_text(segment.run_text());
  if (!text) throw std::runtime_error("the segment " + segment.name() + " is damaged");
  model::ReadResult read = model::read_sources(text->sources);
  if (!read.model) throw std::runtime_error(model::format(read.diagnostics));
  return std::move(*read.model);
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// The plugin, with all that it is given of the run.
class PluginAtWork {
 public:
  PluginAtWork(const nlohmann::json& setup, ToLeatd& leatd)
      : leatd_(leatd),
        segment_(must(shm::Segment::look(setup.at("segment")))),
        model_(model_in(segment_)),
        facts_(facts_in(setup)),
        team_(setup.at("cores").get<std::size_t>() - 1),
        gate_(segment_, setup.at("cores").get<int>()),
        is_gated_(setup.at("runs") == "harvest"),
        library_(must(load_plugin_of(told(setup)))),
        plugin_(library_.plugin(), model_, setup.at("store").get<std::uint32_t>(), view_,
                std::make_shared<LogAtLeatd>(leatd)) {
    plugin_.set_crew(is_gated_ ? static_cast<PieceRunner&>(gated_) : team_, [] { return false; });
    plugin_.host().show_ledger([this] { return leatd_.ask_for_ledger(); });
    plugin_.host().report_progress([this] { tell_progress(); });
    if (!facts_.has_all_ranks()) plugin_.host().never_reduces();
    plugin_.host().never_steers();
    if (setup.at("runs") == "coordinated") start_.emplace(segment_, told(setup));
    team_.start(threads_);
  }

  /// The answer to an order.
  Frame obey(const Frame& order) {
    const std::string kind = text_in(order.head, "kind");
    std::string error;
    if (is_gated_ && kind != "open") gate_.await();
    if (kind == "open") error = open(order);
    if (kind == "close") error = plugin_.close();
    if (kind == "products") error = take_products(order);
    if (kind == "iteration") error = take_iteration(order);
    return answer(error);
  }

 private:
  const model::Store& told(const nlohmann::json& setup) const {
    return model_.stores.at(setup.at("store").get<std::size_t>());
  }

  std::string open(const Frame& order) {
    plugin_.set_ranks(order.head.at("ranks"));
    return plugin_.open();
  }

  // What does not come in pieces is one.
  std::string take_iteration(const Frame& order) {
    if (start_) started_ = start_->await(order.head.at("iteration").get<std::int64_t>());
    std::optional<IdleGate::Place> place;
    if (is_gated_ && !library_.plugin()->begin) place.emplace(gate_);
    return plugin_.process(iteration_in(order, segment_.at<char>(0)),
                           order.head.at("waiting").get<std::size_t>());
  }

  std::string take_products(const Frame& order) {
    const Publication publication = publication_in(order);
    return plugin_.process(publication, plugin_.wanted_of(publication));
  }

  Frame answer(const std::string& error) {
    IdleGate::Work work = gate_.take_work();
    if (started_) work.ns = os::now_ns() - started_->begun_ns;
    Frame frame{{{"kind", "answer"},
                 {"error", error},
                 {"work_ns", work.ns},
                 {"pieces", work.pieces},
                 {"outlasted", work.outlasted},
                 {"longest_outlasted_ns", work.longest_outlasted_ns},
                 {"arrays", nlohmann::json::array()}},
                ""};
    if (const auto started = std::exchange(started_, {}))
      frame.head.update({{"start", started->how},
                         {"waited_ns", started->waited_ns},
                         {"lag_ns", started->lag_ns}});
    const std::optional<Publication> made = plugin_.take_published();
    if (!made) return frame;
    for (const Product& product : made->products)
      add_product(product, product.name, 0, &frame.head["arrays"], &frame.data);
    return frame;
  }

  void tell_progress() {
    const std::int64_t now_ns = os::now_ns();
    std::int64_t told_ns = told_ns_.load(std::memory_order_relaxed);  // nothing hangs on it
    if (now_ns - told_ns < kProgressNs || !told_ns_.compare_exchange_strong(told_ns, now_ns))
      return;
    leatd_.send({{{"kind", "progress"}}, ""});
  }

  ToLeatd& leatd_;
  shm::Segment segment_;
  model::Model model_;
  RunFacts facts_;
  PluginView view_{model_, facts_};
  PieceThreads threads_;
  WorkTeam team_;
  IdleGate gate_;
  GatedTeam gated_{team_, gate_};
  bool is_gated_;
  std::optional<CollectiveStart> start_;
  std::optional<CollectiveStart::Start> started_;
  LoadedPlugin library_;
  PluginInstance plugin_;
  std::atomic<std::int64_t> told_ns_{0};
};

int work_with(ToLeatd& leatd) {
  Frame order;
  if (!leatd.receive(&order)) return 1;
  std::unique_ptr<PluginAtWork> plugin;
  try {
    plugin = std::make_unique<PluginAtWork>(order.head, leatd);
  } catch (const std::exception& e) {
    leatd.send({{{"cannot", e.what()}}, ""});
    return 1;
  }
  leatd.send({nlohmann::json::object(), ""});
  while (leatd.receive(&order)) leatd.send(plugin->obey(order));
  return 0;
}

}  // namespace

int work_for_plugin() {
  const char* const idle = std::getenv("LEAT_WORKER_IDLE");
  if (idle && std::string_view(idle) == "1") os::run_when_idle();
  os::set_affinity(os::allowed_cpus());
  ToLeatd leatd;
  return work_with(leatd);
}

}  // namespace leat::server
