// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include "Damaris.h"
#include "status.hpp"

namespace leat::damaris {
namespace {

int not_found(const char* call, const char* variable) {
  const leat_status known = leat_wanted(variable);
  if (known < 0) return code_of(known);
  return refuse(DAMARIS_BLOCK_NOT_FOUND, call,
                "a block has no memory from damaris_alloc, or not from this iteration");
}

}  // namespace

Allocations::Allocation* Allocations::find(const char* variable, std::int32_t block) {
  const auto blocks = last_.find(std::string_view(variable));
  if (blocks == last_.end()) return nullptr;
  const auto found = blocks->second.find(block);
  return found == blocks->second.end() ? nullptr : &found->second;
}

int Allocations::alloc(const char* variable, std::int32_t block, std::int64_t iteration,
                       void** data) {
  const leat_status status = leat_alloc_block(variable, static_cast<std::uint32_t>(block), data);
  if (status == LEAT_DROPPED) return DAMARIS_ALLOCATION_ERROR;
  if (status != LEAT_OK) return code_of(status);
  if (Allocation* const before = find(variable, block)) {
    *before = {iteration, false};
  } else {
    last_[variable].insert_or_assign(block, Allocation{iteration, false});
  }
  return DAMARIS_OK;
}

int Allocations::commit(const char* call, const char* variable, std::int32_t block,
                        std::int64_t iteration) {
  Allocation* const found = find(variable, block);
  if (!found || (iteration != kAnyIteration && iteration != found->iteration))
    return not_found(call, variable);
  if (found->committed) return DAMARIS_OK;
  const int code = code_of(leat_commit_block(variable, static_cast<std::uint32_t>(block)));
  found->committed = code == DAMARIS_OK;
  return code;
}

int Allocations::clear(const char* call, const char* variable, std::int32_t block,
                       std::int64_t iteration) {
  Allocation* const found = find(variable, block);
  if (!found || iteration > found->iteration) return not_found(call, variable);
  if (!found->committed)
    return refuse(DAMARIS_OK, call,
                  "a block is cleared that was not committed: it is not stored, and the next "
                  "damaris_alloc of it gives the same memory again");
  if (iteration == kAnyIteration || iteration == found->iteration)
    last_.find(variable)->second.erase(block);
  return DAMARIS_OK;
}

}  // namespace leat::damaris
