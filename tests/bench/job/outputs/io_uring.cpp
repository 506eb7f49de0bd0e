// SPDX-License-Identifier: Apache-2.0
// io_uring: threads of the kernel write. Without IOSQE_ASYNC the call itself would copy into the
// page cache.
#include <liburing.h>
#include <sched.h>

#include <cerrno>

#include "tests/bench/job/outputs/double_buffer.hpp"
#include "tests/bench/job/outputs/outputs.hpp"
#include "tests/bench/job/plain_file.hpp"

namespace leat::bench {
namespace {

class IoUring : public DoubleBuffer {
 public:
  IoUring(const Setting& setting, bool copies)
      : DoubleBuffer(setting, copies), file_(setting.own_file(".bin")) {
    if (io_uring_queue_init(8, &ring_, 0) != 0) give_up("io_uring is not allowed here");
    place_threads();
  }
  ~IoUring() override {
    finish();
    io_uring_queue_exit(&ring_);
  }

 private:
  void place_threads() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < os::CpuSet::kMaxCpus; ++cpu)
      if (plan_.helpers.has(cpu)) CPU_SET(cpu, &cpus);
    if (io_uring_register_iowq_aff(&ring_, sizeof cpus, &cpus) != 0)
      give_up("io_uring_register_iowq_aff");
  }

  io_uring_sqe* next_request() {
    io_uring_sqe* const request = io_uring_get_sqe(&ring_);
    if (!request) give_up("io_uring is full");
    return request;
  }

  // After io_uring_prep_..., which resets both.
  void mark(io_uring_sqe* request, int slot, unsigned flags) {
    io_uring_sqe_set_data64(request, static_cast<std::uint64_t>(slot));
    io_uring_sqe_set_flags(request, flags);
    ++waiting_[slot];
  }

  void start(int slot, const double* data, std::size_t iteration) override {
    io_uring_sqe* const write = next_request();
    io_uring_prep_write(write, file_.descriptor(), data, static_cast<unsigned>(plan_.bytes),
                        iteration * plan_.bytes);
    mark(write, slot, IOSQE_ASYNC | (plan_.durable ? IOSQE_IO_LINK : 0u));
    if (plan_.durable) {
      io_uring_sqe* const sync = next_request();
      io_uring_prep_fsync(sync, file_.descriptor(), IORING_FSYNC_DATASYNC);
      mark(sync, slot, IOSQE_ASYNC);
    }
    io_uring_submit(&ring_);
  }

  void wait(int slot) override {
    while (waiting_[slot] > 0) take_one();
  }

  void take_one() {
    io_uring_cqe* done = nullptr;
    const int code = io_uring_wait_cqe(&ring_, &done);
    if (code == -EINTR) return;
    // 0 of an fsync; a write must be whole.
    const bool well = code == 0 && (done->res == 0 || done->res == static_cast<int>(plan_.bytes));
    if (!well) give_up("io_uring");
    --waiting_[io_uring_cqe_get_data64(done)];
    io_uring_cqe_seen(&ring_, done);
  }

  PlainFile file_;
  io_uring ring_{};
  int waiting_[2] = {0, 0};
};

}  // namespace

std::unique_ptr<Output> make_io_uring(const Setting& setting) {
  return std::make_unique<IoUring>(setting, true);
}

std::unique_ptr<Output> make_io_uring_flip(const Setting& setting) {
  return std::make_unique<IoUring>(setting, false);
}

}  // namespace leat::bench
