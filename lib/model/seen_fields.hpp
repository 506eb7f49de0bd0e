// SPDX-License-Identifier: Apache-2.0
// Visits the fields of fields.def that plugins see: of structs of the model, of the plugin ABI, or of both side by side. It needs
// neither, so that the hdf5 store includes it too.
#pragma once

#include <string>

namespace leat::model {

struct SeenField {
  const char* key;       ///< of JSON: the name of the member
  const char* in_files;  ///< the attribute of a variable's dataset, or ""
};

// each_seen_field_of_<Struct>(visit, of...): calls visit(SeenField, default, member of each of the structs).
#define LEAT_ELEMENT(Struct)                                            \
  template <class Visit, class... Of>                                   \
  void each_seen_field_of_##Struct([[maybe_unused]] const Visit& visit, \
                                   [[maybe_unused]] Of&... of) {
#define LEAT_FIELD(type, member, usual, attribute)
#define LEAT_REPORTED(type, member, usual, attribute)
#define LEAT_SEEN(type, member, usual, attribute, in_files) \
  visit(SeenField{#member, in_files}, type{usual}, of.member...);
#define LEAT_END }
#include "lib/model/fields.def"

}  // namespace leat::model
