// SPDX-License-Identifier: Apache-2.0
// The words of the XML for what the model has as numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "lib/model/model.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

// The words of the XML for what the model has as numbers, each said once for both ways.

template <class Number>
struct Word {
  const char* word;
  Number number;
};

inline constexpr Word<Parameter::Kind> kParameterKinds[] = {{"int", Parameter::Kind::integer},
                                                            {"double", Parameter::Kind::real},
                                                            {"string", Parameter::Kind::text}};

inline constexpr Word<Mesh::Kind> kMeshKinds[] = {
    {"uniform", Mesh::Kind::uniform},         {"rectilinear", Mesh::Kind::rectilinear},
    {"curvilinear", Mesh::Kind::curvilinear}, {"unstructured", Mesh::Kind::unstructured},
    {"points", Mesh::Kind::points},           {"amr", Mesh::Kind::amr}};

inline constexpr Word<Centering> kCenterings[] = {{"zonal", Centering::zonal},
                                                  {"nodal", Centering::nodal}};

inline constexpr Word<Place> kPlaces[] = {{"process", Place::process},
                                          {"ranks", Place::ranks},
                                          {"thread", Place::thread},
                                          {"none", Place::none}};
inline constexpr Word<Numa> kNumas[] = {
    {"client", Numa::client}, {"server", Numa::server}, {"interleave", Numa::interleave}};
inline constexpr Word<EndMode> kEndModes[] = {
    {"async", EndMode::async}, {"sync", EndMode::sync}, {"auto", EndMode::automatic}};
inline constexpr Word<Schedule> kSchedules[] = {{"server", Schedule::server},
                                                {"sync", Schedule::sync},
                                                {"idle", Schedule::idle},
                                                {"harvest", Schedule::harvest},
                                                {"coordinated", Schedule::coordinated},
                                                {"static", Schedule::static_},
                                                {"dynamic", Schedule::dynamic}};
/// Those of each kind of analysis.
inline constexpr Schedule kStoreSchedules[] = {Schedule::server, Schedule::sync};
inline constexpr Schedule kAnalysisSchedules[] = {
    Schedule::server,      Schedule::sync,    Schedule::idle,   Schedule::harvest,
    Schedule::coordinated, Schedule::static_, Schedule::dynamic};
inline constexpr Schedule kScriptSchedules[] = {Schedule::server, Schedule::idle};

inline constexpr Word<Event::Scope> kScopes[] = {
    {"rank", Event::Scope::rank}, {"node", Event::Scope::node}, {"run", Event::Scope::run}};

inline constexpr Word<OverflowPolicy> kOverflowPolicies[] = {
    {"wait", OverflowPolicy::wait},
    {"drop-iteration", OverflowPolicy::drop_iteration},
    {"spill", OverflowPolicy::spill},
    {"error", OverflowPolicy::error}};

/// VTK's numbers of cells, 0 for none. Source: vtkCellType.h
inline constexpr Word<std::uint32_t> kCellShapes[] = {
    {"", 0},        {"vertex", 1},       {"line", 3},        {"triangle", 5},
    {"quad", 9},    {"tetrahedron", 10}, {"hexahedron", 12}, {"wedge", 13},
    {"pyramid", 14}};

/// The first for a word that is none of them, which the schema has refused.
template <class Number, std::size_t n>
Number number_of(const Word<Number> (&words)[n], const std::string& word) {
  for (const Word<Number>& each : words) {
    if (word == each.word) return each.number;
  }
  return words[0].number;
}

template <class Number, std::size_t n>
const char* word_of(const Word<Number> (&words)[n], Number number) {
  for (const Word<Number>& each : words) {
    if (number == each.number) return each.word;
  }
  return "unknown";
}

// Words of the XML before which the environment comes: what suits one machine, or one run.

/// What `variable` of the environment says, else the attribute. A word that is none of `words` is an
/// error.
template <class Number, std::size_t n>
Number chosen_word(ReadContext& context, const Attributes& attributes, const char* attribute,
                   const char* variable, const Word<Number> (&words)[n]) {
  const char* const chosen = std::getenv(variable);
  const std::string word = chosen && *chosen ? chosen : attributes.text(attribute);
  const Number number = number_of(words, word);
  if (word == word_of(words, number)) return number;
  std::string all;
  for (const Word<Number>& each : words) all += " \"" + std::string(each.word) + "\"";
  context.error(attributes.where(attribute),
                std::string(variable) + "=\"" + word + "\": it is one of" + all);
  return number;
}

/// What LEAT_RUNS says if that is one of `able`, else the attribute: a run has analyses of several
/// kinds, and each word is none of all of them.
template <std::size_t n>
Schedule chosen_schedule(ReadContext& context, const Attributes& attributes,
                         const Schedule (&able)[n]) {
  const Schedule chosen = chosen_word(context, attributes, "runs", "LEAT_RUNS", kSchedules);
  const bool can = std::find(std::begin(able), std::end(able), chosen) != std::end(able);
  return can ? chosen : number_of(kSchedules, attributes.text("runs"));
}

}  // namespace leat::model
