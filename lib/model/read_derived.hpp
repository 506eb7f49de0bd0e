// SPDX-License-Identifier: Apache-2.0
// Variables that are made of others, from what the XML says to what they are. read_derived.cpp reads the texts of all of them and finds the
// order in which they are made; in that order settle_derived.cpp finds what each one is, by what it is made of, with derived_shapes.cpp,
// derived_units.cpp and derived_texts.cpp. Each of these says what is wrong and makes the variable a refused one; nobody asks further then.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/read_steps.hpp"

namespace leat::model {

inline Variable& variable_of(ReadContext& context, const ToDerive& told) {
  return context.model.variables[told.variable];
}
/// Of a variable that is made of others.
ToDerive& to_derive(ReadContext& context, std::uint32_t variable);

/// An error at expr="...".
void refuse_derived(ReadContext& context, ToDerive& told, const std::string& why);
/// An error at another attribute; `why` names that.
void refuse_derived(ReadContext& context, ToDerive& told, const Said& said, const std::string& why);
void refuse_reduction(ReadContext& context, ToDerive& told, const std::string& why);
void warn_of_derived(ReadContext& context, const ToDerive& told, const std::string& what);

/// Of a variable with every="last" or "run", of which another one is made.
std::string why_nothing_of_end(const Model& model, const Variable& variable);
/// What it is, where all that it is made of is settled.
void settle_derived(ReadContext& context, ToDerive& told);

/// derived_shapes.cpp. That what it is made of goes together, value by value. `main` has the most dimensions of all.
void expect_same_shape(ReadContext& context, ToDerive& told, const Variable& other,
                       const Variable& main);
/// The part that `select` says, of what is made of a variable of this layout.
void read_selection(ReadContext& context, ToDerive& told, const Layout& whole);
/// Of one that is d(main, x) or mid(main, x), as told.along says.
void settle_neighbours(ReadContext& context, ToDerive& told, const Variable& main);
/// Its layout, by what select="..." and reduce="..." leave of that of `main`; with elements of `type`.
void settle_layout(ReadContext& context, ToDerive& told, const Variable& main, ScalarType type);

/// derived_units.cpp. What is written in the XML counts; what the units of the inputs make of it, where nothing is.
void settle_unit(ReadContext& context, ToDerive& told);

/// derived_texts.cpp. Description, standard name, cell methods and definition.
void settle_texts(ReadContext& context, const ToDerive& told, const Variable& main);
/// For values along the dimensions `names`, "y: x: ", that became one.
void add_space_method(Variable* variable, const std::string& names);

}  // namespace leat::model
