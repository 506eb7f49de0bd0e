// SPDX-License-Identifier: Apache-2.0
#include "lib/base/scalar.hpp"

#include "lib/base/text.hpp"

namespace leat {

std::size_t scalar_bytes(ScalarType type) noexcept {
  switch (type) {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) \
  case ScalarType::id:                                    \
    return bytes;
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
  }
  return 0;
}

const char* scalar_name(ScalarType type) noexcept {
  switch (type) {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) \
  case ScalarType::id:                                    \
    return name;
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
  }
  return "unknown";
}

std::optional<ScalarType> scalar_from_name(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) \
  if (text == name || text == alias) return ScalarType::id;
#define LEAT_SCALAR_NAME(id, name) \
  if (text == name) return ScalarType::id;
#define LEAT_SCALAR_FORTRAN(id, name) \
  if (is_same_word(text, name)) return ScalarType::id;
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
  return std::nullopt;
}

}  // namespace leat
