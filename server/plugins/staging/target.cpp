// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/staging/target.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lib/comm/secret_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/staging/cards.hpp"

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::string_view kNoteMark = "leat-staging-place-1\n";
// Staging nodes may be started after the simulation.
constexpr std::int64_t kAwaitCards = 30 * kSecond;  // or three quarters of the timeout
// Together less than the timeout: ranks wait for memory, or for the end, meanwhile.
constexpr std::int64_t kLeastPatience = kSecond, kLeastSilence = 2 * kSecond;
constexpr std::int64_t kStart = 30 * kSecond;

// Later ones are greater: seconds since 2024.
std::int32_t next_after(std::int32_t moved) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return std::max(moved + 1, static_cast<std::int32_t>(now.count() - 1'704'067'200));
}

std::string own_program() {
  Dl_info plugin;
  if (dladdr(reinterpret_cast<const void*>(&own_program), &plugin) == 0) return "staging-node";
  return std::filesystem::path(plugin.dli_fname).parent_path() / "staging-node";
}

}  // namespace

Target::Target(Settings settings, Host host)
    : settings_(std::move(settings)), host_(host), folder_(folder_of_cards(settings_.simulation)) {
  const auto timeout_ns = static_cast<std::int64_t>(settings_.timeout_seconds * 1e9);
  await_cards_ns_ = std::min(kAwaitCards, timeout_ns / 4 * 3);
  settings_.caller.silence_ns = std::max(kLeastSilence, timeout_ns / 4);
}

bool Target::ensure() {
  if (link_) return true;
  if (is_over_) return false;
  if (!std::exchange(has_begun_, true)) {
    if (settings_.resumed && go_on_after_a_server()) return true;
    if (begin()) return true;
  } else if (try_again_there()) {
    return true;
  }
  if (move()) return true;
  is_over_ = true;
  return false;
}

void Target::link_is_lost() {
  why_ = link_->why();
  stored_ = std::max(stored_, link_->stored());
  while (!products_.empty() && products_.front().first <= link_->products_through())
    products_.pop_front();
  link_.reset();
}

std::string Target::name_of_place() const {
  if (place_ == kLocal) return "the second server of this node";
  const std::string& node = card_.card.name;
  return "staging node " + std::to_string(place_) + (node.empty() ? "" : " (" + node + ")");
}

Result<void> Target::connect(const comm::Offer& card, std::int64_t limit_ns) {
  Result<std::unique_ptr<Link>> link = Link::open(card, settings_.caller, limit_ns);
  if (!link) {
    why_ = link.error().message;
    return link.error();
  }
  link_ = std::move(*link);
  card_ = card;
  return {};
}

std::optional<comm::Offer> Target::card_within(std::int64_t number, std::int64_t ns) {
  for (const os::Deadline deadline = os::Deadline::in_ns(ns);; os::sleep_ns(kSecond / 20)) {
    if (std::optional<comm::Offer> card = card_of(folder_, number)) return card;
    if (deadline.passed()) break;
    settings_.caller.progress();
  }
  why_ = "staging node " + std::to_string(number) + " is not there: `leat staging " +
         settings_.config + "` on each of them starts it";
  return std::nullopt;
}

// A card that nobody answers for may be of one that was killed in an earlier run: the next one has another card.
bool Target::reach(std::int64_t number, const Attempt& attempt) {
  for (const os::Deadline deadline = os::Deadline::in_ns(await_cards_ns_);;
       os::sleep_ns(kSecond / 5)) {
    const std::optional<comm::Offer> card = card_within(number, deadline.left_ns());
    if (!card) return false;
    const Result<void> done = attempt(*card);
    if (done) return true;
    why_ = done.error().message;
    if (done.error().status == Status::ERROR_CONFIG || deadline.passed()) return false;
    settings_.caller.progress();
  }
}

bool Target::begin() {
  std::int64_t node = 0;
  const Attempt ask = [&](const comm::Offer& card) -> Result<void> {
    const Result<std::int64_t> asked =
        Link::ask_plan(card, &settings_.caller.share, settings_.caller.own);
    if (!asked) return asked.error();
    node = *asked;
    return {};
  };
  const Attempt open = [this](const comm::Offer& card) { return connect(card); };
  if (!reach(0, ask) || !reach(node, open)) return false;
  place_ = node;
  host_.info("sends to " + name_of_place());
  note();
  return true;
}

// The connection broke, and the place may be as it was.
bool Target::try_again_there() {
  if (place_ == kNone) return false;
  const std::string why = why_;
  const auto patience =
      std::max(kLeastPatience, static_cast<std::int64_t>(settings_.timeout_seconds * 1e9 / 8));
  host_.progress(1);  // it is known now
  for (const os::Deadline deadline = os::Deadline::in_ns(patience);; os::sleep_ns(kSecond / 5)) {
    if (connect(card_, std::max(kSecond / 2, deadline.left_ns()))) {
      host_.warn("the connection to " + name_of_place() + " broke (" + why +
                 "), and is there again");
      return true;
    }
    if (deadline.passed()) break;
  }
  host_.error(name_of_place() + " is lost: " + why + "; " + why_);
  host_.progress(1);
  return false;
}

// Of what it had taken: "iterations 3 to 5 are stored, nor products of 2 to 5"; "" for nothing.
std::string Target::not_stored_there() const {
  const std::int64_t first = std::max(moved_after_, stored_) + 1;
  const auto range = [](std::int64_t least, std::int64_t most) {
    return std::to_string(least) + " to " + std::to_string(most);
  };
  std::string iterations, products;
  if (taken_ >= first) iterations = "iterations " + range(first, taken_) + " are stored";
  if (products_.empty()) return iterations;
  const auto [least, most] =
      std::minmax_element(products_.begin(), products_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  products = "products" + (least->second < 0 ? "" : " of " + range(least->second, most->second));
  return iterations.empty() ? products + " are stored" : iterations + ", nor " + products;
}

// What it had in memory is lost with it, as far as it is known to.
bool Target::move() {
  const std::string not_stored = not_stored_there();
  if (place_ != kNone && !not_stored.empty()) {
    lost_ += (lost_.empty() ? "" : "; ") + name_of_place() + " was lost, and had not said that " +
             not_stored +
             ": what its output lacks of them is lost, unless `leat recover` there finds it";
    host_.error(lost_);
  }
  products_.clear();
  if (place_ == kNone) host_.error("there is no staging node: " + why_);
  moved_after_ = taken_;
  const std::string why = why_;
  const std::int64_t lost_place = place_;
  Share& share = settings_.caller.share;
  share.ranks = settings_.caller.own;
  share.moved = next_after(share.moved);
  for (std::int64_t each = 0; settings_.when_lost == "other" && each < settings_.nodes; ++each) {
    const std::optional<comm::Offer> card = card_of(folder_, each);
    if (each != lost_place && card && move_to(each, *card)) return true;
  }
  if (settings_.when_lost != "fail") {
    const std::optional<comm::Offer> card = start_local();
    if (card && move_to(kLocal, *card)) return true;
  }
  place_ = kNone;
  why_ = "nothing is sent to staging nodes any more: " + why +
         (settings_.when_lost == "fail" ? "; when-lost=\"fail\"" : "; " + why_);
  return false;
}

bool Target::move_to(std::int64_t place, const comm::Offer& card) {
  if (!connect(card)) return false;
  place_ = place;
  stored_ = -1;
  host_.warn(
      "from here on " + name_of_place() +
      " has what this node sends; what reduces over the run there has the ranks of this node "
      "alone");
  note();
  return true;
}

std::optional<comm::Offer> Target::start_local() {
  const Result<os::Child> child = os::spawn({own_program(), settings_.config, "--local"});
  if (!child) {
    why_ = child.error().message;
    return std::nullopt;
  }
  std::string text;
  std::optional<comm::Offer> card;
  const os::Deadline deadline = os::Deadline::in_ns(kStart);
  for (bool has_more = true; has_more && !card && !deadline.passed();) {
    has_more = os::read_report(*child, deadline.left_ns(), &text);
    std::string_view bytes = text;
    card = comm::take_offer(&bytes);
  }
  if (!card) why_ = own_program() + " could not be started on this node: its output says why";
  return card;
}

std::string Target::note_name() const {
  return std::to_string(settings_.caller.own.front()) + "-" + settings_.caller.share.run + ".place";
}

void Target::note() const {
  std::string ignored;
  const os::UniqueFd folder = comm::open_secret_folder(folder_, &ignored);
  if (!folder) return;
  const std::string share = text_of(settings_.caller.share) + "\n" + std::to_string(place_) + "\n";
  const std::string why =
      comm::write_secret(folder.get(), note_name(), kNoteMark, share + comm::bytes_of(card_, true));
  if (!why.empty())
    host_.warn(why + ": a server that takes over from this one cannot go on with its staging node");
}

// Of the run, as a server before this one has noted it.
bool Target::go_on_after_a_server() {
  std::string ignored;
  const os::UniqueFd folder = comm::open_secret_folder(folder_, &ignored);
  if (!folder) return false;
  const std::string text = comm::read_secret(folder.get(), note_name(), kNoteMark);
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  if (first == std::string::npos || second == std::string::npos) return false;
  const std::optional<Share> share = share_in(text.substr(0, first));
  std::string_view bytes = std::string_view(text).substr(second + 1);
  const std::optional<comm::Offer> card = comm::take_offer(&bytes);
  if (!share || !card) return false;
  settings_.caller.share = *share;
  place_ = std::atoll(text.c_str() + first + 1);
  card_ = *card;
  why_ = "the server before this one died";
  return try_again_there();
}

std::string Target::why_not_stored() const {
  return link_ ? "the connection to " + name_of_place() + " broke at the end: " + link_->why()
               : why_;
}

void Target::forget() {
  link_.reset();
  ::unlink((folder_ + "/" + note_name()).c_str());
  ::rmdir(folder_.c_str());  // when nothing of others is in it
}

}  // namespace leat::staging
