// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/journal_record.hpp"

#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kMagic[] = "LEATJRN4";
constexpr char kMagicBefore[] = "LEATJRN3";  // its changes are summed up byte by byte
static_assert(sizeof(Standing) == 56 && sizeof(RecordHead) == 96);

// An id with zeros behind it; all zeros where the system does not tell it.
const std::string& this_boot() {
  static const std::string boot = [] {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    id.resize(kBootBytes);
    return id;
  }();
  return boot;
}

// FNV-1a, 64 bits. Source: Fowler, Noll, Vo, draft-eastlake-fnv.
std::uint64_t sum_of(const void* from, std::size_t bytes,
                     std::uint64_t sum = 14695981039346656037u) {
  const auto* at = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ at[i]) * 1099511628211u;
  return sum;
}

// Of changes: of many variables they are 100 KiB in each commit, for which bytes are too slow.
// FNV-1a of words, each mixed so that no two errors in the highest bits make up for each other.
std::uint64_t sum_of_changes(std::string_view text) {
  std::uint64_t sum = 14695981039346656037u, word = 0;
  std::size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, &text[at], sizeof word);
    sum = (sum ^ word) * 1099511628211u;
    sum ^= sum >> 32;
  }
  return sum_of(text.data() + at, text.size() - at, sum);
}

bool has_magic(const RecordHead& head, const char* magic) {
  return std::memcmp(head.magic, magic, kMagicBytes) == 0;
}

// As the one who wrote the head has summed up what is behind it.
std::uint64_t sum_of_changes(const RecordHead& head, const std::string& text) {
  return has_magic(head, kMagicBefore) ? sum_of(text.data(), text.size()) : sum_of_changes(text);
}

std::uint64_t sum_of(const Standing& standing) {
  return sum_of(&standing, offsetof(Standing, sum));
}

std::uint64_t sum_of(const RecordHead& head) {
  constexpr std::size_t kBegin = offsetof(RecordHead, inode);
  return sum_of(reinterpret_cast<const char*>(&head) + kBegin,
                offsetof(RecordHead, head_sum) - kBegin, sum_of(head.magic, kMagicBytes));
}

std::uint64_t inode_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

std::uint64_t size_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

void append(std::string* to, const void* from, std::size_t bytes) {
  to->append(static_cast<const char*>(from), bytes);
}

// Both sides of all changes; false when it is no list of them.
bool take_changes(const std::string& text, FoundRecord* found) {
  found->changes.clear();
  found->before.clear();
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  for (const auto* end = at + text.size(); at < end;) {
    std::uint64_t place[2];
    if (static_cast<std::size_t>(end - at) < sizeof place) return false;
    std::memcpy(place, at, sizeof place);
    at += sizeof place;
    if (place[1] > static_cast<std::size_t>(end - at) / 2) return false;
    found->changes[place[0]].assign(at, at + place[1]);
    at += place[1];
    found->before[place[0]].assign(at, at + place[1]);
    at += place[1];
  }
  return true;
}

FoundRecord unusable(std::string why) {
  return {FoundRecord::Kind::unusable, {}, {}, std::move(why)};
}

bool is_zero(const RecordHead& head) {
  static constexpr RecordHead kZero{};
  return std::memcmp(&head, &kZero, sizeof head) == 0;
}

// "" or why the head cannot be one that was written for the file.
std::string fault_of(const RecordHead& head, std::uint64_t inode) {
  const bool is_known = has_magic(head, kMagic) || has_magic(head, kMagicBefore);
  if (!is_known || head.head_sum != sum_of(head) || head.standing.sum != sum_of(head.standing)) {
    return "is damaged: its head is not as it was written";
  }
  if (head.inode == inode) return "";
  return "is of another file, or of the one from which this was copied: of inode " +
         std::to_string(head.inode) + ", and this file has inode " + std::to_string(inode);
}

bool has(const RecordHead& head, RecordState state) {
  return head.standing.state == static_cast<std::uint64_t>(state);
}

// Each byte there is the one that was, or the one that is to be.
bool fits(const FoundRecord& found, int file) {
  std::vector<unsigned char> there;
  for (const auto& [address, wanted] : found.changes) {
    const std::vector<unsigned char>& before = found.before.at(address);
    there.resize(wanted.size());
    if (read_whole(file, there.data(), there.size(), address) != 0) return false;
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i] != wanted[i] && there[i] != before[i]) return false;
    }
  }
  return true;
}

// The changes behind `head`, at `at`. Nothing when they are not whole, and need not be.
std::optional<FoundRecord> changes_behind(const RecordHead& head, int journal, std::uint64_t at,
                                          bool is_strict) {
  FoundRecord found{FoundRecord::Kind::changes};
  std::string text;
  const bool fits_in = head.bytes <= size_of(journal) - at;
  if (fits_in) {
    text.resize(head.bytes);
    if (read_whole(journal, text.data(), text.size(), at) != 0)
      return unusable("cannot be read: " + std::string(std::strerror(errno)));
  }
  if (fits_in && head.sum == sum_of_changes(head, text) && take_changes(text, &found)) return found;
  if (!is_strict) return std::nullopt;
  return unusable(fits_in ? "is damaged: its changes are not as they were written"
                          : "is damaged: it is cut off");
}

bool is_of_this_boot(const RecordHead& head) {
  return this_boot() == std::string(head.standing.boot, kBootBytes);
}

// The first head speaks for all records.
bool needs_nothing(const RecordHead& first) {
  return has(first, RecordState::forgotten) ||
         (has(first, RecordState::made) && is_of_this_boot(first));
}

}  // namespace

Standing standing(RecordState state) {
  Standing made{static_cast<std::uint64_t>(state), {}, 0};
  if (state != RecordState::being_written) std::memcpy(made.boot, this_boot().data(), kBootBytes);
  made.sum = sum_of(made);
  return made;
}

std::string make_record(const Changes& changes, const KnownBytes& there, int file) {
  std::string record(sizeof(RecordHead), '\0');
  for (const auto& [address, bytes] : changes) {
    const std::uint64_t place[2] = {address, bytes.size()};
    append(&record, place, sizeof place);
    append(&record, bytes.data(), bytes.size());
    append(&record, there.find(address, bytes.size()), bytes.size());
  }
  const std::string_view text = std::string_view(record).substr(sizeof(RecordHead));
  RecordHead head{};
  std::memcpy(head.magic, kMagic, kMagicBytes);
  head.standing = standing(RecordState::being_written);
  head.inode = inode_of(file);
  head.bytes = text.size();
  head.sum = sum_of_changes(text);
  head.head_sum = sum_of(head);
  std::memcpy(record.data(), &head, sizeof head);
  return record;
}

FoundRecord read_records(int journal, int file) {
  FoundRecord last{FoundRecord::Kind::not_begun};
  const std::uint64_t size = size_of(journal), inode = inode_of(file);
  // What is not whole may be so for good reasons, but of a record that was ready in this boot.
  bool is_strict = true;
  for (std::uint64_t at = 0;;) {
    RecordHead head{};
    const bool is_there = size >= at + sizeof head;
    if (is_there && read_whole(journal, &head, sizeof head, at) != 0)
      return unusable("cannot be read");
    if (at > 0 && is_there && is_zero(head)) break;
    std::string fault = is_there ? fault_of(head, inode) : "is damaged: it is cut off";
    if (!fault.empty() && is_strict) return unusable(std::move(fault));
    if (!fault.empty()) break;
    if (at == 0 && needs_nothing(head)) return {FoundRecord::Kind::made};
    if (at == 0) is_strict = has(head, RecordState::ready) && is_of_this_boot(head);
    const bool is_begun = is_strict && !has(head, RecordState::being_written);
    std::optional<FoundRecord> next = changes_behind(head, journal, at + sizeof head, is_begun);
    if (!next) break;
    if (next->kind == FoundRecord::Kind::unusable) return *next;
    last = std::move(*next);
    at += sizeof head + head.bytes;
  }
  if (last.kind == FoundRecord::Kind::changes && !fits(last, file)) {
    return unusable(
        "does not fit the file: where its commit was at work, the file has neither what was there "
        "before nor what was to come; it is of another file, or the file was changed since");
  }
  return last;
}

}  // namespace leat::hdf5
