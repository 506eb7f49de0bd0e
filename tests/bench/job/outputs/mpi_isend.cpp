// SPDX-License-Identifier: Apache-2.0
// A dedicated rank, as codes have them that do it by themselves: MPI_Isend to it from one of two
// buffers, and it writes what comes.
#include <unistd.h>

#include <vector>

#include "tests/bench/job/outputs/double_buffer.hpp"
#include "tests/bench/job/outputs/outputs.hpp"
#include "tests/bench/job/plain_file.hpp"

namespace leat::bench {
namespace {

constexpr int kPidTag = 1, kDataTag = 2, kDoneTag = 3;

class MpiIsend : public DoubleBuffer {
 public:
  explicit MpiIsend(const Setting& setting)
      : DoubleBuffer(setting, true), setting_(setting), server_(setting.size) {
    long pid = 0;
    MPI_Recv(&pid, 1, MPI_LONG, server_, kPidTag, setting.world, MPI_STATUS_IGNORE);
    pid_ = static_cast<pid_t>(pid);
  }

  void finish() override {
    DoubleBuffer::finish();
    MPI_Recv(nullptr, 0, MPI_BYTE, server_, kDoneTag, setting_.world, MPI_STATUS_IGNORE);
  }

  pid_t helper() const override { return setting_.rank == 0 ? pid_ : 0; }

 private:
  void start(int slot, const double* data, std::size_t) override {
    MPI_Isend(data, static_cast<int>(setting_.values()), MPI_DOUBLE, server_, kDataTag,
              setting_.world, &requests_[slot]);
  }
  void wait(int slot) override { MPI_Wait(&requests_[slot], MPI_STATUS_IGNORE); }

  const Setting& setting_;
  const int server_;
  pid_t pid_ = 0;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

// Two receives are posted for each rank, so that the next one comes while one is written. Messages
// of a rank come in the order in which the receives for it were posted.
class Server {
 public:
  explicit Server(const Setting& setting)
      : setting_(setting),
        file_(setting.file("all.bin")),
        ranks_(static_cast<std::size_t>(setting.size)),
        buffers_(2 * ranks_, std::vector<double>(setting.values(), 1.0)),
        requests_(2 * ranks_, MPI_REQUEST_NULL),
        iterations_(2 * ranks_, 0),
        posted_(ranks_, 0),
        came_(static_cast<std::size_t>(setting.plan.all_iterations()), 0) {
    for (std::size_t slot = 0; slot < requests_.size(); ++slot) post(slot);
  }

  void run() {
    for (int left = setting_.size * setting_.plan.all_iterations(); left > 0; --left) {
      int slot = 0;
      MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &slot, MPI_STATUS_IGNORE);
      write(static_cast<std::size_t>(slot));
      post(static_cast<std::size_t>(slot));
    }
  }

 private:
  void post(std::size_t slot) {
    const std::size_t rank = slot % ranks_;
    if (posted_[rank] == came_.size()) return;
    iterations_[slot] = posted_[rank]++;
    MPI_Irecv(buffers_[slot].data(), static_cast<int>(setting_.values()), MPI_DOUBLE,
              static_cast<int>(rank), kDataTag, setting_.world, &requests_[slot]);
  }

  void write(std::size_t slot) {
    const std::size_t iteration = iterations_[slot];
    file_.write(buffers_[slot].data(), setting_.plan.bytes,
                (iteration * ranks_ + slot % ranks_) * setting_.plan.bytes);
    if (++came_[iteration] == setting_.size && setting_.plan.durable) file_.sync();
  }

  const Setting& setting_;
  PlainFile file_;
  const std::size_t ranks_;
  std::vector<std::vector<double>> buffers_;  // slots of rank r are r and ranks_ + r
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> iterations_;  // that each slot is for
  std::vector<std::size_t> posted_;      // iterations for which each rank has had a receive
  std::vector<int> came_;                // blocks of each iteration
};

}  // namespace

std::unique_ptr<Output> make_mpi_isend(const Setting& setting) {
  return std::make_unique<MpiIsend>(setting);
}

void serve_mpi_isend(const Setting& setting) {
  Server server(setting);
  const long pid = getpid();
  for (int rank = 0; rank < setting.size; ++rank)
    MPI_Send(&pid, 1, MPI_LONG, rank, kPidTag, setting.world);
  server.run();
  for (int rank = 0; rank < setting.size; ++rank)
    MPI_Send(nullptr, 0, MPI_BYTE, rank, kDoneTag, setting.world);
}

}  // namespace leat::bench
