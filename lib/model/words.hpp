// SPDX-License-Identifier: Apache-2.0
// The words of the XML for the enumerations of the model, each said once for both ways.
#pragma once

#include <cstddef>
#include <string_view>

#include "lib/model/model.hpp"

namespace leat::model {

template <class Enum>
struct Word {
  const char* word;
  Enum value;
};

/// Those of one enumeration. The first stands for a word that is none of them.
template <class Enum>
inline constexpr std::nullptr_t kWords{};

template <>
inline constexpr Word<ParameterKind> kWords<ParameterKind>[] = {{"int", ParameterKind::integer},
                                                                {"double", ParameterKind::real},
                                                                {"string", ParameterKind::text}};
template <>
inline constexpr Word<Order> kWords<Order>[] = {
    {"", Order::unspecified}, {"c", Order::c}, {"fortran", Order::fortran}};
template <>
inline constexpr Word<MeshKind> kWords<MeshKind>[] = {
    {"uniform", MeshKind::uniform},         {"rectilinear", MeshKind::rectilinear},
    {"curvilinear", MeshKind::curvilinear}, {"unstructured", MeshKind::unstructured},
    {"points", MeshKind::points},           {"amr", MeshKind::amr}};
template <>
inline constexpr Word<CellShape> kWords<CellShape>[] = {{"", CellShape{0}},
                                                        {"vertex", CellShape{1}},
                                                        {"line", CellShape{3}},
                                                        {"triangle", CellShape{5}},
                                                        {"quad", CellShape{9}},
                                                        {"tetrahedron", CellShape{10}},
                                                        {"hexahedron", CellShape{12}},
                                                        {"wedge", CellShape{13}},
                                                        {"pyramid", CellShape{14}}};
template <>
inline constexpr Word<Centering> kWords<Centering>[] = {{"zonal", Centering::zonal},
                                                        {"nodal", Centering::nodal}};
template <>
inline constexpr Word<EventScope> kWords<EventScope>[] = {
    {"rank", EventScope::rank}, {"node", EventScope::node}, {"run", EventScope::run}};
template <>
inline constexpr Word<ScriptForm> kWords<ScriptForm>[] = {{"leat", ScriptForm::leat},
                                                          {"damaris", ScriptForm::damaris},
                                                          {"deisa", ScriptForm::deisa},
                                                          {"catalyst", ScriptForm::catalyst},
                                                          {"graph", ScriptForm::graph}};
template <>
inline constexpr Word<ScriptScope> kWords<ScriptScope>[] = {{"node", ScriptScope::node},
                                                            {"run", ScriptScope::run}};
template <>
inline constexpr Word<Schedule> kWords<Schedule>[] = {{"server", Schedule::server},
                                                      {"sync", Schedule::sync},
                                                      {"idle", Schedule::idle},
                                                      {"harvest", Schedule::harvest},
                                                      {"coordinated", Schedule::coordinated},
                                                      {"static", Schedule::static_},
                                                      {"dynamic", Schedule::dynamic}};
template <>
inline constexpr Word<Checksum> kWords<Checksum>[] = {{"none", Checksum::none},
                                                      {"crc32c", Checksum::crc32c}};
template <>
inline constexpr Word<OverflowPolicy> kWords<OverflowPolicy>[] = {
    {"wait", OverflowPolicy::wait},
    {"drop-iteration", OverflowPolicy::drop_iteration},
    {"spill", OverflowPolicy::spill},
    {"error", OverflowPolicy::error}};
template <>
inline constexpr Word<Undeclared> kWords<Undeclared>[] = {
    {"warn", Undeclared::warn}, {"ignore", Undeclared::ignore}, {"accept", Undeclared::accept}};
template <>
inline constexpr Word<DropScope> kWords<DropScope>[] = {{"node", DropScope::node},
                                                        {"run", DropScope::run}};
template <>
inline constexpr Word<Numa> kWords<Numa>[] = {
    {"client", Numa::client}, {"server", Numa::server}, {"interleave", Numa::interleave}};
template <>
inline constexpr Word<Place> kWords<Place>[] = {{"process", Place::process},
                                                {"ranks", Place::ranks},
                                                {"thread", Place::thread},
                                                {"none", Place::none}};
template <>
inline constexpr Word<EndMode> kWords<EndMode>[] = {
    {"async", EndMode::async}, {"sync", EndMode::sync}, {"auto", EndMode::automatic}};
template <>
inline constexpr Word<Carrier> kWords<Carrier>[] = {{"auto", Carrier::automatic},
                                                    {"tcp", Carrier::tcp},
                                                    {"folder", Carrier::folder},
                                                    {"none", Carrier::none}};

template <>
inline constexpr Word<Operation> kWords<Operation>[] = {
    {"instant", Operation::instant},       {"mean", Operation::mean},
    {"min", Operation::minimum},           {"max", Operation::maximum},
    {"accumulate", Operation::accumulate}, {"variance", Operation::variance}};
template <>
inline constexpr Word<SpaceOperation> kWords<SpaceOperation>[] = {{"mean", SpaceOperation::mean},
                                                                  {"min", SpaceOperation::minimum},
                                                                  {"max", SpaceOperation::maximum},
                                                                  {"sum", SpaceOperation::sum}};
template <>
inline constexpr Word<Trust> kWords<Trust>[] = {{"none", Trust::none}, {"job", Trust::job}};
template <>
inline constexpr Word<At> kWords<At>[] = {{"node", At::node}, {"staging", At::staging}};
template <>
inline constexpr Word<StagingPlace> kWords<StagingPlace>[] = {{"process", StagingPlace::process},
                                                              {"ranks", StagingPlace::ranks}};
template <>
inline constexpr Word<WhenLost> kWords<WhenLost>[] = {
    {"node", WhenLost::node}, {"other", WhenLost::other}, {"fail", WhenLost::fail}};
template <>
inline constexpr Word<KeepUntil> kWords<KeepUntil>[] = {{"received", KeepUntil::received},
                                                        {"stored", KeepUntil::stored}};

/// What the CF conventions call them in files. Source: CF Conventions 1.8, appendix E.
template <class Enum>
inline constexpr std::nullptr_t kCellMethods{};

template <>
inline constexpr Word<Operation> kCellMethods<Operation>[] = {
    {"mean", Operation::mean},         {"minimum", Operation::minimum},
    {"maximum", Operation::maximum},   {"sum", Operation::accumulate},
    {"variance", Operation::variance}, {"point", Operation::latest}};
template <>
inline constexpr Word<SpaceOperation> kCellMethods<SpaceOperation>[] = {
    {"mean", SpaceOperation::mean},
    {"minimum", SpaceOperation::minimum},
    {"maximum", SpaceOperation::maximum},
    {"sum", SpaceOperation::sum}};

template <class Enum, std::size_t kCount>
constexpr Enum value_of(const Word<Enum> (&words)[kCount], std::string_view word) {
  for (const Word<Enum>& each : words) {
    if (word == each.word) return each.value;
  }
  return words[0].value;
}

template <class Enum, std::size_t kCount>
constexpr const char* word_of(const Word<Enum> (&words)[kCount], Enum value) {
  for (const Word<Enum>& each : words) {
    if (value == each.value) return each.word;
  }
  return "unknown";
}

/// The same by the words that the XML has for an enumeration.
template <class Enum>
constexpr Enum value_of(std::string_view word) {
  return value_of(kWords<Enum>, word);
}

template <class Enum>
constexpr const char* word_of(Enum value) {
  return word_of(kWords<Enum>, value);
}

template <class Enum>
constexpr bool is_word(std::string_view word) {
  return word == word_of(value_of<Enum>(word));
}

}  // namespace leat::model
