// SPDX-License-Identifier: Apache-2.0
#include "client-api/block_names.hpp"

#include "client-api/last_error.hpp"

namespace leat::client {

bool BlockNames::find_variable(const Call& call, const char* name, std::uint32_t* variable,
                               Status* status) {
  if (!name) {
    *status = failures_.complain(call, {Status::ERROR_ARGUMENT, "the variable's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = variables_.find(name);
  *variable = static_cast<std::uint32_t>(found);
  if (found < 0) *status = failures_.complain(call, variables_.unknown_variable(name), name);
  return found >= 0;
}

// The block's number is one that files can hold.
bool BlockNames::find_or_complain(const Call& call, const char* name, std::uint32_t block,
                                  std::uint32_t* variable, Status* status) {
  if (!find_variable(call, name, variable, status)) return false;
  if (block <= kMostBlock) return true;
  *status = failures_.complain(
      call,
      {Status::ERROR_ARGUMENT, "block " + std::to_string(block) + " of \"" + name +
                                   "\": numbers of blocks end at " + std::to_string(kMostBlock)},
      name);
  return false;
}

bool BlockNames::find_or_lose(const Call& call, const char* name, std::uint32_t block,
                              std::uint32_t* variable, Status* status) {
  if (find_or_complain(call, name, block, variable, status)) return true;
  const bool is_known = *status == Status::ERROR_ARGUMENT && name;
  failures_.lose_unknown(name ? name : "", is_known ? *variable : shm::kNoVariable,
                         {*status, last_error()});
  return false;
}

bool BlockNames::find_with_list(const Call& call, const char* name, std::uint32_t block,
                                const NumberList& list, std::uint32_t* variable,
                                std::array<std::int64_t, kMaxDims>* numbers, Status* status) {
  if (!find(call, name, block, variable, status)) return false;
  const DeclaredVariable declared = variables_.declared(*variable);
  const std::uint32_t dims = declared.dims();
  if (list.count != NumberList::kAsMany && list.count != static_cast<std::int32_t>(dims)) {
    *status = failures_.complain(call, declared.wrong_count(list), name);
    return false;
  }
  if (!list.numbers && dims > 0) {
    *status = failures_.complain(call, {Status::ERROR_ARGUMENT, "the numbers are NULL"}, name);
    return false;
  }
  for (std::uint32_t d = 0; d < dims; ++d)
    (*numbers)[d] = list.numbers[list.column_major ? dims - 1 - d : d];
  return true;
}

}  // namespace leat::client
