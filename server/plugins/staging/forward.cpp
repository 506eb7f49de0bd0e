// SPDX-License-Identifier: Apache-2.0
// The store of a node that sends what stores and scripts on staging nodes want. An iteration is done when the staging node has it
// in its own segment.
//
// When the staging node is lost, its work goes on elsewhere, as when-lost says: on another staging node, or on this one, in a
// second server, which a program started from here stands beside. The iteration in progress is sent again, as a whole.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"
#include "lib/staging/values.hpp"
#include "server/include/plugin.hpp"
#include "server/plugins/staging/losses.hpp"
#include "server/plugins/staging/products.hpp"
#include "server/plugins/staging/target.hpp"

namespace leat::staging {
namespace {

using nlohmann::json;

std::string option_of(const leat_run& run, const std::string& name) {
  for (std::uint64_t i = 0; i < run.option_count; ++i)
    if (name == run.options[i].name) return run.options[i].value;
  return "";
}

RankList ranks_of(const leat_run& run) {
  const std::int32_t* const own = leat_run_own_ranks(&run);
  if (!own) throw std::runtime_error("the server does not say which ranks it has");
  return {own, own + run.node_ranks};
}

ParameterValue value_of(const leat_parameter& parameter) {
  if (parameter.type == LEAT_INT64) return parameter.integer;
  if (parameter.type == LEAT_CHAR) return std::string(parameter.text);
  return parameter.real;
}

json parameters_of(const leat_iteration_data& data) {
  json values = json::object();
  for (std::uint64_t i = 0; i < data.parameter_count; ++i) {
    const leat_parameter& each = *leat_parameter_at(&data, i);
    if (each.has_value) values[each.name] = json_of(value_of(each));
  }
  return values;
}

BlockHead head_of(const leat_block& block, std::uint32_t dims) {
  BlockHead head;
  head.rank = block.rank;
  head.variable = block.variable;
  head.block = block.block;
  head.dims = dims;
  head.has_position = block.has_position != 0;
  head.has_level = leat_block_has_level(&block);
  head.level = block.level;
  head.checksum = block.checksum;
  head.has_checksum = block.has_checksum;
  head.bytes = block.bytes;
  std::memcpy(head.extent, block.extent, sizeof head.extent);
  std::memcpy(head.position, block.position, sizeof head.position);
  std::memcpy(head.global, block.global, sizeof head.global);
  return head;
}

}  // namespace

class Forward {
 public:
  Forward(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        target_({.simulation = run.simulation,
                 .config = option_of(run, "config"),
                 .nodes = std::atoll(option_of(run, "nodes").c_str()),
                 .when_lost = option_of(run, "when-lost"),
                 .timeout_seconds = std::strtod(option_of(run, "timeout").c_str(), nullptr),
                 .resumed = leat_run_is_resumed(&run) != 0,
                 .caller = {.share = {run.session, {}, run.ranks, 0},
                            .own = ranks_of(run),
                            .node = os::node_name(),
                            .xml = run.xml,
                            .progress = [host] { host.progress(1); }}},
                host) {
    if (!target_.ensure()) host_.error(target_.why());
  }

  // Each block stays by itself.
  static bool makes_whole(const leat_run&, std::uint64_t) { return false; }

  void iteration(const leat_iteration_data& data) {
    while (target_.ensure() && !send(data)) target_.link_is_lost();
    if (!target_.is_there()) throw std::runtime_error(target_.why());
    target_.taken(data.iteration);
    signals_.clear();
    const json steered = target_.link().take_steered();
    for (const auto& [name, value] : steered.items()) steer(name, value_in(value));
  }

  // A server before this one may have sent some: these have the numbers before.
  void results(const leat_result_set& set) {
    std::optional<PackedProducts> packed;
    std::string why;
    bool is_there = target_.ensure();
    for (; is_there; target_.link_is_lost(), is_there = target_.ensure()) {
      if (!packed) packed = pack(set, run_, next_number());
      if (send(*packed, &why)) break;
    }
    if (!is_there) throw std::runtime_error(target_.why());
    if (!why.empty())
      throw std::runtime_error("products of \"" + std::string(set.source) + "\": " + why);
    target_.products_taken(number_, set.iteration);
  }

  // Kept, in case the iteration has to be sent again.
  void on_signal(const char* event, std::int32_t rank, std::int64_t iteration, const char*) {
    signals_.push_back(json{{"event", event}, {"rank", rank}, {"iteration", iteration}}.dump());
  }

  void close() {
    const std::string ledger = host_.ledger();
    json bye = {{"lost", losses_of(ledger, run_, !drops_together_)}};
    if (drops_together_) bye["dropped"] = dropped_in(ledger);
    int status = 0;
    const bool is_there = target_.is_there() && target_.link().send(FrameKind::bye, bye.dump()) &&
                          target_.link().await_stored(&status);
    std::string why = target_.lost_with_nodes();
    if (!is_there) why += (why.empty() ? "" : "; ") + target_.why_not_stored();
    if (status < 0)
      why += std::string(why.empty() ? "" : "; ") +
             "the staging node has not stored all that came: its log and its ledger say what";
    target_.forget();
    if (!why.empty()) throw std::runtime_error(why);
  }

 private:
  bool send(const leat_iteration_data& data) {
    Link& link = target_.link();
    if (link.ended() < data.iteration && !send_content(data)) return false;
    json end = {{"iteration", data.iteration}};
    const std::uint64_t died = leat_iteration_died_count(&data);
    if (died > 0) end["died"] = RankList(data.died, data.died + died);
    if (!link.send(FrameKind::end, end.dump()) || !link.await_taken(data.iteration)) return false;
    if (link.refused() > 0)
      host_.warn("iteration " + std::to_string(data.iteration) +
                 ": the staging node could not take " + counted(link.refused(), "block") +
                 "; its ledger says which, and why");
    return true;
  }

  // A server before this one may have sent it: then it has come as a whole.
  bool send_content(const leat_iteration_data& data) {
    Link& link = target_.link();
    const json begin = {{"iteration", data.iteration}, {"values", parameters_of(data)}};
    for (const std::string& each : signals_)
      if (!link.send(FrameKind::signal, each)) return false;
    if (!link.send(FrameKind::parameters, begin.dump())) return false;
    for (const leat_block& block : Blocks(data)) {
      const std::uint32_t dims = leat_variable_at(&run_, block.variable)->dims;
      if (!link.send_block(head_of(block, dims), block.data)) return false;
      host_.progress(block.bytes);
    }
    return true;
  }

  std::uint64_t next_number() {
    const Link& link = target_.link();
    if (!std::exchange(is_numbered_, true)) {
      number_ = link.products();
      if (link.products_through() < number_) target_.products_taken(number_, -1);
    }
    return ++number_;
  }

  bool send(const PackedProducts& packed, std::string* why) {
    Link& link = target_.link();
    if (link.products() >= packed.number) return true;  // before the connection broke
    BlockHead head;
    head.bytes = packed.data.size();
    return link.send(FrameKind::products, packed.head) &&
           link.send_block(head, packed.data.data()) && link.await_products(packed.number, why);
  }

  void steer(const std::string& parameter, const ParameterValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      host_.set(parameter, *integer);
    else if (const auto* real = std::get_if<double>(&value))
      host_.set(parameter, *real);
    else
      host_.set(parameter, std::string(as_text(value)));
  }

  const leat_run& run_;
  Host host_;
  const bool drops_together_ = !option_of(run_, "drops-together").empty();
  Target target_;
  std::vector<std::string> signals_;
  std::uint64_t number_ = 0;  // of the last products
  bool is_numbered_ = false;
};

}  // namespace leat::staging

LEAT_PLUGIN(leat::staging::Forward, "to-staging")
