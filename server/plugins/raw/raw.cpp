// SPDX-License-Identifier: Apache-2.0
// Blocks as they are, one after the other, in a file for each variable or for each iteration; the index
// says what lies where. All cores of the server write at the same time, a block each.
//
// Bytes are written behind what the index speaks of, and the line of an iteration comes after them: a
// server that is killed leaves bytes without a line, which its successor writes over.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "server/plugins/raw/block_writer.hpp"
#include "server/plugins/raw/files.hpp"
#include "server/plugins/raw/index.hpp"
#include "server/plugins/raw/options.hpp"

namespace leat::raw {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// As NumPy calls them, by leat_scalar.
const char* const kTypes[] = {"",        "int8",      "int16",      "int32",  "int64",
                              "uint8",   "uint16",    "uint32",     "uint64", "float32",
                              "float64", "complex64", "complex128", "S1"};

void set_aside(const std::string& folder, leat::Host host) {
  for (int number = 1;; ++number) {
    const fs::path kept = folder + "." + std::to_string(number);
    if (fs::exists(fs::symlink_status(kept))) continue;
    fs::rename(folder, kept);
    host.info(folder + " was there already and is called " + kept.string() + " now");
    return;
  }
}

json list_of(const std::int64_t* numbers, std::uint32_t count) {
  return std::vector<std::int64_t>(numbers, numbers + count);
}

}  // namespace

class Raw {
 public:
  Raw(const leat_run& run, leat::Host host)
      : run_(run),
        host_(host),
        options_(options_of(run)),
        writer_(options_.io, options_.folder, host) {
    start();
  }

  // "" or what is wrong with the options.
  static std::string check(const leat_run& run) {
    options_of(run);
    return "";
  }

  // Each block stays by itself.
  static bool makes_whole(const leat_run&, std::uint64_t) { return false; }

  std::uint64_t begin(const leat_iteration_data& data) {
    pieces_.clear();
    if (last_ && data.iteration <= *last_) return 0;  // of the server before
    line_ = {{"iteration", data.iteration}, {"complete", data.complete != 0}};
    json& blocks = line_["blocks"] = json::array();
    std::map<std::string, std::uint64_t> ends = ends_;
    for (const leat_block& block : leat::Blocks(data)) {
      const leat_variable& variable = *leat_variable_at(&run_, block.variable);
      const std::string file = file_of(variable, data.iteration);
      pieces_.push_back({block.data, block.bytes, files_->open(file), ends[file]});
      blocks.push_back(entry_of(block, variable, file, ends[file]));
      ends[file] += block.bytes;
    }
    new_ends_ = std::move(ends);
    if (std::any_of(pieces_.begin(), pieces_.end(), is_large))
      writer_.begin(leat_iteration_waiting(&data));
    return pieces_.size();
  }

  void chunk(std::uint64_t number) {
    const Piece& piece = pieces_[number];
    const auto* from = static_cast<const char*>(piece.data);
    const int code = writer_.write(piece.fd, piece.at, from, piece.bytes);
    if (code != 0) files_->fail(code);
  }

  void finish() {
    if (pieces_.empty()) return;
    if (options_.is_per_iteration) cut_at(new_ends_);
    if (options_.is_durable) files_->sync();
    index_->append(line_.dump() + "\n", options_.is_durable);
    last_ = line_["iteration"].get<std::int64_t>();
    if (options_.is_per_iteration)
      files_->close_all();
    else
      ends_ = std::move(new_ends_);
  }

  void close() {
    cut_at(ends_);
    if (const std::string how = writer_.summary(); !how.empty())
      host_.info(options_.folder + ": " + how);
  }

 private:
  struct Piece {
    const void* data;
    std::uint64_t bytes;
    int fd;
    std::uint64_t at;
  };
  // Behind what the index has may be bytes of an iteration that was given up, or of a dead server.
  void cut_at(const std::map<std::string, std::uint64_t>& ends) {
    for (const auto& [file, end] : ends) files_->cut(file, end);
  }
  static bool is_large(const Piece& piece) { return BlockWriter::is_large(piece.bytes); }

  void start() {
    fs::create_directories(options_.folder);
    index_.emplace(options_.folder);
    if (leat_run_is_resumed(&run_)) {
      if (const auto reached = index_->take_up()) {
        last_ = reached->iteration;
        if (!options_.is_per_iteration) ends_ = reached->ends;
      }
    } else if (index_->has_something()) {
      index_.reset();
      set_aside(options_.folder, host_);
      fs::create_directories(options_.folder);
      index_.emplace(options_.folder);
    }
    files_.emplace(options_.folder);
    if (!index_->has_something()) index_->append(first_line(), false);
  }

  std::string first_line() const {
    json variables = json::array();
    std::map<std::string, std::string> files;
    for (std::uint64_t i = 0; i < run_.variable_count; ++i) {
      const leat_variable& each = *leat_variable_at(&run_, i);
      const auto [other, is_new] = files.emplace(file_of(each, 0), each.name);
      if (!is_new && !options_.is_per_iteration)
        throw std::runtime_error("the variables \"" + other->second + "\" and \"" + each.name +
                                 "\" would have one file, " + other->first +
                                 ": rename one, or set the option file-per to \"iteration\"");
      variables.push_back({{"name", each.name}, {"type", kTypes[each.type]}});
    }
    const json line{{"leat_raw", 1}, {"simulation", run_.simulation}, {"variables", variables}};
    return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }

  std::string file_of(const leat_variable& variable, std::int64_t iteration) const {
    if (options_.is_per_iteration) {
      char name[48];
      std::snprintf(name, sizeof name, "iteration-%010lld.bin", static_cast<long long>(iteration));
      return name;
    }
    std::string name = variable.name;
    std::replace(name.begin(), name.end(), '/', '.');
    return name + ".bin";
  }

  static json entry_of(const leat_block& block, const leat_variable& variable,
                       const std::string& file, std::uint64_t at) {
    json entry{{"variable", variable.name},
               {"rank", block.rank},
               {"block", block.block},
               {"file", file},
               {"offset", at},
               {"bytes", block.bytes},
               {"extent", list_of(block.extent, variable.dims)}};
    if (block.has_position) {
      entry["position"] = list_of(block.position, variable.dims);
      entry["global"] = list_of(block.global, variable.dims);
    }
    if (const auto level = leat::level_of(block)) {
      entry["level"] = *level;
      entry["position"] = list_of(block.position, variable.dims);
    }
    return entry;
  }

  const leat_run& run_;
  leat::Host host_;
  Options options_;
  BlockWriter writer_;
  std::optional<Index> index_;
  std::optional<Files> files_;
  std::optional<std::int64_t> last_;           // iteration that the index has
  std::map<std::string, std::uint64_t> ends_;  // of files that grow, as the index has them
  std::map<std::string, std::uint64_t> new_ends_;
  json line_;
  std::vector<Piece> pieces_;
};

}  // namespace leat::raw

LEAT_PLUGIN(leat::raw::Raw, "raw")
