// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/member.hpp"

#include <algorithm>

namespace leat::comm {
namespace {

// Beyond those that all have, for observers.
constexpr std::size_t kMostKept = 4096, kMostKeptBytes = 4 << 20;

// Who will not contribute to a round is told within two of these that others wait for it, however long servers may be silent.
constexpr std::int64_t kMostTickNs = 250'000'000;

// A root that is none any more has made it, and the next one, or one after it, never heard of it.
bool is_void(const Outcome& outcome, const View& view) {
  return outcome.epoch != view.epoch_of(outcome.sequence);
}

}  // namespace

Member::Member(MemberSettings settings, std::int64_t now_ns)
    : settings_(std::move(settings)),
      all_(0, settings_.size - 1),
      members_(all_),
      now_ns_(now_ns),
      pulse_ns_(now_ns),
      rounds_(settings_.self, settings_.most_open) {
  if (settings_.resume) resume(*std::exchange(settings_.resume, std::nullopt));
  choose_parent();
  tick();
}

void Member::resume(Resume from) {
  restarts_ = from.restarts;
  is_elected_ = false;
  view_ = std::move(from.view);
  look_at_view();
  known_ = own_confirmed_ = from.known;
  for (const Round& each : from.over) rounds_.end(each, known_);
  for (const Outcome& each : from.outcomes) rounds_.end(each.round, each.sequence);
  for (Outcome& each : from.outcomes) log(std::move(each));
  confirmed_ = kept() - 1;
  if (view_.dead.has(settings_.self)) observes_since_ = known_;
  for (auto& [round, columns] : from.contributions) rounds_.resume(round, std::move(columns));
  if (!from.why_alone.empty()) go_alone(std::move(from.why_alone));
}

// ---- for the application ----

std::string Member::contribute(const Round& round, Columns columns) {
  end_if_too_many(round);
  const std::size_t bytes = bytes_in(columns);
  const bool is_too_large = bytes > settings_.most_bytes;
  std::string why_not = rounds_.contribute(round, is_too_large ? Columns() : std::move(columns));
  if (why_not.empty()) pass_on();
  if (why_not.empty() && is_too_large)
    return "its " + std::to_string(bytes) + " bytes are more than the " +
           std::to_string(settings_.most_bytes) + " that a round may have of one server";
  return why_not;
}

void Member::confirm(std::int64_t sequence) {
  own_confirmed_ = std::max(own_confirmed_, sequence);
  if (is_alone()) trim(own_confirmed_);
}

std::vector<Round> Member::take_awaited() {
  std::vector<Round> all;
  for (const Round& each : std::exchange(awaited_, {}))
    if (!rounds_.is_over(each) && !rounds_.has_reached(each)) all.push_back(each);
  return all;
}

void Member::leave() {
  if (std::exchange(is_leaving_, true)) return;
  known_at_leave_ = known_;
  below_.reset();
  if (leads()) {
    bury_and_let_go();
  } else {
    send_up();
  }
}

bool Member::has_left() const {
  if (!is_leaving_) return false;
  return is_alone() || is_observer() || view_.left.has(settings_.self) ||
         members() == RankSet(settings_.self);
}

RankSet Member::awaited(std::uint64_t channel) const {
  if (is_alone()) return {};
  if (leads()) return rounds_.awaited(channel, members());
  RankSet children;
  for (const auto& [rank, child] : children_) children += rank;
  children -= view_.dead;
  return rounds_.awaited(channel, children);
}

// ---- who is there ----

void Member::look_at_view() {
  members_ = all_ - view_.gone();
  below_.reset();
}

const Member::Below& Member::below() const {
  if (below_) return *below_;
  below_ = Below{};  // clang has no emplace() of a type of this class with initializers
  Below& all = *below_;
  all.attached += settings_.self;
  if (is_leaving_) all.leaving += settings_.self;
  for (const auto& [rank, child] : children_) {
    all.attached += child.attached;
    all.leaving += child.leaving;
    if (above(rank) == settings_.self && !view_.dead.has(rank)) all.children += rank;
  }
  return all;
}

// Of two halves the one with the lowest rank. The dead count: else a root that is cut off would have most
// of ever fewer, as it misses one after the other.
bool Member::has_most(const RankSet& some) const {
  const RankSet run = all_ - view_.left;
  const std::size_t there = some.count_in(members()), of = run.count();
  return 2 * there > of || (2 * there == of && some.has(run.first()));
}

void Member::adopt(const View& view) {
  if (!view.is_newer_than(view_) || !all_.has(view.root) || !all_.has(view.gone())) return;
  if (std::any_of(log_.begin(), log_.end(),
                  [&view](const Outcome& each) { return is_void(each, view); }))
    return go_alone("it was cut off from most servers of the run together with their root");
  const bool is_other_root = view.epoch != view_.epoch;
  view_ = view;
  look_at_view();
  if (is_other_root) {
    pulse_ = 0;
    pulse_ns_ = now_ns_;
    suspected_.erase(view_.root);
  }
  if (is_observer() && !observes_since_) observes_since_ = known_;
  send_down();
  forget_gone();
  choose_parent();
  // What it sent while the root before took it for dead was not taken by its parent, though that may be the same one.
  if (is_other_root && parent_ && linked_.has(*parent_)) attach();
  pass_on();
}

void Member::go_alone(std::string why) {
  why_alone_ = std::move(why);
  is_rooted_ = false;
  parent_.reset();
  asked_.reset();
  children_.clear();
  below_.reset();
  messages_.clear();
  log_.clear();
  log_bytes_ = 0;
  pass_on();
}

void Member::end_if_too_many(const Round& round) {
  if (!is_alone() && rounds_.is_full_for(round))
    go_alone("more than " + std::to_string(settings_.most_open) +
             " rounds of the run are open at one time");
}

void Member::forget_gone() {
  std::erase_if(children_, [this](const auto& each) {
    return view_.left.has(each.first) || is_observer();  // nobody is below one that is dead
  });
  below_.reset();
}

// Those below it have as long again, to attach elsewhere.
void Member::drop(Rank rank) {
  const auto child = children_.find(rank);
  if (child == children_.end()) return;
  for (const Rank below : child->second.attached.ranks())
    missing_[below] = now_ns_ + 2 * settings_.silence_ns;
  missing_[rank] = child->second.heard_ns + settings_.silence_ns;
  children_.erase(child);
  below_.reset();
  pass_on();
}

// ---- the tree ----

void Member::suspect(Rank rank) { suspected_.emplace(rank, now_ns_); }

Rank Member::candidate() const {
  for (const RankSet::Range& each : members().ranges())
    for (Rank rank = each.first; rank <= each.last; ++rank)
      if (!is_suspected(rank)) return rank;
  return settings_.self;
}

// Those above are lower ranks, and a root has nobody above: there is no circle.
std::optional<Rank> Member::best_parent() const {
  if (is_alone() || leads()) return std::nullopt;
  const auto is_good = [&](Rank rank) { return members().has(rank) && !is_suspected(rank); };
  for (Rank rank = settings_.self; rank > 0;) {
    rank = above(rank);
    if (is_good(rank)) return rank;
  }
  if (view_.root != settings_.self && is_good(view_.root)) return view_.root;
  const Rank next = candidate();
  return next == settings_.self ? std::nullopt : std::optional(next);
}

// Who has a good parent keeps it, though it be another one than in the beginning.
void Member::choose_parent() {
  const bool is_above = parent_ && (*parent_ < settings_.self || *parent_ == view_.root);
  if (!is_alone() && !leads() && is_above && !is_suspected(*parent_) && members().has(*parent_))
    return;
  const std::optional<Rank> best = best_parent();
  if (best == parent_) return;
  parent_ = best;
  parent_since_ns_ = now_ns_;
  parent_heard_ns_ = 0;
  if (parent_) asked_.reset();
  if (parent_ && linked_.has(*parent_)) attach();
}

void Member::attach() {
  send_up();
  if (is_observer()) return;
  for (Partial& each : rounds_.sent()) send(*parent_, std::move(each));
  pass_on();
}

void Member::send_up() {
  if (!parent_ || !linked_.has(*parent_)) return;
  std::int64_t known = known_;
  for (const auto& [rank, child] : children_) known = std::max(known, child.known);
  told_attached_ = attached();
  told_leaving_ = leaving();
  send(*parent_, Up{view_, told_attached_, told_leaving_, known, confirmed_below()});
}

void Member::send_down(Rank to) {
  Down down{view_, pulse_, known_, confirmed_, kept(), {}};
  const auto child = children_.find(to);
  if (child != children_.end())
    for (const auto* list : {&awaited_above_, &awaited_below_})
      for (const Awaited& each : *list)
        if (RankSet of = each.of & child->second.attached; !of.empty())
          down.awaited.push_back({each.round, std::move(of)});
  send(to, std::move(down));
}

void Member::send_down() {
  messages_.reserve(messages_.size() + children_.size());
  for (const auto& [rank, child] : children_) send_down(rank);
}

void Member::connected(Rank peer) {
  linked_ += peer;
  if (is_alone()) return;
  if (asked_ == peer) send(peer, Ask{view_});
  if (parent_ != peer) return;
  parent_since_ns_ = now_ns_;
  attach();
}

// The link may be made again soon.
void Member::disconnected(Rank peer) {
  linked_ -= peer;
  if (is_alone()) return;
  if (parent_ == peer) {
    parent_since_ns_ = now_ns_;
    parent_heard_ns_ = 0;
  }
  drop(peer);
}

// ---- messages ----

void Member::receive(Rank from, Message message) {
  if (is_alone() || !all_.has(from) || from == settings_.self) return;
  std::visit([this, from](auto& each) { on(from, std::move(each)); }, message);
  if (is_alone()) return;
  succeed();
  if (below().is_told) return;
  below_->is_told = attached() == told_attached_ && leaving() == told_leaving_;
  if (below_->is_told) return;
  if (leads()) {
    const bool is_leaving = leaving() != told_leaving_;
    told_attached_ = attached();
    told_leaving_ = leaving();
    if (is_leaving) bury_and_let_go();
  } else {
    send_up();
  }
}

void Member::on(Rank from, Up up) {
  adopt(up.view);
  if (is_alone()) return;
  if (is_observer() || view_.left.has(from) || view_.left.has(settings_.self))
    return send_down(from);
  const bool is_new = !children_.contains(from);
  RankSet there = RankSet(from);
  if (!view_.dead.has(from))
    there = all_.has(up.attached) ? std::move(up.attached) : up.attached & all_;
  there += from;
  RankSet leaving = up.leaving & there;
  Child& child = children_[from];
  if (child.attached != there || child.leaving != leaving) below_.reset();
  child = {std::move(there), std::move(leaving), up.known, up.confirmed, now_ns_};
  suspected_.erase(from);
  if (up.view.epoch == view_.epoch && members().has(from)) refused_ -= RankSet(from);
  if (is_new || view_.is_newer_than(up.view)) send_down(from);
  want_more(from, up.known);
  if (is_new) pass_on();
}

void Member::on(Rank from, Down down) {
  adopt(down.view);
  if (is_alone() || from != parent_) return;
  parent_heard_ns_ = now_ns_;
  if (down.kept > known_ + 1) {
    if (from == view_.root || !is_observer())
      return go_alone("it was out of reach for so long that outcomes which it lacks are lost");
    suspect(from);  // others may have more
    return choose_parent();
  }
  awaited_above_ = std::move(down.awaited);
  look_at_awaited(awaited_above_);
  if (down.view.epoch == view_.epoch && down.pulse > pulse_) {
    pulse_ = down.pulse;
    pulse_ns_ = now_ns_;
    is_rooted_ = was_rooted_ = true;
    send_down();
  }
  want_more(from, down.known);
  trim(down.confirmed);
}

// Also of one that was silent for so long that it is no child at present.
void Member::on(Rank from, Partial partial) {
  if (!members().has(from)) {
    refused_ += from;
    return;
  }
  // It sends that again once it knows of the root that does not take it for dead; what comes before that is not all of it.
  if (refused_.has(from)) return;
  end_if_too_many(partial.round);
  if (is_alone()) return;
  const bool is_of_child = partial.by > 0 && above(partial.by) == settings_.self;
  rounds_.add(std::move(partial), is_of_child);
  pass_on();
}

// One that is void may come late.
void Member::on(Rank from, Outcome outcome) {
  if (from != parent_ && !children_.contains(from)) return;
  if (!is_void(outcome, view_)) take(std::move(outcome), from);
}

void Member::on(Rank from, const Want& want) {
  for (const Outcome& each : log_)
    if (each.sequence >= want.from) send(from, each);
}

void Member::on(Rank from, const Ask& ask) {
  if (view_.is_newer_than(ask.view)) send_down(from);
}

// ---- as time goes by ----

void Member::tick() {
  if (is_alone()) {
    next_tick_ns_ = INT64_MAX;
    return;
  }
  next_tick_ns_ = now_ns_ + std::min(settings_.silence_ns / 4, kMostTickNs);
  if (view_.left.has(settings_.self)) {  // nobody waits for it, and it waits for nobody
    parent_.reset();
    children_.clear();
    below_.reset();
    next_tick_ns_ = INT64_MAX;
    return;
  }
  look_at_children();
  if (leads()) {
    lead();
  } else {
    look_at_root();
    awaited_below_ = rounds_.waiting(attached() & members());
    look_at_awaited(awaited_below_);
    send_up();
    send_down();
  }
}

void Member::look_at_children() {
  std::vector<Rank> silent;
  for (const auto& [rank, child] : children_)
    if (now_ns_ - child.heard_ns > settings_.silence_ns) silent.push_back(rank);
  for (const Rank rank : silent) drop(rank);
}

// Whom one suspects is tried again after a while.
void Member::look_at_root() {
  const bool is_running = was_rooted_ || restarts_ > 0;  // else others may not have begun yet
  const bool is_heard = parent_ && now_ns_ - parent_heard_ns_ <= settings_.silence_ns;
  std::int64_t patience = is_running ? settings_.silence_ns : settings_.start_ns;
  // It may be elected anew, and those that are below such a one have the same time.
  const std::int64_t more = is_heard ? settings_.silence_ns / 2 : 0;
  if (parent_ == view_.root) patience += more;
  const std::int64_t without = now_ns_ - pulse_ns_;
  const std::int64_t until_dead = was_rooted_ ? settings_.silence_ns : settings_.start_ns;
  if (without > settings_.give_up_ns + until_dead + more)
    return go_alone("it has heard nothing of most servers of the run for too long");
  // All the dead at once are suspected for long enough, however many: one is tried after the other.
  const auto suspects = static_cast<std::int64_t>(suspected_.size());
  const std::int64_t memory = std::max(std::int64_t{1}, suspects) * settings_.silence_ns;
  std::erase_if(suspected_, [&](const auto& each) { return now_ns_ - each.second > memory; });
  if (without > patience) {
    is_rooted_ = false;
    next_tick_ns_ = now_ns_ + settings_.silence_ns / 16;
    if (view_.root != settings_.self) suspect(view_.root);
  }
  if (parent_) {
    const std::int64_t tried = now_ns_ - std::max(parent_since_ns_, parent_heard_ns_);
    const std::int64_t limit = !is_running          ? settings_.start_ns
                               : without > patience ? settings_.silence_ns / 4
                                                    : settings_.silence_ns / 2;
    const bool is_lost = !is_heard && tried > limit;
    const bool leads_nowhere = without > patience + settings_.silence_ns &&
                               *parent_ != candidate() &&
                               now_ns_ - parent_since_ns_ > settings_.silence_ns;
    if (is_lost || leads_nowhere) suspect(*parent_);
  }
  choose_parent();
  if (is_observer() || candidate() != settings_.self) return;
  succeed();
  if (!leads() && without > patience) become_root();
  if (!leads() && !parent_ && without > patience) ask_another();
}

void Member::ask_another() {
  const std::vector<Rank> all = (members() - RankSet(settings_.self)).ranks();
  if (all.empty()) return;
  const auto next = std::upper_bound(all.begin(), all.end(), asked_.value_or(-1));
  asked_ = next == all.end() ? all.front() : *next;
  if (linked_.has(*asked_)) send(*asked_, Ask{view_});
}

void Member::lead() {
  is_rooted_ = has_most(attached());
  const std::int64_t patience = was_rooted_ ? 0 : settings_.start_ns;
  if (is_rooted_) {
    was_rooted_ = true;
    asked_.reset();
    ++pulse_;
    pulse_ns_ = now_ns_;
  } else if (now_ns_ - pulse_ns_ > patience + settings_.give_up_ns) {
    return go_alone("less than half of the servers of the run can be reached");
  } else if (was_rooted_) {
    ask_another();
  }
  bury_and_let_go();
  if (attached().has(members())) trim(confirmed_below());
  awaited_below_ = rounds_.waiting(members());
  look_at_awaited(awaited_below_);
  send_down();
  pass_on();
}

void Member::bury_and_let_go() {
  const RankSet& there = attached();
  for (const Rank rank : (all_ - there - view_.gone()).ranks())
    missing_.emplace(rank, now_ns_ + (was_rooted_ ? settings_.give_up_ns
                                                  : settings_.start_ns + settings_.give_up_ns));
  std::erase_if(missing_, [&there](const auto& each) { return there.has(each.first); });
  if (!has_most(there)) return;
  const RankSet before = view_.gone();
  for (const auto& [rank, until] : missing_)
    if (now_ns_ > until && !view_.left.has(rank)) view_.dead += rank;
  view_.left += leaving() - view_.dead - RankSet(settings_.self);
  look_at_view();
  const bool hands_over =
      is_leaving_ && confirmed_below() >= known_at_leave_ && members() != RankSet(settings_.self);
  if (hands_over) view_.left += settings_.self;
  if (view_.gone() == before) return;
  look_at_view();
  ++view_.version;
  send_down();
  forget_gone();
  pass_on();
}

// At once where the root has left, or is this one, killed meanwhile, and all are here.
void Member::succeed() {
  const bool may_be = view_.left.has(view_.root) || (view_.root == settings_.self && !is_elected_);
  if (!may_be || is_observer() || view_.left.has(settings_.self)) return;
  if (candidate() != settings_.self || !attached().has(members())) return;
  for (const auto& [rank, child] : children_)
    if (child.known > known_) return;
  become_root();
}

// With all outcomes that one of them has: none is made twice among most servers.
void Member::become_root() {
  if (!has_most(attached())) return;
  for (const auto& [rank, child] : children_)
    if (child.known > known_ && !view_.dead.has(rank)) return want_more(rank, child.known);
  view_.epoch = next_epoch();
  view_.root = settings_.self;
  view_.version = 0;
  is_elected_ = true;
  view_.starts.push_back({view_.epoch, known_});
  suspected_.clear();
  missing_.clear();
  parent_.reset();
  asked_.reset();
  pulse_ = 0;
  pulse_ns_ = now_ns_;
  was_rooted_ = true;
  lead();
}

// Another one than any other root has, and any that this server had before it was killed.
std::int64_t Member::next_epoch() const {
  const std::int64_t of_all = (view_.epoch >> 40) + 1;
  return of_all << 40 | (restarts_ & 0xffff) << 24 | settings_.self;
}

// ---- rounds ----

void Member::pass_on() {
  if (is_alone()) {
    for (Outcome& each : rounds_.take_own()) {
      each.sequence = known_ + 1;
      each.epoch = -1;
      take(std::move(each), std::nullopt);
    }
  } else if (view_.left.has(settings_.self)) {
    return;
  } else if (leads()) {
    if (!has_most(attached())) return;
    for (Outcome& each : rounds_.take_complete(members())) {
      each.sequence = known_ + 1;
      each.epoch = view_.epoch;
      take(std::move(each), std::nullopt);
    }
  } else if (parent_ && linked_.has(*parent_) && !is_observer()) {
    for (Partial& each : rounds_.take_ready(below().children)) send(*parent_, std::move(each));
  }
}

void Member::take(Outcome outcome, std::optional<Rank> from) {
  if (outcome.sequence != known_ + 1) return;
  ++known_;
  rounds_.end(outcome.round, outcome.sequence);
  for (const auto& [rank, child] : children_)
    if (rank != from) send(rank, outcome);
  outcomes_.push_back(outcome);
  if (!is_alone()) log(std::move(outcome));
}

void Member::log(Outcome outcome) {
  log_bytes_ += bytes_in(outcome.columns);
  log_.push_back(std::move(outcome));
}

void Member::look_at_awaited(const std::vector<Awaited>& all) {
  for (const Awaited& each : all)
    if (each.of.has(settings_.self)) awaited_.insert(each.round);
}

void Member::want_more(Rank of, std::int64_t known) {
  if (known > known_) send(of, Want{known_ + 1});
}

std::int64_t Member::confirmed_below() const {
  std::int64_t least = own_confirmed_;
  for (const auto& [rank, child] : children_)
    if (!view_.dead.has(rank)) least = std::min(least, child.confirmed);
  return least;
}

void Member::trim(std::int64_t confirmed) {
  confirmed_ = std::max(confirmed_, confirmed);
  while (!log_.empty() && log_.front().sequence <= confirmed_ &&
         (log_.size() > kMostKept || log_bytes_ > kMostKeptBytes)) {
    log_bytes_ -= bytes_in(log_.front().columns);
    log_.pop_front();
  }
  if (!observes_since_)
    rounds_.forget(confirmed_);  // else it may yet contribute to what has ended without it
}

}  // namespace leat::comm
