// SPDX-License-Identifier: Apache-2.0
#include "lib/base/status.hpp"

namespace leat {

const char* status_name(Status status) noexcept {
  switch (status) {
#define LEAT_STATUS(name, value, meaning) \
  case Status::name:                      \
    return #name;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "UNKNOWN";
}

const char* status_meaning(Status status) noexcept {
  switch (status) {
#define LEAT_STATUS(name, value, meaning) \
  case Status::name:                      \
    return meaning;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "not a status of Leat";
}

}  // namespace leat
