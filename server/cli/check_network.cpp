// SPDX-License-Identifier: Apache-2.0
// Each process of the job runs it. They find each other in a folder beside the XML, connect to each other as servers of a
// run do, and leave what they have found in that folder, where the first one makes one report of it.
#include "server/cli/check_network.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "lib/comm/addresses.hpp"
#include "lib/comm/folder_meeting.hpp"
#include "lib/comm/network_probe.hpp"
#include "lib/model/reader.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "server/cli/screen.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOneAddressNs = 5'000'000'000;
constexpr std::int64_t kLookNs = 20'000'000;
constexpr std::size_t kMostOfResult = std::size_t{16} << 20;

// ---- who takes part ----

struct Part {
  std::int64_t number = -1, all = 0;
  std::string job{};  // of the launcher; "": not known
};

std::string in_environment(const char* name) {
  const char* const value = name ? std::getenv(name) : nullptr;
  return value ? value : "";
}

std::int64_t number_in_environment(const char* name) {
  const std::string text = in_environment(name);
  return text.empty() || text[0] < '0' || text[0] > '9' ? -1 : std::atoll(text.c_str());
}

// As client-api/connect/ranks.cpp has them: Open MPI, MPICH and Intel MPI, PALS, Slurm.
Part part_in(const NetworkOptions& options) {
  struct Launcher {
    const char *number, *all, *job;
  };
  constexpr Launcher kLaunchersOfChecks[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
      {"PMI_RANK", "PMI_SIZE", "PALS_APID"},
      {"PALS_RANKID", "PMI_SIZE", "PALS_APID"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID"},
  };
  Part part;
  for (const Launcher& each : kLaunchersOfChecks) {
    if (number_in_environment(each.number) < 0 || number_in_environment(each.all) < 1) continue;
    part = {number_in_environment(each.number), number_in_environment(each.all),
            in_environment(each.job)};
    break;
  }
  if (options.nodes) part.all = *options.nodes;
  if (options.node) part.number = *options.node;
  return part;
}

std::string why_no_part(const Part& part) {
  if (part.all < 1)
    return "nobody says how many processes take part: start it on each node by a launcher, as "
           "`mpirun -n 4 --map-by node leat check FILE --network` or `srun leat check FILE "
           "--network`, or give "
           "--nodes and --node";
  if (part.number < 0)
    return "nobody says which of the " + std::to_string(part.all) +
           " processes this is: give --node, from 0 on";
  if (part.number >= part.all || part.all > INT32_MAX)
    return "this is process " + std::to_string(part.number) + " of " + std::to_string(part.all) +
           ": --node counts from 0, and --nodes is how many there are";
  return "";
}

std::string session_of_check(const Part& part) {
  std::string name = "check-" + (part.job.empty() ? std::to_string(part.all) : part.job);
  for (char& each : name)
    if (!isalnum(static_cast<unsigned char>(each)) && each != '-' && each != '.') each = '_';
  return name.substr(0, 64);
}

// ---- what one process has found ----

Json json_of_own(const comm::Meeting& meeting, const std::vector<comm::Probed>& probed) {
  const comm::Card& card = meeting.cards[static_cast<std::size_t>(meeting.self)];
  Json own{{"node", card.name},
           {"port", card.port},
           {"addresses", Json::array()},
           {"tried", Json::array()}};
  for (const std::string& each : card.addresses)
    own["addresses"].push_back(
        {{"address", each}, {"interface", comm::interface_of_address(each)}});
  for (const comm::Probed& each : probed)
    own["tried"].push_back(
        {{"to", each.peer}, {"address", each.address}, {"why_not", each.why_not}});
  return own;
}

std::string result_name(const comm::Meeting& meeting, std::int64_t number) {
  return meeting.run + "-" + std::to_string(number) + ".result";
}

std::string done_name(const comm::Meeting& meeting) { return meeting.run + ".done"; }

// Null for what is not there yet.
Json result_of(const std::string& folder, const comm::Meeting& meeting, std::int64_t number) {
  const std::string path = folder + "/" + result_name(meeting, number);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  const os::UniqueFd file = error ? os::UniqueFd() : os::open_there(path);
  if (!file || bytes > kMostOfResult) return nullptr;
  const Json result = Json::parse(os::text_of(file.get(), bytes), nullptr, false);
  return result.is_discarded() ? Json() : result;
}

// ---- what it comes to ----

std::string at_port(const std::string& address, int port) {
  const bool is_six = address.find(':') != std::string::npos;
  return (is_six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// All of it, of the results of all processes; null for one that has not said anything.
class Findings {
 public:
  explicit Findings(const std::vector<Json>& results) : results_(results) {
    for (std::size_t from = 0; from < results.size(); ++from) look_at(from);
  }

  Json json() const {
    Json nodes = Json::array(), closed = Json::array();
    for (std::size_t i = 0; i < results_.size(); ++i) nodes.push_back(row_of(i));
    for (const std::string& each : closed_) closed.push_back(each);
    return {{"good", is_good()}, {"nodes", nodes}, {"closed", closed}, {"advice", advice()}};
  }
  bool is_good() const { return unreached_.empty() && silent_ == 0; }

 private:
  using Pair = std::pair<std::size_t, std::size_t>;

  std::string name_of(std::size_t number) const {
    const Json& result = results_[number];
    std::string name = result.is_null() ? "process" : text_in(result, "node");
    const bool is_one = std::count_if(results_.begin(), results_.end(), [&](const Json& each) {
                          return !each.is_null() && text_in(each, "node") == name;
                        }) == 1;
    return is_one ? name : name + " (" + std::to_string(number) + ")";
  }

  void look_at(std::size_t from) {
    const Json& result = results_[from];
    if (result.is_null()) {
      ++silent_;
      closed_.push_back("process " + std::to_string(from) + " has said nothing of what it found");
      return;
    }
    std::set<std::size_t> reached;
    for (const Json& each : result["tried"]) {
      const auto to = each["to"].get<std::size_t>();
      const std::string address = text_in(each, "address"), why = text_in(each, "why_not");
      if (to >= results_.size()) continue;
      const std::string interface = interface_at(to, address);
      pairs_of_[interface].insert({from, to});
      if (why.empty()) {
        reached.insert(to);
        by_[from][to].insert(address);
        continue;
      }
      closed_of_.insert(interface);
      closed_.push_back(
          name_of(from) + " cannot reach " + name_of(to) + " at " +
          at_port(address, results_[to].is_null() ? 0 : results_[to]["port"].get<int>()) + ": " +
          why);
    }
    for (std::size_t to = 0; to < results_.size(); ++to) {
      if (to == from || reached.contains(to)) continue;
      unreached_.insert({from, to});
      if (results_[to].is_null() || !results_[to]["addresses"].empty()) continue;
      closed_.push_back(name_of(from) + " cannot reach " + name_of(to) +
                        ": that has no address but its loopback");
    }
  }

  std::string interface_at(std::size_t number, const std::string& address) const {
    if (results_[number].is_null()) return "";
    for (const Json& each : results_[number]["addresses"])
      if (text_in(each, "address") == address) return text_in(each, "interface");
    return "";
  }

  Json row_of(std::size_t number) const {
    Json row{{"node", name_of(number)}, {"addresses", Json::array()}, {"reaches", Json::array()}};
    if (results_[number].is_null()) return row;
    for (const Json& each : results_[number]["addresses"])
      row["addresses"].push_back(text_in(each, "address") + " (" + text_in(each, "interface") +
                                 ")");
    const auto found = by_.find(number);
    for (std::size_t to = 0; found != by_.end() && to < results_.size(); ++to) {
      const auto addresses = found->second.find(to);
      if (addresses == found->second.end()) continue;
      row["reaches"].push_back({{"node", name_of(to)}, {"by", addresses->second}});
    }
    return row;
  }

  // An interface by which each reaches each, when by others not all do.
  std::string advice() const {
    const std::size_t pairs = results_.size() * (results_.size() - 1);
    if (closed_.empty()) return "";
    for (const auto& [interface, reached] : pairs_of_) {
      if (interface.empty() || reached.size() < pairs || closed_of_.contains(interface)) continue;
      return "each reaches each other one by " + interface + ": write <network interface=\"" +
             interface + "\"/> into <architecture>, or set LEAT_INTERFACE=" + interface;
    }
    if (is_good())
      return "each reaches each other one, by one of its addresses; those that lead nowhere cost "
             "time";
    return "have the ports from 1024 on opened between the nodes of a job, or write <network "
           "carrier=\"folder\"/> into <architecture>: then servers use files in the folder of the "
           "output";
  }

  const std::vector<Json>& results_;
  std::size_t silent_ = 0;
  std::vector<std::string> closed_;
  std::set<Pair> unreached_;
  std::map<std::string, std::set<Pair>> pairs_of_;  // by interface: those that were tried
  std::set<std::string> closed_of_;
  std::map<std::size_t, std::map<std::size_t, std::set<std::string>>> by_;
};

std::string listed(const Json& list, const char* between) {
  std::string text;
  for (const Json& each : list) text += (text.empty() ? "" : between) + each.get<std::string>();
  return text.empty() ? "-" : text;
}

std::string screen_of(const Json& facts, const std::string& title, const Look& look) {
  Screen screen(look);
  screen.title(title);
  screen.section(std::to_string(facts["nodes"].size()) +
                 " processes, each of which has tried to reach each other one");
  const std::size_t others = facts["nodes"].size() - 1;
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : facts["nodes"]) {
    std::set<std::string> by;
    for (const Json& one : each["reaches"]) by.insert(one["by"].begin(), one["by"].end());
    rows.push_back({{text_in(each, "node")},
                    {listed(each["addresses"], ", ")},
                    {std::to_string(each["reaches"].size()) + " of " + std::to_string(others)},
                    {listed(Json(by), ", ")}});
  }
  screen.table({{"node"}, {"addresses"}, {"reaches"}, {"at"}}, std::move(rows));
  if (!facts["closed"].empty()) screen.section("closed");
  for (const Json& each : facts["closed"]) screen.line("  " + each.get<std::string>());
  if (!text_in(facts, "advice").empty()) screen.line("\n" + text_in(facts, "advice"));
  screen.line("\n" + (facts["good"].get<bool>()
                          ? screen.paint("good", Paint::green)
                          : screen.paint("not all nodes reach each other", Paint::red)));
  return screen.text();
}

// ---- one process ----

class NetworkCheck {
 public:
  NetworkCheck(const NetworkOptions& options, const Part& part, model::Model model)
      : options_(options),
        part_(part),
        model_(std::move(model)),
        deadline_(os::Deadline::in_ns(static_cast<std::int64_t>(options.limit * 1e9))) {}

  int run() {
    const Result<void> met = meet();
    if (!met) return refuse("check", met.error().message);
    const Result<comm::Credential> credential = comm::Credential::from_text(meeting_.credential);
    if (!credential) return refuse("check", credential.error().message);
    comm::NetworkProbe probe(meeting_, *credential, std::move(listening_), kOneAddressNs);
    const std::vector<comm::Probed> probed = probe.try_all();
    os::Folder folder(folder_);
    const std::string why = folder.write_whole(result_name(meeting_, part_.number),
                                               json_of_own(meeting_, probed).dump());
    if (!why.empty()) return refuse("check", why + ", in " + folder_);
    const int code = part_.number == 0 ? report(&probe, &folder) : wait(&probe, folder, probed);
    folder.remove(result_name(meeting_, part_.number));
    if (part_.number == 0) end(&probe, &folder);
    at_->leave();
    return code;
  }

 private:
  Result<void> meet() {
    const Result<std::vector<std::string>> addresses =
        comm::addresses_of_node(model_.architecture.network.interface);
    if (!addresses) return addresses.error();
    if (!addresses->empty()) {
      Result<comm::Listening> listening = comm::listen_at(*addresses);
      if (!listening) return listening.error();
      listening_ = std::move(*listening);
    }
    Result<comm::Offer> own = comm::make_offer(os::host_name(), listening_.port, *addresses);
    if (!own) return own.error();
    const std::string beside = fs::path(options_.file).parent_path().string();
    folder_ = comm::folder_of_meeting(beside.empty() ? "." : beside, model_.name,
                                      session_of_check(part_));
    at_.emplace(comm::FolderMeeting::Settings{folder_, *own,
                                              static_cast<std::int32_t>(part_.number), 1,
                                              static_cast<std::int32_t>(part_.all)});
    if (part_.number == 0) comm::remove_old_meetings(at_->parent());
    for (at_->poll(); at_->offers().empty(); at_->poll()) {
      if (deadline_.passed()) {
        at_->leave();
        return Error{Status::ERROR_TIMEOUT, at_->why_waiting()};
      }
      os::sleep_ns(kLookNs);
    }
    Result<comm::Meeting> meeting = comm::meeting_of(at_->offers(), own->number);
    if (!meeting) return meeting.error();
    meeting_ = std::move(*meeting);
    return {};
  }

  int report(comm::NetworkProbe* probe, os::Folder* folder) {
    std::vector<Json> results(static_cast<std::size_t>(part_.all));
    probe->answer(deadline_.left_ns() + kOneAddressNs, [&] {
      bool all = true;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].is_null())
          results[i] = result_of(folder_, meeting_, static_cast<std::int64_t>(i));
        all = all && !results[i].is_null();
      }
      return all;
    });
    (void)folder->write_whole(done_name(meeting_), "");
    const Findings findings(results);
    const Json facts = findings.json();
    print(options_.json
              ? text_of(facts)
              : screen_of(facts,
                          model_.name + ": the network of its nodes  (" + options_.file + ")",
                          look_of(stdout)));
    return findings.is_good() ? kGood : kBad;
  }

  // Others may still want to reach this one.
  int wait(comm::NetworkProbe* probe, const os::Folder& folder,
           const std::vector<comm::Probed>& probed) {
    probe->answer(deadline_.left_ns() + 2 * kOneAddressNs,
                  [&] { return folder.exists(done_name(meeting_)); });
    std::set<comm::Rank> reached;
    for (const comm::Probed& each : probed)
      if (each.why_not.empty()) reached.insert(each.peer);
    return static_cast<std::int64_t>(reached.size()) == part_.all - 1 ? kGood : kBad;
  }

  // The others look for the file that says so, some times a second.
  void end(comm::NetworkProbe* probe, os::Folder* folder) {
    probe->answer(kOneAddressNs, [&] {
      for (std::int64_t i = 1; i < part_.all; ++i)
        if (folder->exists(result_name(meeting_, i))) return false;
      return true;
    });
    folder->remove(done_name(meeting_));
  }

  const NetworkOptions& options_;
  const Part part_;
  const model::Model model_;
  const os::Deadline deadline_;
  comm::Listening listening_;
  std::string folder_;
  std::optional<comm::FolderMeeting> at_;
  comm::Meeting meeting_;
};

}  // namespace

int check_network(const NetworkOptions& options) {
  const Part part = part_in(options);
  if (const std::string why = why_no_part(part); !why.empty()) return refuse("check", why, kUsage);
  model::ReadResult read = model::read_file(options.file);
  if (!read.model) {
    if (part.number == 0) std::fputs(model::format(read.diagnostics).c_str(), stderr);
    return kBad;
  }
  return NetworkCheck(options, part, std::move(*read.model)).run();
}

}  // namespace leat::cli
