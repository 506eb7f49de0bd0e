// SPDX-License-Identifier: Apache-2.0
#include "server/driver/run_log.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/node/output_folders.hpp"
#include "lib/node/placement.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

// A run that is just ending has its log still.
constexpr std::int64_t kWaitForLogNs = 2'000'000'000;

// "2026-11-22 19:04:05.678"
std::string time_now() {
  using std::chrono::system_clock;
  const system_clock::time_point now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{}.{:03}", text, ms);
}

// Nothing is kept in memory: what was logged is in the file, should the server be killed.
class DescriptorLog final : public Log {
 public:
  /// `file`: empty for standard error.
  DescriptorLog(LogLevel least, os::UniqueFd file, std::string origin)
      : Log(least), file_(std::move(file)), origin_(std::move(origin)) {}

 private:
  void put(LogLevel level, const std::string& text) override {
    const std::string line =
        fmt::format("{} {} {}: {}\n", time_now(), origin_, name_of(level), text);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t n =
          ::write(file_ ? file_.get() : STDERR_FILENO, line.data() + done, line.size() - done);
      if (n < 0 && errno != EINTR) return;  // a full disk: there is nobody to tell
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }

  os::UniqueFd file_;
  std::string origin_;
  std::mutex mutex_;
};

std::string reason(int code) {
  if (code == ELOOP) return "it is a link of another user, or one to a link: remove it";
  if (code == EPERM) return "it is a file of another user: remove it, or give another name";
  return os::errno_text(code);
}

}  // namespace

OwnName name_of_log(const model::Model& model, const std::string& session, bool goes_on) {
  std::error_code error;
  const std::filesystem::path wanted = model.log.file;
  if (wanted.has_parent_path()) std::filesystem::create_directories(wanted.parent_path(), error);
  if (wanted.empty() ||
      (std::filesystem::exists(wanted, error) && !std::filesystem::is_regular_file(wanted, error)))
    return {};
  OwnName name(wanted, session, goes_on, kWaitForLogNs);
  if (!name.why_another().empty()) fprintf(stderr, "leatd: %s\n", name.why_another().c_str());
  return name;
}

Result<std::shared_ptr<Log>> make_log(const model::Model& model, const OwnName& own, bool goes_on,
                                      const std::string& node) {
  const LogLevel least = log_level_of(model.log.level);
  if (model.log.file.empty())
    return std::shared_ptr<Log>(std::make_shared<DescriptorLog>(
        least, os::UniqueFd(), node + " leatd " + model.name + ":"));
  const std::string& path = own.path().empty() ? model.log.file : own.path();
  os::UniqueFd file = os::open_file_of_user(path, !goes_on && !model.log.append);
  if (file)
    return std::shared_ptr<Log>(std::make_shared<DescriptorLog>(least, std::move(file), node));
  return Error{Status::ERROR_CONFIG,
               "cannot write the log file \"" + path + "\": " + reason(errno)};
}

namespace {

// What threads, plugins and an iteration at work need beside what there is once all is loaded.
constexpr std::uint64_t kWorkingSpace = std::uint64_t{256} << 20;
// Descriptors beside those of ranks: the loop's own, files, workers of scripts.
constexpr std::uint64_t kOwnDescriptors = 30;

// The folder that a store writes to, and where the XML says so; nothing of a library of the user's
// that does not say it.
std::optional<std::string> folder_of(const model::Store& store, model::SourceLocation* where) {
  const bool is_ours = store.type == "hdf5";
  std::filesystem::path folder, file;
  *where = store.where;
  for (const model::Option& option : store.options) {
    if (option.name == "folder") folder = option.value;
    if (option.name == "file" && is_ours) file = option.value;
    if (option.name == "folder" || (option.name == "file" && file.has_parent_path()))
      *where = option.where;
  }
  if (folder.empty() && !is_ours) return std::nullopt;
  return (folder / file.parent_path()).string();
}

}  // namespace

Result<void> make_output_folders(const model::Model& model) {
  for (const model::Store& store : model.stores) {
    model::SourceLocation where;
    const std::optional<std::string> folder = folder_of(store, &where);
    if (!folder) continue;
    const std::string why = node::make_output_folder(*folder);
    if (why.empty()) continue;
    return Error{Status::ERROR_CONFIG, model::Diagnostic{model::Severity::error, where,
                                                         "store \"" + store.name + "\": " + why}
                                           .str()};
  }
  if (!model.scripts.exist()) return {};
  const std::string why = node::why_no_output_folder(model.scripts.output);
  if (why.empty()) return {};
  return Error{Status::ERROR_CONFIG,
               model::Diagnostic{model::Severity::error, model.scripts.where, why}.str()};
}

Result<void> check_limits(const model::Model& model, std::int32_t node_ranks) {
  const std::uint64_t buffer = model.architecture.buffer_bytes, in_use = os::address_space();
  const std::uint64_t space = os::most_address_space();
  if (space < in_use + buffer + kWorkingSpace) {
    return Error{Status::ERROR_MEMORY,
                 "the address space of a process is limited to " + format_bytes(space) +
                     " (ulimit -v): the server of a run with a buffer of " + format_bytes(buffer) +
                     " needs " + format_bytes(in_use + buffer + kWorkingSpace) +
                     "; raise the limit, as with `ulimit -v unlimited`, or make <buffer "
                     "size=\"...\"> smaller"};
  }
  const std::uint64_t most = os::most_descriptors();
  const std::uint64_t needed = kOwnDescriptors + static_cast<std::uint64_t>(node_ranks);
  if (most >= needed) return {};
  return Error{Status::ERROR_SYSTEM, "a process may have " + std::to_string(most) +
                                         " files open (ulimit -n): the server of " +
                                         std::to_string(node_ranks) + " ranks needs " +
                                         std::to_string(needed) + "; raise the limit"};
}

}  // namespace leat::server
