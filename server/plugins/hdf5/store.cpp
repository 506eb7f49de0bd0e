// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/store.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/compression.hpp"
#include "server/plugins/hdf5/disk_space.hpp"
#include "server/plugins/hdf5/types.hpp"

namespace leat::hdf5 {
namespace {

constexpr int kMostNamed = 3;  // of the variables that an error is about

Id access_list() {
  Id list(H5Pcreate(H5P_FILE_ACCESS), "making a property list");
  const bool use_locks = false, ignore_when_disabled = true;
  check(H5Pset_file_locking(list, use_locks, ignore_when_disabled), "file locking");
  check(H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "file format");
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  check(H5Pget_mdc_config(list, &cache), "metadata cache");
  cache.set_initial_size = true;
  cache.initial_size = cache.min_size = 32 << 20;
  cache.max_size = 128 << 20;
  check(H5Pset_mdc_config(list, &cache), "metadata cache");
  return list;
}

Id create(const std::string& path) {
  // Otherwise HDF5 would try to flush once more when the process exits, and a full disk would keep
  // it from exiting.
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return Id(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access_list()),
            "cannot create " + path);
}

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

// Bytes by which the file can grow at most: chunks are filled up to whole ones, new datasets and
// metadata come along.
std::uint64_t growth(const leat_run& run, const std::vector<BlockList>& by_variable) {
  constexpr std::uint64_t kPerVariable = 512 * 1024, kBase = 1024 * 1024;
  std::uint64_t most = kBase;
  for (const BlockList& blocks : by_variable) {
    const leat_variable& variable = *leat_variable_at(&run, blocks.front()->variable);
    std::uint64_t bytes = 0, whole = variable.has_global ? H5Tget_size(type_of(variable.type)) : 0;
    for (const leat_block* block : blocks) bytes += block->bytes;
    for (unsigned d = 0; d < variable.dims; ++d)
      whole *= static_cast<std::uint64_t>(blocks.front()->global[d]);
    most += 2 * std::max(bytes, whole) + kPerVariable;
  }
  return most;
}

std::vector<BlockList> by_variable_of(const leat_iteration_data& data) {
  std::vector<BlockList> lists;
  for (const leat_block& block : Blocks(data)) {
    if (lists.empty() || lists.back().front()->variable != block.variable) lists.emplace_back();
    lists.back().push_back(&block);
  }
  return lists;
}

OutputFile output_for(const leat_run& run, const Host& host) {
  check_options(run);
  return OutputFile(run, host);
}

}  // namespace

struct Store::Open {
  Open(hid_t file, const std::string& path, const leat_run& run)
      : disk(path), scales(file, run), place{file, scales, run} {
    DatasetPlan plan;
    plan.extents = {0};
    plan.grows = {true};
    plan.chunk = {8192};
    whole = Dataset(file, scales.take_name("iteration_complete"), H5T_NATIVE_UINT8, plan);
    whole.attach_scale(0, scales.iteration());
    set_attribute(whole.id(), "long_name",
                  "1: all of the iteration is here; 0: a rank died, or something was not stored");
  }

  DiskSpace disk;
  Scales scales;
  Place place;
  Dataset whole;
  std::map<std::uint32_t, std::unique_ptr<Writer>> writers;  // by variable
  hsize_t rows = 0;
  std::vector<std::int64_t> unsaid;  // numbers of the last rows that /iteration does not have yet
  std::vector<std::uint8_t> unsaid_whole;
};

Store::Store(const leat_run& run, Host host)
    : run_(run), host_(host), output_(output_for(run, host)), file_(create(output_.path())) {
  write_attributes(run);
  open_ = std::make_unique<Open>(file_, output_.path(), run);
  check(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot write " + output_.path());
  host_.info("writing " + output_.path());
}

Store::~Store() = default;

void Store::write_attributes(const leat_run& run) {
  set_attribute(file_, "simulation", std::string(run.simulation));
  set_attribute(file_, "session", std::string(run.session));
  set_attribute(file_, "ranks", std::int64_t{run.ranks});
  set_attribute(file_, "leat_version", std::string(LEAT_VERSION));
  set_attribute(file_, "leat_xml", std::string(run.xml));
}

void Store::iteration(const leat_iteration_data& data) {
  const std::vector<BlockList> by_variable = by_variable_of(data);
  const std::string what = output_.path() + ", iteration " + std::to_string(data.iteration) + ": ";
  try {
    reserve(growth(run_, by_variable));
  } catch (const std::exception& e) {
    throw std::runtime_error(what + e.what());
  }
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

void Store::reserve(std::uint64_t bytes) {
  hsize_t end = 0;
  check(H5Fget_filesize(file_, &end), "asking for the file's size");
  open_->disk.ensure(end + bytes);
}

// Returns what went wrong.
std::string Store::write_variable(const BlockList& blocks) {
  const std::uint32_t number = blocks.front()->variable;
  try {
    std::unique_ptr<Writer>& writer = open_->writers[number];
    if (!writer) writer = make_writer(open_->place, *leat_variable_at(&run_, number), blocks);
    writer->write(open_->rows, blocks);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

void Store::finish_row(const leat_iteration_data& data, bool whole) {
  open_->unsaid.push_back(data.iteration);
  open_->unsaid_whole.push_back(whole ? 1 : 0);
  for (auto& [variable, writer] : open_->writers) {
    if (writer) writer->grow_to_rows(open_->rows);
  }
  // The data are in the file before the row that names them: a writer may be killed between the
  // two.
  check(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot write");
  const hsize_t first = open_->rows - open_->unsaid.size();
  open_->whole.grow_to({open_->rows});
  open_->whole.write({first}, {open_->unsaid.size()}, open_->unsaid_whole.data());
  open_->scales.iteration().grow_to({open_->rows});
  open_->scales.iteration().write({first}, {open_->unsaid.size()}, open_->unsaid.data());
  check(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot write");
  open_->unsaid.clear();
  open_->unsaid_whole.clear();
}

void Store::close() {
  open_.reset();
  const Id file = std::move(file_);
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot finish " + output_.path());
}

}  // namespace leat::hdf5
