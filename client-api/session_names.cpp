// SPDX-License-Identifier: Apache-2.0
// Session: which variable and which block a call means.
#include "client-api/last_error.hpp"
#include "client-api/session.hpp"

namespace leat::client {
bool Session::find_variable(Call& call, const char* name, std::uint32_t* index, Status* status) {
  if (!name) {
    *status = complain(call, {Status::ERROR_ARGUMENT, "the variable's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = variables_.find(name);
  *index = static_cast<std::uint32_t>(found);
  if (found < 0) *status = complain(call, variables_.unknown_variable(name), name);
  return found >= 0;
}

// The same, and the block's number is one that files can hold.
bool Session::find_block(Call& call, const char* name, std::uint32_t block, std::uint32_t* index,
                         Status* status) {
  if (!find_variable(call, name, index, status)) return false;
  if (block <= kMostBlock) return true;
  *status = complain(
      call,
      {Status::ERROR_ARGUMENT, "block " + std::to_string(block) + " of \"" + name +
                                   "\": numbers of blocks end at " + std::to_string(kMostBlock)},
      name);
  return false;
}

// What would have been handed over and has no name is lost too.
bool Session::lose_unless_found(Call& call, const char* name, std::uint32_t block,
                                std::uint32_t* index, Status* status) {
  if (find_block(call, name, block, index, status)) return true;
  count_lost(name ? name : "", {*status, last_error()});
  tell_lost(*status == Status::ERROR_ARGUMENT && name ? *index : shm::kNoVariable, *status, 0);
  return false;
}

}  // namespace leat::client
