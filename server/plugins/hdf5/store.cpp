// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/store.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>

#include "server/plugins/hdf5/block_check.hpp"
#include "server/plugins/hdf5/compression.hpp"
#include "server/plugins/hdf5/h5_file.hpp"
#include "server/plugins/hdf5/ledger_text.hpp"
#include "server/plugins/hdf5/mesh_axes.hpp"
#include "server/plugins/hdf5/nodes.hpp"
#include "server/plugins/hdf5/parameter_tables.hpp"
#include "server/plugins/hdf5/presence.hpp"
#include "server/plugins/hdf5/script_group.hpp"

namespace leat::hdf5 {
namespace {

constexpr int kMostNamed = 3;  // of the variables that an error is about

void check_options(const leat_run& run) {
  for (std::uint64_t i = 0; i < run.option_count; ++i) {
    const std::string name = run.options[i].name, value = run.options[i].value;
    if (name == "compression") deflate_level(value);
    if (name == "exists" && value != "keep" && value != "replace") {
      throw std::runtime_error("option exists=\"" + value + "\": expected \"keep\" or \"replace\"");
    }
    if (name != "file" && name != "folder" && name != "compression" && name != "exists") {
      throw std::runtime_error("the hdf5 store has no option \"" + name +
                               "\"; it has file, folder, compression and exists");
    }
  }
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    deflate_level(option(variable.options, variable.option_count, "compression"));
  }
}

// What gives dimensions their coordinates comes before what only names them.
int order_of(const leat_run& run, const leat_variable& variable) {
  if (is_coordinate_variable(variable)) return 0;
  return leat_variable_mesh(&run, &variable) ? 1 : 2;
}

std::vector<BlockList> by_variable_of(const leat_run& run, const leat_iteration_data& data) {
  std::vector<BlockList> lists;
  for (const leat_block& block : Blocks(data)) {
    if (lists.empty() || lists.back().front()->variable != block.variable) lists.emplace_back();
    lists.back().push_back(&block);
  }
  const auto order = [&run](const BlockList& blocks) {
    return order_of(run, *leat_variable_at(&run, blocks.front()->variable));
  };
  std::stable_sort(lists.begin(), lists.end(), [&order](const BlockList& a, const BlockList& b) {
    return order(a) < order(b);
  });
  return lists;
}

BlockList sound_blocks(const leat_variable& variable, const BlockList& blocks,
                       BlockErrors* errors) {
  BlockList sound;
  for (const leat_block* block : blocks) {
    try {
      check_block(variable, *block);
      sound.push_back(block);
    } catch (const std::exception& e) {
      errors->add(*block, e.what());
    }
  }
  return sound;
}

bool has(const std::vector<std::int64_t>& ascending, std::int64_t number) {
  return std::binary_search(ascending.begin(), ascending.end(), number);
}

std::int64_t nanoseconds_now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

OutputFile output_for(const leat_run& run, const Host& host) {
  check_options(run);
  return OutputFile(run, host);
}

}  // namespace

struct Store::Open {
  Open(hid_t file, const leat_run& run)
      : scales(file, run),
        rows(scales.iteration().extents()[0]),
        stored_before(numbers_in(scales.iteration())),
        place{file, scales, run},
        parameters(place) {
    make_whole();
    for (std::uint64_t i = 0; i < run.variable_count; ++i) {
      const leat_variable& variable = *leat_variable_at(&run, i);
      if (is_dataset(file, variable.name)) take_up(static_cast<std::uint32_t>(i), variable);
    }
  }

  void make_whole() {
    whole = Dataset(place.file, scales.take_name("iteration_complete"), H5T_NATIVE_UINT8,
                    growing_list());
    whole.attach_iterations(scales.iteration());
    if (!whole.is_new()) return;
    set_attribute(whole.id(), "long_name",
                  "1: all of the iteration is here; 0: a rank died, or something was not stored");
  }

  void take_up(std::uint32_t number, const leat_variable& variable) {
    writers[number] = make_writer(place, variable, {});
    if (variable.time_varying) presences[number] = Presence(place, variable.name, rows);
  }

  Scales scales;
  hsize_t rows;
  std::vector<std::int64_t> stored_before;  // by writers before this one, ascending
  Place place;
  Dataset whole;
  ParameterTables parameters;
  std::map<std::string, ScriptGroup> scripts;
  std::map<std::uint32_t, std::unique_ptr<Writer>> writers;  // by variable
  std::map<std::uint32_t, Presence> presences;               // of those that vary in time
  std::set<std::uint32_t> in_row;    // variables of which something is in the last row
  std::vector<std::int64_t> unsaid;  // numbers of the last rows that /iteration does not have yet
  std::vector<std::uint8_t> unsaid_whole;
};

Store::Store(const leat_run& run, Host host)
    : run_(run), host_(host), meshes_(run, host), output_(output_for(run, host)) {
  if (output_.continues()) continue_file();
  if (!open_) start_file();
  if (!output_.view().empty()) view_ = std::make_unique<ViewKeeper>(run, host, output_);
}

void Store::continue_file() {
  try {
    disk_ = std::make_unique<CommittedFile>(output_.path(), CommittedFile::Start::existing);
    file_ = open_file(output_.path(), disk_.get());
    open_ = std::make_unique<Open>(file_, run_);
    host_.info("continuing " + output_.path() + " behind its " + std::to_string(open_->rows) +
               " iterations");
  } catch (const std::exception& e) {
    file_ = Id();
    output_.give_up_old(e.what());
  }
}

void Store::start_file() {
  disk_ = std::make_unique<CommittedFile>(output_.path(), CommittedFile::Start::anew);
  file_ = create_file(output_.path(), disk_.get());
  write_attributes(run_);
  open_ = std::make_unique<Open>(file_, run_);
  commit(Keep::always);
  const int code = disk_->publish();
  if (code != 0)
    throw std::runtime_error("cannot create " + output_.path() + ": " + std::strerror(code));
  host_.info("writing " + output_.path());
}

Store::~Store() = default;

void Store::write_attributes(const leat_run& run) {
  if (is_one_of_several_nodes(run)) {
    set_attribute(file_, kFirstRank, std::int64_t{leat_run_first_rank(&run)});
    set_attribute(file_, kNodeRanks, std::int64_t{run.node_ranks});
    set_attribute(file_, kStarted, nanoseconds_now());
    set_attribute(file_, kViewName, std::filesystem::path(output_.view()).filename().string());
  }
  set_attribute(file_, "simulation", std::string(run.simulation));
  set_attribute(file_, "session", std::string(run.session));
  set_attribute(file_, "ranks", std::int64_t{run.ranks});
  set_attribute(file_, "leat_version", std::string(LEAT_VERSION));
  set_attribute(file_, "leat_xml", std::string(run.xml));
}

void Store::iteration(const leat_iteration_data& data) {
  be_quiet();
  meshes_.look_at(data);
  if (has(open_->stored_before, data.iteration)) return;
  const std::vector<BlockList> by_variable = by_variable_of(run_, data);
  const std::string what = output_.path() + ", iteration " + std::to_string(data.iteration) + ": ";
  try {
    make_room(data);
  } catch (const std::exception& e) {
    throw std::runtime_error(what + e.what());
  }
  open_->in_row.clear();
  std::string errors;
  int failed = 0;
  for (const BlockList& blocks : by_variable) {
    const std::string error = write_variable(blocks);
    if (!error.empty() && ++failed <= kMostNamed) errors += (errors.empty() ? "" : "; ") + error;
  }
  if (failed > kMostNamed) {
    errors += "; and so for " + std::to_string(failed - kMostNamed) + " more variables";
  }
  // The row is used up even when nothing could be stored: what a failed write left behind is never
  // taken for data.
  ++open_->rows;
  try {
    finish_row(data, errors.empty() && data.complete != 0);
  } catch (const std::exception& e) {
    errors += (errors.empty() ? "" : "; ") + std::string(e.what());
  }
  if (!errors.empty()) {
    throw std::runtime_error(what + errors);
  }
}

// A full disk is found before anything of the iteration is written.
void Store::make_room(const leat_iteration_data& data) {
  std::uint64_t bytes = 0;
  for (const leat_block& block : Blocks(data)) bytes += block.bytes;
  const int code = disk_->make_room(bytes);
  if (code == 0) return;
  throw std::runtime_error("no room on the disk for its " + std::to_string(bytes) +
                           " bytes: " + std::strerror(code));
}

// Returns what went wrong.
std::string Store::write_variable(const BlockList& blocks) {
  const std::uint32_t number = blocks.front()->variable;
  try {
    const leat_variable& variable = *leat_variable_at(&run_, number);
    BlockErrors errors(variable.name);
    const BlockList sound = sound_blocks(variable, blocks, &errors);
    std::unique_ptr<Writer>& writer = open_->writers[number];
    if (!writer && !sound.empty()) writer = make_writer(open_->place, variable, sound);
    if (!sound.empty()) {
      writer->write(open_->rows, sound, &errors);
      open_->in_row.insert(number);
    }
    errors.raise();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

void Store::finish_row(const leat_iteration_data& data, bool whole) {
  open_->unsaid.push_back(data.iteration);
  open_->unsaid_whole.push_back(whole ? 1 : 0);
  for (auto& [variable, writer] : open_->writers) {
    if (!writer) continue;
    writer->grow_to_rows(open_->rows);
    const leat_variable& described = *leat_variable_at(&run_, variable);
    if (described.time_varying)
      open_->presences[variable].note(open_->place, described.name, open_->rows - 1,
                                      open_->in_row.count(variable) > 0);
  }
  open_->parameters.write(open_->rows - 1, data);
  // The data are in the file before the row that names them: a writer may be killed between the
  // two.
  commit(Keep::till_killed);
  const hsize_t first = open_->rows - open_->unsaid.size();
  open_->whole.grow_to({open_->rows});
  open_->whole.write({first}, {open_->unsaid.size()}, open_->unsaid_whole.data());
  open_->scales.iteration().grow_to({open_->rows});
  open_->scales.iteration().write({first}, {open_->unsaid.size()}, open_->unsaid.data());
  commit(Keep::always);
  open_->unsaid.clear();
  open_->unsaid_whole.clear();
  if (view_) view_->after_commit();
}

void Store::results(const leat_result_set& set) {
  be_quiet();
  const auto found = open_->scripts.find(set.source);
  ScriptGroup& group =
      found != open_->scripts.end()
          ? found->second
          : open_->scripts.try_emplace(set.source, file_, set.source).first->second;
  if (group.has(set.iteration)) return;
  std::string failed;
  try {
    group.add(set);
  } catch (const std::exception& e) {
    failed = e.what();
  }
  commit(Keep::till_killed);
  group.finish_row(set.iteration);
  commit(Keep::always);
  if (failed.empty()) return;
  throw std::runtime_error(output_.path() + ", script \"" + set.source + "\", iteration " +
                           std::to_string(set.iteration) + ": not stored: " + failed);
}

void Store::commit(Keep keep) {
  check(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot write " + output_.path());
  const int code = keep == Keep::always ? disk_->commit() : disk_->stage();
  if (code != 0)
    throw std::runtime_error("cannot write " + output_.path() + ": " + std::strerror(code));
}

// A file without it is still a whole file.
void Store::keep_ledger() {
  try {
    const std::string json = host_.ledger();
    if (const int code = disk_->make_room(json.size()); code != 0)
      throw std::runtime_error(std::strerror(code));
    write_ledger(file_, json);
  } catch (const std::exception& e) {
    host_.warn(output_.path() + ": the ledger is not in it: " + e.what());
  }
}

void Store::close() {
  be_quiet();
  meshes_.close();
  open_.reset();
  keep_ledger();
  check(H5Fclose(file_.take()), "cannot finish " + output_.path());
  for (const int code : {disk_->commit(), disk_->finish()}) {
    if (code != 0) {
      throw std::runtime_error("cannot finish " + output_.path() + ": " + std::strerror(code));
    }
  }
  if (view_) view_->at_close();
}

}  // namespace leat::hdf5
