// SPDX-License-Identifier: Apache-2.0
#include "lib/checkpoint/checkpoints.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "lib/os/user_file.hpp"

namespace leat::checkpoint {
namespace {

constexpr std::string_view kBegin = "checkpoint-";

// Takes a number from the beginning; false when there is none.
bool take_number(std::string_view* text, std::int64_t* number) {
  const char* const end = text->data() + text->size();
  const auto [behind, fault] = std::from_chars(text->data(), end, *number);
  if (fault != std::errc{} || *number < 0) return false;
  text->remove_prefix(static_cast<std::size_t>(behind - text->data()));
  return true;
}

bool take_end(std::string_view* text, std::string_view end) {
  if (!text->ends_with(end)) return false;
  text->remove_suffix(end.size());
  return true;
}

bool take_dot(std::string_view* text) {
  if (!text->starts_with('.')) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string PartName::stem() const {
  char text[64];
  std::snprintf(text, sizeof text, "checkpoint-%010lld.%lld.",
                static_cast<long long>(key.iteration), static_cast<long long>(key.generation));
  return text + part;
}

std::optional<FileName> name_in(const std::string& file) {
  std::string_view left = file;
  FileName found;
  found.is_unfinished = take_end(&left, kUnfinished);
  found.is_index = take_end(&left, kIndexEnding);
  if (!found.is_index && !take_end(&left, kDataEnding)) return std::nullopt;
  if (!left.starts_with(kBegin)) return std::nullopt;
  left.remove_prefix(kBegin.size());
  Key& key = found.name.key;
  const bool is_one = take_number(&left, &key.iteration) && take_dot(&left) &&
                      take_number(&left, &key.generation) && take_dot(&left) && !left.empty();
  found.name.part = left;
  return is_one ? std::optional(found) : std::nullopt;
}

std::vector<FileName> files_in(const std::string& folder) {
  std::vector<FileName> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  if (!entries) return found;
  while (const dirent* entry = readdir(entries.get())) {
    if (auto name = name_in(entry->d_name)) found.push_back(std::move(*name));
  }
  return found;
}

std::vector<Checkpoint> checkpoints_in(const std::vector<std::string>& folders) {
  std::map<Key, std::map<std::string, std::vector<std::string>>> all;
  for (const std::string& folder : folders) {
    for (const FileName& file : files_in(folder))
      if (file.is_index && !file.is_unfinished)
        all[file.name.key][file.name.part].push_back(folder);
  }
  std::vector<Checkpoint> found;
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    found.push_back({each->first, {}});
    for (auto& [part, places] : each->second)
      found.back().parts.push_back({{each->first, part}, std::move(places)});
  }
  return found;
}

Result<Index> read_part(const std::string& folder, const PartName& name, const Wanted& wanted) {
  const std::string path = folder + "/" + name.stem();
  const Result<std::string> text = os::text_of_file(path + kIndexEnding);
  if (!text) return text.error();
  Result<Index> index = index_of(*text, wanted);
  if (!index)
    return Error{index.error().status, path + kIndexEnding + ": " + index.error().message};
  struct stat data {};
  const bool is_there = stat((path + kDataEnding).c_str(), &data) == 0 && S_ISREG(data.st_mode);
  if (is_there && static_cast<std::uint64_t>(data.st_size) == index->bytes) return index;
  return Error{Status::ERROR_SYSTEM,
               path + kDataEnding +
                   (is_there ? " has " + std::to_string(data.st_size) + " bytes and not " +
                                   std::to_string(index->bytes)
                             : " is not there")};
}

namespace {

// Ranges in order, without those that follow on each other.
Ranks united(Ranks ranks) {
  std::sort(ranks.begin(), ranks.end());
  Ranks all;
  for (const auto& each : ranks) {
    if (!all.empty() && each.first <= all.back().second + 1)
      all.back().second = std::max(all.back().second, each.second);
    else
      all.push_back(each);
  }
  return all;
}

std::string missing_in(const Ranks& ranks, std::int64_t count) {
  std::string missing;
  std::int64_t next = 0;
  const auto add = [&missing](std::int64_t first, std::int64_t last) {
    if (first > last) return;
    missing += (missing.empty() ? "" : ", ") + std::to_string(first) +
               (first == last ? "" : "-" + std::to_string(last));
  };
  for (const auto& [first, last] : united(ranks)) {
    add(next, std::min(first, count) - 1);
    next = last + 1;
  }
  add(next, count - 1);
  return missing;
}

// Of the first of its places where it is whole.
Result<Index> header_of(const Part& part) {
  Result<Index> index = Error{Status::ERROR_SYSTEM, "it is nowhere"};
  for (const std::string& folder : part.folders) {
    index = read_part(folder, part.name, {.blocks = false});
    if (index) return index;
  }
  return index;
}

}  // namespace

std::string why_not_whole(const Checkpoint& checkpoint, Index* first) {
  Ranks ranks;
  std::optional<Index> of_all;
  std::string why;
  for (const Part& part : checkpoint.parts) {
    const Result<Index> index = header_of(part);
    if (!index) {
      if (why.empty()) why = index.error().message;
      continue;
    }
    if (of_all && (of_all->session != index->session || of_all->ranks != index->ranks))
      return "its parts are of two runs, " + of_all->session + " and " + index->session;
    if (!of_all) of_all = *index;
    ranks.insert(ranks.end(), index->own.begin(), index->own.end());
  }
  if (!of_all) return why;
  const std::string missing = missing_in(ranks, of_all->ranks);
  if (first) *first = std::move(*of_all);
  if (missing.empty()) return "";
  return "the part of rank" +
         std::string(missing.find_first_of("-,") == std::string::npos ? " " : "s ") + missing +
         " is missing" + (why.empty() ? "" : ": " + why);
}

std::string title_of(const Key& key) {
  return "checkpoint of iteration " + std::to_string(key.iteration);
}

}  // namespace leat::checkpoint
