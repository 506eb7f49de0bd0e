// SPDX-License-Identifier: Apache-2.0
// What Xerces-C says of malformed XML, in words for people who do not write XML for a living.
#pragma once

#include <string>

namespace leat::model {

struct OpenTag {
  std::string name;  ///< of the innermost element that is open; "" when there is none
  int line = 0;
};

/// `code` is one of xercesc::XMLErrs::Codes, `text` the words of Xerces-C for it.
std::string explain_malformed(unsigned code, const std::string& text, const OpenTag& open);

/// The same for the exceptions of Xerces-C that end the reading: `code` is one of
/// xercesc::XMLExcepts::Codes; `unfinished` is a tag that begins and does not end, if there is one.
std::string explain_unreadable(unsigned code, const OpenTag& unfinished);

}  // namespace leat::model
