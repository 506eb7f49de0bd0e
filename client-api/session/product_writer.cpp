// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/product_writer.hpp"

#include <cstring>

namespace leat::client {

shm::BlockHeader& ProductWriter::header_of(void* data) const noexcept {
  return *reinterpret_cast<shm::BlockHeader*>(static_cast<char*>(data) - head_bytes_ -
                                              sizeof(shm::BlockHeader));
}

Status ProductWriter::alloc(const Call& call, const std::string& head, std::uint64_t data_bytes,
                            void** data) {
  std::uint64_t offset = 0, bytes = 0;
  if (__builtin_add_overflow(head.size(), data_bytes, &bytes)) return Status::ERROR_TOO_LARGE;
  os::WaitBudget budget = channel_.budget();
  const Status status = channel_.reserve_own(call.lock, budget, bytes, &offset);
  const bool is_late =
      status == Status::ERROR_FULL && channel_.memory().requests().refusal().in_use == 0;
  if (status != Status::OK) return is_late ? Status::ERROR_TIMEOUT : status;
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  header.variable = shm::kNoVariable;  // nothing yet, for a server that takes over
  header.dims = 0;
  std::memcpy(&header + 1, head.data(), head.size());
  head_bytes_ = head.size();
  *data = segment_.at<char>(offset + sizeof header + head.size());
  return Status::OK;
}

Status ProductWriter::commit(const Call& call, void* data, Place* place) {
  shm::BlockHeader& header = header_of(data);
  header.variable = shm::kProducts;
  header.block = static_cast<std::uint32_t>(head_bytes_);
  shm::Event event = channel_.event_of(shm::EventKind::products);
  event.subject = header.block;
  event.offset = segment_.offset_of(&header);
  event.bytes = sizeof header + header.data_bytes;
  *place = {event.offset, leases_.id_at(event.offset)};
  os::WaitBudget budget = channel_.budget();
  const Status status = channel_.push(call.lock, budget, event);
  if (status != Status::OK) give_back(header);
  return status;
}

// By its header: another thread may have memory by now.
void ProductWriter::give_back(shm::BlockHeader& header) noexcept {
  header.variable = shm::kNoVariable;
  channel_.memory().give_back(segment_.offset_of(&header));
}

}  // namespace leat::client
