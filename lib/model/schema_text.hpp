// SPDX-License-Identifier: Apache-2.0
// The XSD as compiled in: CMake makes the definition from xml-schemas/leat.xsd.
#pragma once

#include <string_view>

namespace leat::model {

std::string_view schema_text();

}  // namespace leat::model
