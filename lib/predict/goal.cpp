// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/goal.hpp"

namespace leat::predict {
namespace {

// Operations of one rank, numbered in their order.
class RankSchedule {
 public:
  RankSchedule(std::ostream& out, std::int64_t rank, std::int64_t ranks, std::int64_t bytes)
      : out_(out), rank_(rank), ranks_(ranks), bytes_(bytes) {}

  void compute(std::int64_t ns) {
    const std::int64_t label = next_++;
    out_ << 'l' << label << ": calc " << ns << '\n';
    after_the_one_before(label);
    last_ = label;
  }

  // What a round has received the next one sends, so that messages which are there before their turn
  // wait for it; and nobody computes on before all is there.
  void all_reduce(std::int64_t collective) {
    for (std::int64_t distance = 1; distance < ranks_; distance *= 2) {
      message("send", " to ", (rank_ + distance) % ranks_, collective);
      last_ = message("recv", " from ", (rank_ - distance + ranks_) % ranks_, collective);
    }
  }

 private:
  std::int64_t message(const char* verb, const char* towards, std::int64_t peer, std::int64_t tag) {
    const std::int64_t label = next_++;
    out_ << 'l' << label << ": " << verb << ' ' << bytes_ << 'b' << towards << peer << " tag "
         << tag << '\n';
    after_the_one_before(label);
    return label;
  }
  void after_the_one_before(std::int64_t label) {
    if (last_ > 0) out_ << 'l' << label << " requires l" << last_ << '\n';
  }

  std::ostream& out_;
  std::int64_t rank_, ranks_, bytes_;
  std::int64_t next_ = 1;  // label
  std::int64_t last_ = 0;  // what computed or received last; 0: nothing yet
};

}  // namespace

void write_goal(std::ostream& out, const Job& job, std::int64_t bytes, std::int64_t collectives) {
  out << "num_ranks " << job.ranks << '\n';
  for (std::int64_t rank = 0; rank < job.ranks; ++rank) {
    out << "\nrank " << rank << " {\n";
    RankSchedule schedule(out, rank, job.ranks, bytes);
    for (std::int64_t collective = 0; collective < collectives; ++collective) {
      schedule.compute(job.compute->of(rank, collective));
      schedule.all_reduce(collective);
    }
    out << "}\n";
  }
}

}  // namespace leat::predict
