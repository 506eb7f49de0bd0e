// SPDX-License-Identifier: Apache-2.0
// The number that damaris_get_type has for a C++ type, and its name.
#pragma once

#include <Damaris.h>

namespace damaris {
namespace model {

/// Only for those that a variable may have: others do not compile.
template <typename T>
DAMARIS_TYPE_STR type_of();

#define DAMARIS_TYPE_OF(type, number)       \
  template <>                               \
  inline DAMARIS_TYPE_STR type_of<type>() { \
    return number;                          \
  }
DAMARIS_TYPE_OF(short, DAMARIS_TYPE_SHORT)
DAMARIS_TYPE_OF(int, DAMARIS_TYPE_INT)
DAMARIS_TYPE_OF(long, DAMARIS_TYPE_LONG)
DAMARIS_TYPE_OF(float, DAMARIS_TYPE_FLOAT)
DAMARIS_TYPE_OF(double, DAMARIS_TYPE_DOUBLE)
DAMARIS_TYPE_OF(char, DAMARIS_TYPE_CHAR)
DAMARIS_TYPE_OF(unsigned short, DAMARIS_TYPE_USHORT)
DAMARIS_TYPE_OF(unsigned int, DAMARIS_TYPE_UINT)
DAMARIS_TYPE_OF(unsigned long, DAMARIS_TYPE_ULONG)
DAMARIS_TYPE_OF(unsigned char, DAMARIS_TYPE_UCHAR)
#undef DAMARIS_TYPE_OF

inline const char* name_of_type(DAMARIS_TYPE_STR type) {
  switch (type) {
    case DAMARIS_TYPE_SHORT:
      return "short";
    case DAMARIS_TYPE_INT:
      return "int";
    case DAMARIS_TYPE_LONG:
      return "long";
    case DAMARIS_TYPE_FLOAT:
      return "float";
    case DAMARIS_TYPE_DOUBLE:
      return "double";
    case DAMARIS_TYPE_CHAR:
      return "char";
    case DAMARIS_TYPE_USHORT:
      return "unsigned short";
    case DAMARIS_TYPE_UINT:
      return "unsigned int";
    case DAMARIS_TYPE_ULONG:
      return "unsigned long";
    case DAMARIS_TYPE_UCHAR:
      return "unsigned char";
    case DAMARIS_TYPE_UNDEFINED:
      break;
  }
  return "of no C type";
}

}  // namespace model
}  // namespace damaris
