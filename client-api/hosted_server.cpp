// SPDX-License-Identifier: Apache-2.0
#include "client-api/hosted_server.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "client-api/rendezvous.hpp"
#include "lib/base/server_library.h"

namespace leat::client {
namespace {

using Library = struct leat_server_library;
using Told = std::function<bool(Status status, const std::string& message)>;

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
  return (*static_cast<const Told*>(context))(static_cast<Status>(status), message) ? 0 : 1;
}

}  // namespace

void run_server_here(const std::vector<std::string>& arguments, const Told& told) {
  const Result<const Library*> library = load_server();
  if (!library) {
    told(library.error().status, library.error().message);
    return;
  }
  std::vector<char*> words{const_cast<char*>("leatd")};
  for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  Told called = told;
  (*library)->serve(static_cast<int>(words.size()), words.data(), tell, &called);
}

}  // namespace leat::client
