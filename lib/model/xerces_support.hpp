// SPDX-License-Identifier: Apache-2.0
// The little that every user of Xerces-C in this room needs. Not for other rooms.
#pragma once

#include <string>
#include <xercesc/util/XMLString.hpp>
#include <xercesc/util/XercesDefs.hpp>

namespace leat::model {

/// Initialises Xerces-C once per process and leaves it so; must come before anything else of
/// Xerces-C.
void ensure_xerces();

/// UTF-8 of a Xerces-C string; "" for null.
std::string to_utf8(const XMLCh* text);

/// A Xerces-C string of UTF-8, for the time of a call.
std::basic_string<XMLCh> to_xerces(const std::string& utf8);

}  // namespace leat::model
