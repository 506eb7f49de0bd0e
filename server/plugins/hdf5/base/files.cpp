// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/files.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/named_file.hpp"

namespace leat::hdf5 {

// Source of what the functions have to do: HDF5 Virtual File Layer (The HDF Group), and H5FDsec2.c.

namespace {

// What an access list keeps for open().
struct Wanted {
  File* file;
};

struct Bound {
  H5FD_t base;  // HDF5's own; first, always
  File* file;
};

File& file_of(const H5FD_t* bound) { return *reinterpret_cast<const Bound*>(bound)->file; }

// The innermost entry of HDF5's error stack: what the user reads in the end.
bool is_good(int code) {
  if (code == 0) return true;
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_WRITEERROR, "%s",
           std::strerror(code));
  return false;
}

H5FD_t* open(const char*, unsigned, hid_t list, haddr_t) {
  const auto* wanted = static_cast<const Wanted*>(H5Pget_driver_info(list));
  return wanted ? &(new Bound{{}, wanted->file})->base : nullptr;
}

herr_t close(H5FD_t* bound) {
  delete reinterpret_cast<Bound*>(bound);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t alloc(H5FD_t* bound, H5FD_mem_t type, hid_t, hsize_t bytes) {
  std::uint64_t address = 0;
  const int code = file_of(bound).allocate(bytes, type == H5FD_MEM_DRAW, &address);
  return is_good(code) ? address : HADDR_UNDEF;
}

haddr_t get_end(const H5FD_t* bound, H5FD_mem_t) { return file_of(bound).end(); }

haddr_t get_size(const H5FD_t* bound, H5FD_mem_t) { return file_of(bound).size(); }

herr_t set_end(H5FD_t* bound, H5FD_mem_t, haddr_t end) {
  return is_good(file_of(bound).set_end(end)) ? 0 : -1;
}

herr_t read(H5FD_t* bound, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, void* to) {
  return is_good(file_of(bound).read(at, to, bytes)) ? 0 : -1;
}

// HDF5 calls its heaps of texts raw data too, but they are structures: each is written whole, over
// what it was before, when an attribute is added. Data that look like one only wait for the commit.
// Source: HDF5 file format specification, III.E, "Disk Format: Level 1E - Global Heap".
bool is_bulk(H5FD_mem_t type, size_t bytes, const void* from) {
  constexpr char kHeap[] = {'G', 'C', 'O', 'L'};
  const bool is_heap = bytes > sizeof kHeap && std::memcmp(from, kHeap, sizeof kHeap) == 0;
  return type == H5FD_MEM_DRAW && !is_heap;
}

herr_t write(H5FD_t* bound, H5FD_mem_t type, hid_t, haddr_t at, size_t bytes, const void* from) {
  try {
    return is_good(file_of(bound).write(at, from, bytes, is_bulk(type, bytes, from))) ? 0 : -1;
  } catch (const std::bad_alloc&) {
    return is_good(ENOMEM) ? 0 : -1;
  }
}

H5FD_class_t driver() {
  H5FD_class_t made{};
#ifdef H5FD_CLASS_VERSION  // from HDF5 1.14 on
  made.version = H5FD_CLASS_VERSION;
  made.value = H5_VFD_MAX;  // of none that others know
#endif
  made.name = "leat";
  made.maxaddr = static_cast<haddr_t>(INT64_MAX);
  made.fc_degree = H5F_CLOSE_STRONG;
  made.fapl_size = sizeof(Wanted);
  made.open = open;
  made.close = close;
  made.query = query;
  made.alloc = alloc;
  made.get_eoa = get_end;
  made.set_eoa = set_end;
  made.get_eof = get_size;
  made.read = read;
  made.write = write;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::memcpy(made.fl_map, map, sizeof map);
  return made;
}

}  // namespace

Id access_list(File* file) {
  static const H5FD_class_t kind = driver();
  static const hid_t id = check(H5FDregister(&kind), "file driver");
  Id list(H5Pcreate(H5P_FILE_ACCESS), "making a property list");
  const Wanted wanted{file};
  check(H5Pset_driver(list, id, &wanted), "file driver");
  // Each structure in its oldest form. V110 only allows to say that free space is not managed.
  check(H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), "file format");
  return list;
}

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
  const std::string why = os::why_no_file(path);  // "" too when it is not there
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
