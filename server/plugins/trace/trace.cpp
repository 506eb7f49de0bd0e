// SPDX-License-Identifier: Apache-2.0
// The smallest real plugin: one line of text for each block. It goes on with the text of a server
// that died: see Trace::take_up().
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "server/include/plugin.hpp"

namespace {

class Trace {
 public:
  Trace(const leat_run& run, leat::Host) : run_(run) {
    path_ = leat::option(run.options, run.option_count, "file",
                         std::string(run.simulation) + ".trace.txt");
    open();
    if (leat_run_is_resumed(&run)) take_up();
    if (!resumed_) cut(0);
  }

  void iteration(const leat_iteration_data& data) {
    if (resumed_ && data.iteration < last_) return;
    if (resumed_ && data.iteration == last_) write_again();
    std::ostringstream line;
    for (const leat_block& block : leat::Blocks(data)) {
      const leat_variable& variable = *leat_variable_at(&run_, block.variable);
      line << "iteration " << data.iteration << " rank " << block.rank << " block " << block.block
           << ' ' << variable.name << " (";
      for (unsigned d = 0; d < variable.dims; ++d) line << (d ? ", " : "") << block.extent[d];
      line << ") " << block.bytes << " bytes";
      if (const auto level = leat::level_of(block)) put_level(line, *level, block, variable.dims);
      line << '\n';
    }
    append(line.str());
  }

  void close() {
    if (::close(std::exchange(fd_, -1)) != 0) fail();
  }

 private:
  static void put_level(std::ostream& line, int level, const leat_block& block, unsigned dims) {
    line << " level " << level << " at (";
    for (unsigned d = 0; d < dims; ++d) line << (d ? ", " : "") << block.position[d];
    line << ')';
  }

  // What the text has of its last iteration is all, or the iteration comes again. A line without
  // end is not all.
  void take_up() {
    // As the hdf5 store's path_of_descriptor().
    std::ifstream in("/proc/thread-self/fd/" + std::to_string(fd_));
    std::uintmax_t end = 0;  // of the whole lines
    for (std::string line; std::getline(in, line) && !in.eof();) {
      long long number = 0;
      if (std::sscanf(line.c_str(), "iteration %lld", &number) == 1 &&
          (!resumed_ || number != last_)) {
        resumed_ = true;
        last_ = number;
        begin_of_last_ = end;
      }
      end += line.size() + 1;
    }
    cut(end);
  }

  void write_again() { cut(begin_of_last_); }

  // Others may be able to write to the folder: no link of theirs is followed, and no file of theirs
  // written to.
  void open() {
    constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat facts {};
    const bool is_link = lstat(path_.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
    const bool is_own_link = is_link && is_own(facts);
    if (is_link && !is_own_link) ::unlink(path_.c_str());
    fd_ = ::open(path_.c_str(), kFlags | (is_own_link ? 0 : O_NOFOLLOW), 0666);
    if (fd_ < 0 || fstat(fd_, &facts) != 0) fail();
    errno = EPERM;
    if (!is_own(facts)) fail();
  }

  static bool is_own(const struct stat& facts) {
    return facts.st_uid == geteuid() || facts.st_uid == 0;
  }

  void append(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) fail();
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }

  void cut(std::uintmax_t bytes) const {
    if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0 && errno != EINVAL) fail();  // a device
  }

  [[noreturn]] void fail() const {
    throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
  }

  const leat_run& run_;
  std::string path_;
  int fd_ = -1;
  bool resumed_ = false;  // and there is an iteration in the text
  std::int64_t last_ = 0;
  std::uintmax_t begin_of_last_ = 0;
};

}  // namespace

LEAT_PLUGIN(Trace, "trace")
