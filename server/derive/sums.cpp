// SPDX-License-Identifier: Apache-2.0
#include "server/derive/sums.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/file_lock.hpp"

namespace leat::server {
namespace {

constexpr std::uint64_t kSumsMagic = 0x31534d5553544145ULL;  // "EATSUMS1"
constexpr std::uint32_t kSumsVersion = 2;
constexpr std::uint32_t kLiveSum = 1, kDeadSum = 2;

std::uint64_t whole_pages(std::uint64_t bytes) { return round_up(bytes, os::page_bytes()); }

// Of a list; what does not vary in time is kept as it is, of up to 16 bytes each.
std::uint64_t array_bytes(const Sum::Facts& head) {
  return round_up(head.elements * (head.arrays == 0 ? 2 : 1) * sizeof(double), kBlockAlignment);
}

std::uint64_t slot_bytes(const Sum::Facts& head) {
  return array_bytes(head) * std::max(1u, head.arrays);
}

std::uint64_t sum_head_bytes() { return round_up(sizeof(Sum::Head), kBlockAlignment); }

}  // namespace

// Behind it, from the second page on, one record after the other. `end` is moved when a record is whole.
struct Sums::FileHead {
  std::uint64_t magic;
  std::uint32_t version, reserved;
  std::uint64_t config_hash;
  std::atomic<std::uint64_t> end;
  ClockSlot clock[2];
  NotedStores took;
};

double* Sum::array(int slot, std::uint32_t number) const noexcept {
  const std::uint64_t at = sum_head_bytes() +
                           static_cast<std::uint64_t>(slot) * slot_bytes(head()) +
                           number * array_bytes(head());
  return reinterpret_cast<double*>(region_.start() + at);
}

Block Sum::as_block() const noexcept {
  Block block;
  block.client = head().client;
  block.rank = head().rank;
  block.variable = head().variable;
  block.block = head().block;
  block.has_position = head().has_position != 0;
  if (head().has_level != 0) block.level = head().level;
  block.extent = head().extent;
  block.position = head().position;
  block.global = head().global;
  return block;
}

bool Sum::is_like(const Block& block, std::size_t dims) const noexcept {
  if (head().dims != dims || (head().has_position != 0) != block.has_position) return false;
  for (std::size_t d = 0; d < dims; ++d) {
    if (head().extent[d] != block.extent[d]) return false;
    if (block.has_position &&
        (head().position[d] != block.position[d] || head().global[d] != block.global[d]))
      return false;
  }
  return true;
}

Result<std::unique_ptr<Sums>> Sums::open(const std::string& path, std::uint64_t config_hash) {
  Result<os::UniqueFd> file = os::open_shared_file(path);
  if (!file) return file.error();
  std::unique_ptr<Sums> sums(new Sums(std::move(*file)));
  if (const Result<void> begun = sums->begin(config_hash); !begun) return begun.error();
  return sums;
}

Result<void> Sums::begin(std::uint64_t config_hash) {
  const std::uint64_t first = whole_pages(sizeof(FileHead));
  const bool is_new = os::bytes_of_file(file_.get()) < first;
  if (is_new) {
    if (const Result<void> done = os::lengthen_file(file_.get(), 0, first); !done) return done;
  }
  Result<os::MappedRegion> mapped = os::MappedRegion::map(file_.get(), 0, first);
  if (!mapped) return mapped.error();
  head_region_ = std::move(*mapped);
  FileHead& head = this->head();
  if (head.magic != kSumsMagic || head.version != kSumsVersion || head.config_hash != config_hash) {
    head.end.store(first);
    head.clock[0].number.store(0);
    head.clock[1].number.store(0);
    head.version = kSumsVersion;
    head.config_hash = config_hash;
    head.magic = kSumsMagic;
    return {};
  }
  const std::uint64_t bytes = std::min(head.end.load(), os::bytes_of_file(file_.get()));
  for (std::uint64_t at = first; at + sizeof(Sum::Head) <= bytes;) {
    Result<os::MappedRegion> look =
        os::MappedRegion::map(file_.get(), at, whole_pages(sizeof(Sum::Head)));
    if (!look) return look.error();
    const auto* const told = reinterpret_cast<const Sum::Head*>(look->start());
    const std::uint64_t own = told->bytes;
    if (own < sizeof(Sum::Head) || own % os::page_bytes() != 0 || own > bytes - at) break;
    if (told->kind == kLiveSum) {
      Result<os::MappedRegion> whole = os::MappedRegion::map(file_.get(), at, own);
      if (!whole) return whole.error();
      sums_.emplace(Key{told->variable, told->rank, told->block}, Sum(std::move(*whole)));
    }
    at += own;
  }
  return {};
}

ClockSlot (&Sums::clock() const noexcept)[2] { return head().clock; }

Sum* Sums::own(const Block& block, std::size_t dims) noexcept {
  const auto all = sums_.equal_range(Key{block.variable, block.rank, block.block});
  for (auto each = all.first; each != all.second; ++each)
    if (each->second.is_like(block, dims)) return &each->second;
  return nullptr;
}

Sum* Sums::own(const Block& block) noexcept {
  const auto found = sums_.find(Key{block.variable, block.rank, block.block});
  return found == sums_.end() ? nullptr : &found->second;
}

Sum* Sums::at_place(const Block& block, std::size_t dims, const std::set<Sum*>& others) noexcept {
  if (!block.has_position) return nullptr;
  for (Sum* const each : all_of(block.variable))
    if (each->is_like(block, dims) && others.count(each) == 0) return each;
  return nullptr;
}

std::vector<Sum*> Sums::all_of(std::uint32_t variable) {
  std::vector<Sum*> all;
  for (auto each = sums_.lower_bound(Key{variable, INT32_MIN, 0}); each != sums_.end(); ++each) {
    if (std::get<0>(each->first) != variable) break;
    all.push_back(&each->second);
  }
  return all;
}

// The place of one that is not needed any more is not used again: blocks seldom change their size where they are summed up.
Result<Sum*> Sums::make(const Block& like, std::size_t dims, std::uint32_t arrays, Sum* old) {
  if (old) old->head().kind = kDeadSum;
  std::erase_if(sums_, [old](const auto& each) { return &each.second == old; });
  Sum::Facts told{};
  told.kind = kLiveSum;
  told.variable = like.variable;
  told.rank = like.rank;
  told.client = like.client;
  told.block = like.block;
  told.dims = static_cast<std::uint32_t>(dims);
  told.has_position = like.has_position;
  told.has_level = like.level.has_value();
  told.level = like.level.value_or(0);
  told.arrays = arrays;
  told.extent = like.extent;
  told.position = like.position;
  told.global = like.global;
  told.elements = 1;
  for (std::size_t d = 0; d < dims; ++d)
    told.elements *= static_cast<std::uint64_t>(like.extent[d]);
  told.bytes = whole_pages(sum_head_bytes() + (arrays == 0 ? 1 : 2) * slot_bytes(told));
  const std::uint64_t at = head().end.load();
  if (const Result<void> done = os::lengthen_file(file_.get(), at, at + told.bytes); !done)
    return done.error();
  Result<os::MappedRegion> mapped = os::MappedRegion::map(file_.get(), at, told.bytes);
  if (!mapped) return mapped.error();
  const auto place =
      sums_.emplace(Key{like.variable, like.rank, like.block}, Sum(std::move(*mapped)));
  Sum::Head& head = place->second.head();
  static_cast<Sum::Facts&>(head) = told;
  for (SumSlot& slot : head.slots) {
    slot.number.store(0);
    slot.had.clear();
  }
  this->head().end.store(at + told.bytes);
  return &place->second;
}

NotedStores& Sums::took() const noexcept { return head().took; }

std::int64_t Sums::last_iteration() const noexcept {
  return std::max(clock()[0].number.load(), clock()[1].number.load()) - 1;
}

std::string Sums::save(const std::string& path) const {
  return os::copy_durably(file_.get(), this->head().end.load(), path);
}

Result<std::int64_t> Sums::last_saved(const std::string& saved, std::uint64_t config_hash) {
  const auto refused = [](const char* why) { return Error{Status::ERROR_SYSTEM, why}; };
  const os::UniqueFd file = os::open_there(saved);
  if (!file) return refused("it cannot be opened");
  const std::uint64_t first = whole_pages(sizeof(FileHead));
  if (os::bytes_of_file(file.get()) < first) return refused("it is cut off");
  const Result<os::MappedRegion> mapped = os::MappedRegion::map(file.get(), 0, first);
  if (!mapped) return mapped.error();
  const auto& head = *reinterpret_cast<const FileHead*>(mapped->start());
  if (head.magic != kSumsMagic || head.version != kSumsVersion)
    return refused("it is none of this version of Leat");
  if (head.config_hash != config_hash)
    return refused("it is of another XML: what is over periods was said in another way there");
  return std::max(head.clock[0].number.load(), head.clock[1].number.load()) - 1;
}

std::string Sums::restore(const std::string& saved, const std::string& path) {
  const os::UniqueFd file = os::open_there(saved);
  if (!file) return "it cannot be opened";
  return os::copy_durably(file.get(), os::bytes_of_file(file.get()), path);
}

}  // namespace leat::server
