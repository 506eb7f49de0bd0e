// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xerces_support.hpp"

#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/TransService.hpp>

namespace leat::model {
namespace xe = xercesc;

void ensure_xerces() {
  static const bool once = [] {
    xe::XMLPlatformUtils::Initialize();
    return true;
  }();
  static_cast<void>(once);
}

std::string to_utf8(const XMLCh* text) {
  if (text == nullptr) return "";
  const xe::TranscodeToStr utf8(text, "UTF-8");
  return std::string(reinterpret_cast<const char*>(utf8.str()), utf8.length());
}

std::basic_string<XMLCh> to_xerces(const std::string& utf8) {
  const xe::TranscodeFromStr text(reinterpret_cast<const XMLByte*>(utf8.data()), utf8.size(),
                                  "UTF-8");
  return std::basic_string<XMLCh>(text.str(), text.length());
}

}  // namespace leat::model
