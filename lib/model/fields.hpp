// SPDX-License-Identifier: Apache-2.0
// Visits the fields of fields.def: whoever reads, writes or compares structs of the model field by field does it by this.
#pragma once

#include <concepts>

#include "lib/model/model.hpp"

namespace leat::model {

/// Who knows of a field, as fields.def says it.
enum class Audience { leatd, reports, everyone };

struct Field {
  const char* attribute;  ///< of the XML
  const char* key;        ///< of JSON: the name of the member
  Audience audience;
};

// each_field(of, visit): calls visit(Field, member, default) for the fields of a struct of the model, in the order of fields.def.
#define LEAT_ELEMENT(Struct)                                   \
  template <std::derived_from<Struct##Fields> Of, class Visit> \
  void each_field(Of& of, const Visit& visit) {
#define LEAT_FIELD(type, member, usual, attribute) \
  visit(Field{attribute, #member, Audience::leatd}, of.member, type{usual});
#define LEAT_REPORTED(type, member, usual, attribute) \
  visit(Field{attribute, #member, Audience::reports}, of.member, type{usual});
#define LEAT_SEEN(type, member, usual, attribute, in_files) \
  visit(Field{attribute, #member, Audience::everyone}, of.member, type{usual});
#define LEAT_END }
#include "lib/model/fields.def"

}  // namespace leat::model
