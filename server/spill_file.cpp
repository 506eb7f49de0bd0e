// SPDX-License-Identifier: Apache-2.0
#include "server/spill_file.hpp"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "lib/platform/mapped_file.hpp"
#include "lib/platform/memory_file.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/spill_folder.hpp"

namespace leat::server {
namespace {

constexpr std::uint64_t kAlignment = 64;
static_assert(sizeof(SpillHeader) == 64);
static_assert(std::is_trivially_copyable_v<Block>, "it is stored as it is in memory");

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void put(std::string& head, const void* what, std::size_t bytes) {
  head.append(static_cast<const char*>(what), bytes);
}

SpilledParameter parameter_of(const ParameterValue& value, std::string& text) {
  SpilledParameter made{value.index(), 0};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    made.bits = static_cast<std::uint64_t>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    made.bits = std::bit_cast<std::uint64_t>(*real);
  } else if (const auto* words = std::get_if<std::string>(&value)) {
    made.bits = words->size();
    text += *words;
  }
  return made;
}

// All that is in front of the data, which begin at the next multiple of 64.
std::string head_of(const Iteration& iteration, std::uint64_t* file_bytes) {
  std::string parameters, text, blocks;
  for (const ParameterValue& value : iteration.parameters) {
    const SpilledParameter made = parameter_of(value, text);
    put(parameters, &made, sizeof made);
  }
  const std::uint64_t block_bytes = iteration.blocks.size() * sizeof(SpilledBlock);
  std::uint64_t end = aligned(sizeof(SpillHeader) + block_bytes + parameters.size() + text.size());
  for (const Block& block : iteration.blocks) {
    SpilledBlock made{block, end};
    made.block.data = nullptr;
    put(blocks, &made, sizeof made);
    end += aligned(block.bytes);
  }
  SpillHeader header{};
  header.magic = kSpillMagic;
  header.version = kSpillVersion;
  header.block_bytes = sizeof(SpilledBlock);
  header.iteration = iteration.number;
  header.complete = iteration.complete;
  header.block_count = static_cast<std::uint32_t>(iteration.blocks.size());
  header.parameter_count = static_cast<std::uint32_t>(iteration.parameters.size());
  header.text_bytes = text.size();
  header.file_bytes = *file_bytes = end;
  std::string head;
  put(head, &header, sizeof header);
  return head + blocks + parameters + text;
}

bool write_all(int file, const Iteration& iteration, const std::string& head) {
  if (!platform::write_at(file, head.data(), head.size(), 0)) return false;
  std::uint64_t at = aligned(head.size());
  for (const Block& block : iteration.blocks) {
    if (!platform::write_at(file, block.data, block.bytes, at)) return false;
    at += aligned(block.bytes);
  }
  return true;
}

struct Mapping {
  platform::MappedFile file;
  std::shared_ptr<const void> companion;
};

bool read_parameters(const platform::MappedFile& file, const SpillHeader& header, std::uint64_t at,
                     Iteration* iteration) {
  std::uint64_t text = at + header.parameter_count * sizeof(SpilledParameter);
  for (std::uint32_t i = 0; i < header.parameter_count; ++i) {
    SpilledParameter each{};
    std::memcpy(&each, file.at(at + i * sizeof each), sizeof each);
    switch (each.kind) {
      case 0:
        iteration->parameters.emplace_back();
        break;
      case 1:
        iteration->parameters.emplace_back(static_cast<std::int64_t>(each.bits));
        break;
      case 2:
        iteration->parameters.emplace_back(std::bit_cast<double>(each.bits));
        break;
      case 3:
        if (!file.has(text, each.bits)) return false;
        iteration->parameters.emplace_back(std::string(file.at(text), each.bits));
        text += each.bits;
        break;
      default:
        return false;
    }
  }
  return true;
}

bool read_all(const std::shared_ptr<const Mapping>& mapping, Iteration* iteration) {
  const platform::MappedFile& file = mapping->file;
  SpillHeader header{};
  if (!file.has(0, sizeof header)) return false;
  std::memcpy(&header, file.at(0), sizeof header);
  const std::uint64_t parameters =
      sizeof header + std::uint64_t{header.block_count} * sizeof(SpilledBlock);
  const std::uint64_t parameter_bytes =
      std::uint64_t{header.parameter_count} * sizeof(SpilledParameter);
  if (header.magic != kSpillMagic || header.version != kSpillVersion ||
      header.block_bytes != sizeof(SpilledBlock) || header.file_bytes != file.bytes() ||
      !file.has(parameters, parameter_bytes)) {
    return false;
  }
  iteration->number = header.iteration;
  iteration->complete = header.complete != 0;
  for (std::uint32_t i = 0; i < header.block_count; ++i) {
    SpilledBlock each{};
    std::memcpy(&each, file.at(sizeof header + i * sizeof each), sizeof each);
    if (!file.has(each.offset, each.block.bytes)) return false;
    each.block.data = file.at(each.offset);
    iteration->blocks.push_back(each.block);
    iteration->holds[each.block.variable] = mapping;
  }
  return read_parameters(file, header, parameters, iteration);
}

}  // namespace

std::uint64_t spill_file_bytes(const Iteration& iteration) {
  std::uint64_t bytes = 0;
  head_of(iteration, &bytes);
  return bytes;
}

std::string write_spill_file(const std::string& folder, const Iteration& iteration) {
  const std::string part = folder + "/" + platform::spill_part_name(iteration.number);
  const std::string whole = folder + "/" + platform::spill_file_name(iteration.number);
  std::uint64_t bytes = 0;
  const std::string head = head_of(iteration, &bytes);
  const platform::UniqueFd file = platform::make_file(part, bytes);
  if (file && write_all(file.get(), iteration, head) && rename(part.c_str(), whole.c_str()) == 0) {
    return "";
  }
  const int why = errno;
  unlink(part.c_str());
  return platform::errno_text(why);
}

Result<Iteration> read_spill_file(const std::string& path, std::shared_ptr<const void> companion) {
  Result<platform::MappedFile> file = platform::MappedFile::open(path);
  if (!file) return file.error();
  const auto mapping = std::make_shared<Mapping>(Mapping{std::move(*file), std::move(companion)});
  Iteration iteration;
  if (read_all(mapping, &iteration)) return iteration;
  return Error{Status::ERROR_VERSION, path + " is no iteration that this Leat has spilled"};
}

}  // namespace leat::server
