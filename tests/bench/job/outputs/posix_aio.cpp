// SPDX-License-Identifier: Apache-2.0
// POSIX AIO: the C library's thread does what pwrite does.
#include <aio.h>
#include <fcntl.h>

#include <cerrno>

#include "tests/bench/job/outputs/double_buffer.hpp"
#include "tests/bench/job/outputs/outputs.hpp"
#include "tests/bench/job/plain_file.hpp"

namespace leat::bench {
namespace {

void until_done(aiocb* request) {
  const aiocb* const list[] = {request};
  while (aio_error(request) == EINPROGRESS) aio_suspend(list, 1, nullptr);
  if (aio_error(request) != 0) give_up("POSIX AIO");
}

class PosixAio : public DoubleBuffer {
 public:
  explicit PosixAio(const Setting& setting)
      : DoubleBuffer(setting, true), file_(setting.own_file(".bin")) {
    start_thread();
  }
  ~PosixAio() override { finish(); }

 private:
  // One thread, which stays, on the cores of the helpers: it inherits those of who asks first.
  void start_thread() {
    aioinit how{};
    how.aio_threads = 1;
    how.aio_num = 8;
    how.aio_idle_time = 3600;
    aio_init(&how);
    const os::CpuSet own = os::current_affinity();
    os::set_affinity(plan_.helpers);
    aiocb first = request();
    if (aio_write(&first) != 0) give_up("aio_write");
    until_done(&first);
    os::set_affinity(own);
  }

  aiocb request() const {
    aiocb made{};
    made.aio_fildes = file_.descriptor();
    made.aio_sigevent.sigev_notify = SIGEV_NONE;
    return made;
  }

  void start(int slot, const double* data, std::size_t iteration) override {
    aiocb& write = writes_[slot] = request();
    write.aio_buf = const_cast<double*>(data);
    write.aio_nbytes = plan_.bytes;
    write.aio_offset = static_cast<off_t>(iteration * plan_.bytes);
    if (aio_write(&write) != 0) give_up("aio_write");
    if (!plan_.durable) return;
    syncs_[slot] = request();
    if (aio_fsync(O_DSYNC, &syncs_[slot]) != 0) give_up("aio_fsync");
  }

  void wait(int slot) override {
    until_done(&writes_[slot]);
    if (aio_return(&writes_[slot]) != static_cast<ssize_t>(plan_.bytes)) give_up("short aio_write");
    if (plan_.durable) until_done(&syncs_[slot]);
  }

  PlainFile file_;
  aiocb writes_[2]{}, syncs_[2]{};
};

}  // namespace

std::unique_ptr<Output> make_posix_aio(const Setting& setting) {
  return std::make_unique<PosixAio>(setting);
}

}  // namespace leat::bench
