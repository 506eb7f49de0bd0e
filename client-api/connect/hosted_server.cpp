// SPDX-License-Identifier: Apache-2.0
#include "client-api/connect/hosted_server.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "client-api/api/leat_build.h"
#include "client-api/connect/last_error.hpp"
#include "client-api/connect/rendezvous.hpp"
#include "lib/base/server_library.h"
#include "lib/base/status.hpp"
#include "lib/os/process.hpp"

namespace leat::client {
namespace {

std::mutex executor_mutex;  // constant: constructors of other static objects may come first
leat_server_pieces executor_now{};

Status set_executor(const leat_executor* executor) {
  leat_server_pieces now{};
  if (executor) {
    if (executor->size < sizeof(leat_executor) || !executor->start || !executor->run)
      return fail(
          Status::ERROR_ARGUMENT,
          "leat_set_executor: the table has no start or run, or is smaller than this one's");
    now = {executor->context, executor->start, executor->run};
  }
  const std::lock_guard<std::mutex> lock(executor_mutex);
  executor_now = now;
  return Status::OK;
}

}  // namespace

leat_server_pieces chosen_executor() noexcept {
  const std::lock_guard<std::mutex> lock(executor_mutex);
  return executor_now;
}

}  // namespace leat::client

extern "C" LEAT_API leat_status leat_set_executor(const leat_executor* executor) {
  return static_cast<leat_status>(leat::client::set_executor(executor));
}

namespace leat::client {
namespace {

using Library = struct leat_server_library;

constexpr std::int64_t kLastLimitNs = 10'000'000'000;

std::string up_to_last_slash(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

// Beside this library, or where leatd has it.
std::vector<std::string> library_candidates() {
  const std::string name = "libleat_server.so." LEAT_VERSION;
  Dl_info info{};
  std::vector<std::string> paths;
  if (dladdr(reinterpret_cast<const void*>(&run_server_here), &info) != 0 && info.dli_fname)
    paths.push_back(up_to_last_slash(info.dli_fname) + name);
  if (const Result<std::string> server = find_server()) {
    paths.push_back(up_to_last_slash(*server) + "../" LEAT_INSTALL_LIBDIR "/" + name);
    paths.push_back(up_to_last_slash(*server) + "../lib/" + name);
  }
  return paths;
}

// For good: threads of it may be at work when the process ends.
Result<const Library*> load_server() {
  std::string looked_at;
  for (const std::string& path : library_candidates()) {
    looked_at += "\n  " + path;
    if (access(path.c_str(), R_OK) != 0) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return Error{Status::ERROR_SERVER, std::string("cannot load ") + dlerror()};
    const auto* const found = static_cast<const Library*>(dlsym(library, "leat_server_library"));
    if (found && found->abi == LEAT_SERVER_ABI && std::strcmp(found->version, LEAT_VERSION) == 0)
      return found;
    return Error{Status::ERROR_VERSION, path + " is not of version " LEAT_VERSION};
  }
  return Error{Status::ERROR_SERVER,
               "cannot find the server's library; LEAT_SERVER says where its leatd is. Looked at:" +
                   looked_at};
}

int tell(void* context, int status, const char* message) {
  return (*static_cast<const ServerTold*>(context))(static_cast<Status>(status), message) ? 0 : 1;
}

void run_server(const std::vector<std::string>& arguments, const leat_server_host& host,
                const ServerTold& told) {
  const Result<const Library*> library = load_server();
  if (!library) {
    told(library.error().status, library.error().message);
    return;
  }
  std::vector<char*> words{const_cast<char*>("leatd")};
  for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  ServerTold called = told;
  (*library)->serve(static_cast<int>(words.size()), words.data(), &host, tell, &called);
}

}  // namespace

void run_server_here(const std::vector<std::string>& arguments, const ServerMeans& means,
                     const ServerTold& told) {
  const leat_server_host host{
      sizeof host, LEAT_SERVER_RANK, means.mpi_comm, means.why_no_mpi_comm.c_str(), {}};
  run_server(arguments, host, told);
}

// Both the thread's and that of who waits for it.
struct HostedServer::Thread {
  std::vector<std::string> arguments;
  std::promise<void> ends{};
  std::shared_future<void> ended = ends.get_future().share();
  std::mutex mutex{};  // of what follows
  std::condition_variable changed{};
  std::optional<Error> told{};  // with Status::OK when it is ready
  bool is_wanted = true;

  bool take(Status status, const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex);
    told = Error{status, message};
    changed.notify_all();
    return is_wanted;
  }
  bool await_end(std::int64_t limit_ns) const noexcept {
    return ended.wait_for(std::chrono::nanoseconds(limit_ns)) == std::future_status::ready;
  }
  static void run(const std::shared_ptr<Thread>& the) {
    the->ends.set_value_at_thread_exit();
    const leat_server_host host{sizeof host, LEAT_SERVER_THREAD, nullptr, "", chosen_executor()};
    run_server(the->arguments, host, [&](Status status, const std::string& message) {
      return the->take(status, message);
    });
  }
};

struct HostedServer::Left {
  std::mutex mutex;
  std::vector<std::shared_ptr<Thread>> threads;
};

// Never destroyed: it is needed when the process ends.
HostedServer::Left& HostedServer::left() {
  static Left* const own = new Left;
  return *own;
}

Result<std::unique_ptr<HostedServer>> HostedServer::start(const std::vector<std::string>& arguments,
                                                          const os::Deadline& deadline) {
  const std::shared_ptr<Thread> thread(new Thread{.arguments = arguments});
  std::string why;
  try {
    const os::WithoutSignals none;
    std::thread([thread] { Thread::run(thread); }).detach();
  } catch (const std::system_error& e) {
    why = e.what();
  }
  if (!why.empty())
    return Error{Status::ERROR_SYSTEM, "cannot start a thread for the server: " + why};
  std::unique_ptr<HostedServer> hosted(new HostedServer(thread));
  std::unique_lock<std::mutex> lock(thread->mutex);
  const bool told = thread->changed.wait_for(lock, std::chrono::nanoseconds(deadline.left_ns()),
                                             [&] { return thread->told.has_value(); });
  if (!told) {
    thread->is_wanted = false;
    return Error{Status::ERROR_TIMEOUT, "the thread of the server is not ready yet"};
  }
  if (thread->told->status != Status::OK) return *thread->told;
  return hosted;
}

HostedServer::HostedServer(std::shared_ptr<Thread> thread) : thread_(std::move(thread)) {}

HostedServer::~HostedServer() {
  if (thread_->await_end(0)) return;
  const std::lock_guard<std::mutex> lock(left().mutex);
  left().threads.push_back(thread_);
}

bool HostedServer::await_end(std::int64_t limit_ns) noexcept {
  return thread_->await_end(limit_ns);
}

void HostedServer::await_all() noexcept {
  const std::lock_guard<std::mutex> lock(left().mutex);
  for (const std::shared_ptr<Thread>& each : left().threads) each->await_end(kLastLimitNs);
}

}  // namespace leat::client
