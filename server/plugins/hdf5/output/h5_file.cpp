// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/h5_file.hpp"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>

#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

// A node of the tree that finds the chunks of a dataset has room for twice as many, and is whole in
// the file from the first chunk on: 2.6 KiB for HDF5's own 32, where many a dataset has one chunk.
constexpr unsigned kHalfOfNode = 4;

void prepare() {
  // Otherwise HDF5 would try to flush once more when the process exits, and a full disk would keep
  // it from exiting.
  H5dont_atexit();
  be_quiet();
}

}  // namespace

Durability durability_of(const leat_run& run) {
  return durability_from(option(run.options, run.option_count, "durability"));
}

std::unique_ptr<CommittedFile> open_disk(const std::string& path, CommittedFile::Start start,
                                         const leat_run& run, const Host& host) {
  auto disk = std::make_unique<CommittedFile>(path, start, durability_of(run));
  disk->report_progress([host](std::uint64_t bytes) { host.progress(bytes); });
  const Io io = io_from(option(run.options, run.option_count, "io"));
  if (const int code = disk->direct_writer().choose(io); code != 0)
    host.warn(why_not_direct(path, code));
  return disk;
}

void reserve_room(CommittedFile* disk, const leat_iteration_data& data) {
  std::uint64_t bytes = 0;
  for (const leat_block& block : Blocks(data)) bytes += block.bytes;
  if (const int code = disk->make_room(bytes); code != 0)
    throw std::runtime_error("no room on the disk for its " + std::to_string(bytes) +
                             " bytes: " + errno_text(code));
}

Id create_file(const std::string& path, CommittedFile* disk) {
  prepare();
  const Id creation = file_creation();
  check(H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_NONE, false, 1), "file space");
  check(H5Pset_istore_k(creation, kHalfOfNode), "nodes of chunks");
  return Id(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation, access_list(disk)),
            "cannot create " + path);
}

Id open_file(const std::string& path, CommittedFile* disk) {
  prepare();
  return Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access_list(disk)), "cannot open " + path);
}

RunName run_in(hid_t file) {
  return {text_attribute(file, "session"), integer_attribute(file, kRunNumber, 0)};
}

RunName run_of(const std::string& path) {
  CommittedFile disk(path, CommittedFile::Start::existing, Durability::none);
  return run_in(open_file(path, &disk));
}

bool has_part(const std::string& path, const std::string& part) {
  CommittedFile disk(path, CommittedFile::Start::existing, Durability::none);
  return is_in(open_file(path, &disk), part);
}

namespace {

const std::string kWriter = std::string("Leat ") + LEAT_VERSION;

// "2026-05-01T12:00:00Z Leat 0.1.0 <what> (session ...)"
std::string history_line(const leat_run& run, const std::string& what) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char when[32];
  std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return std::string(when) + " " + kWriter + " " + what + " (session " + run.session + ")";
}

}  // namespace

void describe_writer(hid_t file, const leat_run& run) {
  set_attribute(file, "simulation", std::string(run.simulation));
  set_attribute(file, "session", std::string(run.session));
  set_attribute(file, kRunNumber, std::int64_t{leat_run_number(&run)});
  set_attribute(file, "ranks", std::int64_t{run.ranks});
  set_attribute(file, "leat_version", std::string(LEAT_VERSION));
}

namespace {

void describe_content(hid_t file, const leat_run& run) {
  const std::string simulation = run.simulation, description = run.description;
  set_attribute(file, "title", description.empty() ? simulation : description);
  set_attribute(file, "source", simulation + ", written by " + kWriter);
  describe_writer(file, run);
  set_attribute(file, "leat_xml", std::string(run.xml));
}

void add_to_history(hid_t file, const leat_run& run, const std::string& what) {
  std::string history = text_attribute(file, "history", "");
  if (!history.empty()) history += "\n";
  set_attribute(file, "history", history + history_line(run, what));
}

}  // namespace

void describe_file(hid_t file, const leat_run& run) {
  set_attribute(file, "Conventions", "CF-1.8");
  describe_content(file, run);
  set_attribute(file, "history", history_line(run, "began this file"));
  describe_run(file, run);
}

void describe_appended(hid_t file, const leat_run& run, std::int64_t first) {
  describe_content(file, run);
  describe_run_anew(file, run);
  add_to_history(file, run, "went on with it from iteration " + std::to_string(first) + " on");
}

void describe_part(hid_t file, const leat_run& run, const std::string& view) {
  using namespace std::chrono;
  const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch());
  set_attribute(file, kFirstRank, std::int64_t{first_rank_of(run)});
  set_attribute(file, kNodeRanks, std::int64_t{run.node_ranks});
  set_attribute(file, kStarted, std::int64_t{now.count()});
  set_attribute(file, kViewName, std::filesystem::path(view).filename().string());
  const std::int32_t* const own = leat_run_own_ranks(&run);
  if (leat_run_succession(&run) > 0)
    set_attribute(file, kSuccession, std::int64_t{leat_run_succession(&run)});
  if (!own) return;
  std::string ranks;
  for (std::int32_t i = 0; i < run.node_ranks; ++i)
    ranks += (i > 0 ? "," : "") + std::to_string(own[i]);
  set_attribute(file, kOwnRanks, ranks);
}

void describe_piece(hid_t file, const std::string& split, double begin) {
  set_attribute(file, kSplitText, split);
  set_attribute(file, kSplitBegin, std::vector<double>{begin});
}

void describe_shared(hid_t file, const leat_run& run, const std::string& view) {
  describe_writer(file, run);
  set_attribute(file, kViewName, std::filesystem::path(view).filename().string());
}

void note_continued(hid_t file, const leat_run& run) {
  add_to_history(file, run,
                 leat_run_is_drained(&run) ? "stored what was in memory when all of it was killed"
                                           : "went on with it after its server had died");
}

}  // namespace leat::hdf5
