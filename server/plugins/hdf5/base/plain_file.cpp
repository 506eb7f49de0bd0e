// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/plain_file.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/plain_open.hpp"

namespace leat::hdf5 {
namespace {

Id list_without_locks() {
  Id list(H5Pcreate(H5P_FILE_ACCESS), "making a property list");
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
  check(H5Pset_file_locking(list, false, true), "file locks");
#endif
  return list;
}

constexpr std::size_t kStack = 64ull * 1024;
const char* last_words = "";
bool is_watched = false, tells_server = false;

void say_last_words(int number) {
  constexpr char kCrash[] = ": the HDF5 library crashed: a file is damaged; `leat ls` says which\n";
  constexpr char kLoop[] =
      ": the HDF5 library does not come to an end: a file is damaged; `leat ls` says which\n";
  const bool loops = number == SIGALRM;
  (void)!::write(STDERR_FILENO, last_words, std::strlen(last_words));
  (void)!::write(STDERR_FILENO, loops ? kLoop : kCrash, (loops ? sizeof kLoop : sizeof kCrash) - 1);
  _exit(1);
}

}  // namespace

void expect_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return;  // what opens it says why
  const std::string why = why_no_file(facts);
  if (!why.empty()) throw std::runtime_error(path + " " + why);
}

Id open_plain(const std::string& path, const std::string& what) {
  expect_file(path);
  return Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list_without_locks()), what);
}

Id open_of_leat(const std::string& path) {
  return open_plain(path, path + " cannot be opened: is it an HDF5 file that Leat has written?");
}

Id change_plain(const std::string& path, const std::string& what) {
  expect_file(path);
  return Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, list_without_locks()), what);
}

Id make_plain(const std::string& path) {
  return Id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, file_creation(), list_without_locks()),
            "cannot write " + path);
}

void prepare_for_files() {
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  const rlimit no_dump{0, 0};
  setrlimit(RLIMIT_CORE, &no_dump);
}

void prepare_for_views(const char* program) {
  prepare_for_files();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  is_watched = true;
  is_alive();
  if (*program == '\0') return;
  last_words = program;
  static char stack[kStack];  // the library's own may be full
  const stack_t other{stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = say_last_words;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM})
    sigaction(number, &action, nullptr);
}

void is_alive() {
  if (is_watched) alarm(kLongestSilence);
  if (tells_server) (void)!::write(STDOUT_FILENO, "", 1);
}

void tell_server_of_life() {
  signal(SIGPIPE, SIG_IGN);  // without its server a program ends as ever
  tells_server = true;
}

}  // namespace leat::hdf5
