// SPDX-License-Identifier: Apache-2.0
// What `leat doctor` says of the machine: memory, limits, cores, folders, sessions, network.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "lib/base/text.hpp"
#include "lib/comm/addresses.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "lib/os/cores.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/numa_binding.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/undrained.hpp"
#include "server/cli/doctor.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShm = "/dev/shm";
constexpr std::uint64_t kFewDescriptors = 1024;

std::string bytes_or_unlimited(std::uint64_t bytes) {
  return bytes == UINT64_MAX ? "unlimited" : format_bytes(bytes);
}

Finding shared_memory(const Need& need) {
  std::error_code error;
  const fs::space_info space = fs::space(kShm, error);
  if (error || space.capacity == 0)
    return {Health::bad, kShm, error ? error.message() : "it is no file system in memory",
            "mount it, as root: mount -t tmpfs tmpfs /dev/shm"};
  const std::uint64_t free = os::shared_memory_free(), all = space.capacity;
  const std::string text = format_bytes(free) + " of " + format_bytes(all) + " free; <buffer> is " +
                           format_bytes(need.buffer_bytes);
  if (free >= need.buffer_bytes) return {Health::ok, kShm, text};
  return {Health::bad, kShm, text,
          "a smaller <buffer size>, `leat clean`, or as root: mount -o remount,size=" +
              std::to_string((need.buffer_bytes >> 19) + 1) + "m /dev/shm (Docker: --shm-size)"};
}

Finding memory_of_job(const Need& need) {
  const std::uint64_t room = os::memory_room();
  if (room >= need.buffer_bytes)
    return {Health::ok, "memory",
            room == UINT64_MAX ? "no limit of a job or container"
                               : format_bytes(room) + " left to this job"};
  return {Health::bad, "memory",
          format_bytes(room) + " left to this job; <buffer> is " + format_bytes(need.buffer_bytes),
          "ask the batch system or container for more, or make <buffer size> smaller"};
}

// Of the mount of /dev/shm; "" for none.
std::string huge_option() {
  std::ifstream mounts("/proc/self/mounts");
  std::string line, option;
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string device, where, type, options, each;
    words >> device >> where >> type >> options;
    if (where != kShm) continue;
    option.clear();
    for (std::istringstream list(options); std::getline(list, each, ',');)
      if (each.starts_with("huge=")) option = each.substr(5);
  }
  return option;
}

Finding huge_pages() {
  const std::string option = huge_option();
  const bool used = !option.empty() && option != "never";
  return {Health::ok, "huge pages",
          used ? "in /dev/shm: huge=" + option
               : "none in /dev/shm; as root, to try: mount -o remount,huge=advise /dev/shm"};
}

}  // namespace

void look_at_memory(const Need& need, std::vector<Finding>* findings) {
  findings->push_back(shared_memory(need));
  findings->push_back(memory_of_job(need));
  findings->push_back(huge_pages());
}

void look_at_limits(const Need& need, std::vector<Finding>* findings) {
  const std::uint64_t files = os::descriptors_to_be_had();
  const std::string most = files == UINT64_MAX ? "unlimited" : std::to_string(files);
  if (files >= kFewDescriptors)
    findings->push_back({Health::ok, "open files", most + " at most (ulimit -Hn)"});
  else
    findings->push_back({Health::warn, "open files", most + " at most (ulimit -Hn)",
                         "the server needs some for each rank: raise nofile in "
                         "/etc/security/limits.conf"});

  const std::uint64_t space = os::most_address_space();
  const Health of_space = space == UINT64_MAX             ? Health::ok
                          : space < 2 * need.buffer_bytes ? Health::bad
                                                          : Health::warn;
  findings->push_back({of_space, "address space", bytes_or_unlimited(space) + " (ulimit -v)",
                       of_space == Health::ok ? "" : "ulimit -v unlimited, before mpirun"});

  const std::uint64_t locked = os::most_locked_memory();
  std::error_code error;
  const bool fabric = fs::is_directory("/sys/class/infiniband", error) &&
                      !fs::is_empty("/sys/class/infiniband", error);
  const Health of_locked = fabric && locked != UINT64_MAX ? Health::warn : Health::ok;
  findings->push_back(
      {of_locked, "locked memory", bytes_or_unlimited(locked) + " (ulimit -l); Leat locks none",
       of_locked == Health::ok ? "" : "MPI over InfiniBand wants: ulimit -l unlimited"});
}

void look_at_cores(std::vector<Finding>* findings) {
  const os::Machine machine = os::this_machine();
  const os::CpuSet allowed = os::allowed_cpus(), now = os::current_affinity();
  const std::size_t cores = machine.cores(allowed).size();
  std::string text = counted(cores, "core") + " of " +
                     std::to_string(machine.cores(machine.all_cpus()).size()) + ", processors " +
                     allowed.str();
  if (now != allowed) text += "; this shell is on " + now.str();
  if (cores >= 2)
    findings->push_back({Health::ok, "cores", text});
  else
    findings->push_back(
        {Health::warn, "cores", text,
         "the server shares it with the ranks: ask the batch system for one core more"});

  const std::size_t nodes = machine.nodes_of(machine.all_cpus()).size();
  if (nodes < 2) return findings->push_back({Health::ok, "memory nodes", "one: nothing to place"});
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::unique_ptr<void, decltype(&std::free)> at(std::aligned_alloc(page, page), &std::free);
  const bool placed =
      at && os::prefer_memory_node(at.get(), page, machine.nodes_of(machine.all_cpus())[0]);
  if (placed)
    findings->push_back(
        {Health::ok, "memory nodes", std::to_string(nodes) + "; `leat placement` shows them"});
  else
    findings->push_back({Health::warn, "memory nodes",
                         std::to_string(nodes) + ", and the system refuses to place memory",
                         "in Docker: --cap-add SYS_NICE; a run goes on without it"});
}

void look_at_folders(std::vector<Finding>* findings) {
  const std::string runtime = node::runtime_folder_name();
  std::error_code error;
  const std::string why =
      fs::exists(runtime, error)
          ? [] { const Result<std::string> folder = node::runtime_folder(); return folder ? "" : folder.error().message; }()
          : node::why_no_output_folder(runtime);
  if (why.empty())
    findings->push_back({Health::ok, "runtime folder", runtime});
  else
    findings->push_back(
        {Health::bad, "runtime folder", why,
         "export LEAT_RUNTIME_DIR=/a/folder/of/yours, on a disk of the node, for ranks "
         "and commands alike"});

  const std::string here = os::current_folder(), closed = node::why_no_output_folder(here);
  const fs::space_info space = fs::space(here.empty() ? "/" : here, error);
  if (!closed.empty())
    findings->push_back({Health::warn, "this folder", closed, "start runs where you may write"});
  else
    findings->push_back(
        {!error && space.available == 0 ? Health::bad : Health::ok, "this folder",
         here + ", " + (error ? "free space not known" : format_bytes(space.available) + " free"),
         !error && space.available == 0 ? "the disk is full: make room" : ""});
}

void look_at_sessions(std::vector<Finding>* findings) {
  const node::Findings found =
      node::sweep({node::runtime_folder_name()}, node::Sweep::look, shm::must_stay);
  const std::string alive = counted(found.alive.size(), "session") + " of yours running";
  std::uint64_t bytes = 0;
  for (const auto& each : found.dead) bytes += each.bytes;
  if (!found.undrained.empty())
    findings->push_back(
        {Health::warn, "sessions",
         alive + "; " + counted(found.undrained.size(), "session") + " killed with data in memory",
         "`leat recover` stores them, and so does the next run here"});
  if (!found.dead.empty())
    findings->push_back({Health::warn, "sessions",
                         alive + "; dead ones left " + counted(found.dead.size(), "file") + ", " +
                             format_bytes(bytes) + " of memory",
                         "`leat clean` removes them, and so does the next run here"});
  if (found.undrained.empty() && found.dead.empty())
    findings->push_back({Health::ok, "sessions", alive + ", nothing left of dead ones"});
}

void look_at_network(std::vector<Finding>* findings) {
  const char* const hint = std::getenv("LEAT_INTERFACE");
  const Result<std::vector<std::string>> addresses = comm::addresses_of_node(hint ? hint : "");
  if (!addresses)
    return findings->push_back({Health::bad, "network", addresses.error().message,
                                "set LEAT_INTERFACE to a network of this node, or not at all"});
  const std::string first = addresses->empty() ? "" : addresses->front();
  if (first.empty() || first == "127.0.0.1" || first == "::1")
    return findings->push_back({Health::ok, "network", "none: good for runs on one node"});
  findings->push_back(
      {Health::ok, "network",
       first + "; whether nodes reach each other: srun -N 2 leat check --network heat.xml"});
}

}  // namespace leat::cli
