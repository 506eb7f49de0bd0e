// SPDX-License-Identifier: Apache-2.0
// From the tree of an XML for Damaris to that of one for Leat.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/model/damaris/mapping.hpp"
#include "lib/model/model.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model::damaris {

// Reading a tree for Damaris, and making one for Leat whose elements stand where it has them.

/// The attribute unless it is not there, refused, empty or "#", which is Damaris' word for none.
const XmlAttribute* given(const XmlElement& element, std::string_view attribute);
/// Its value, or "".
std::string value_of(const XmlElement& element, std::string_view attribute);
const XmlElement* child_of(const XmlElement& element, std::string_view name);

/// An element at the place of `from`.
XmlElement element_at(const XmlElement& from, const char* name);
void put(XmlElement& to, const char* name, std::string value, const SourceLocation& where);
/// The attribute `name` of `from` as `to_name`, refused or not; nothing when there is none.
void take(XmlElement& to, const char* to_name, const XmlElement& from, const char* name);
/// comment="..." and the text inside, as the description.
void take_description(XmlElement& to, const XmlElement& from);

// Layouts and meshes of groups: Damaris calls them "group/name", Leat by a name of their own.
class Names {
 public:
  struct Entry {
    std::string full;  ///< with the groups: "coordinates/rmeshX"
    std::string leat;
    const XmlElement* element = nullptr;
  };

  /// Of all elements `tag` below `data`, which must outlive this.
  Names(const XmlElement& data, std::string_view tag);

  /// By the full name, else by the one without groups; null when there is none.
  const Entry* find(const std::string& reference) const;
  const Entry* of(const XmlElement& element) const { return &all_[by_element_.at(&element)]; }
  const std::vector<Entry>& all() const { return all_; }

 private:
  using Index = std::unordered_map<std::string, std::size_t>;

  void collect(const XmlElement& parent, std::string_view tag, const std::string& prefix);
  const Entry* in(const Index& index, const std::string& name) const;

  std::vector<Entry> all_;
  Index by_full_name_, by_own_name_, by_leat_name_;
  std::unordered_map<const XmlElement*, std::size_t> by_element_;
};

/// `name` with what a name of Leat cannot have as "_".
std::string as_name(std::string name);

// From the tree of an XML for Damaris to that of one for Leat, which the usual reader reads.

/// Whether the root is that of an XML for Damaris: by its namespace, else by elements and
/// attributes that only Damaris has.
bool is_damaris(const XmlElement& root);

struct Translation {
  XmlElement root;  ///< elements and attributes stand where the file has those they come from
  std::vector<Remark> remarks;
};

/// Nothing, and an error, when the namespace is that of another Damaris; what else is wrong or has
/// no equal is said in `out`.
std::optional<Translation> translate(XmlElement root, const Schema& schema, DiagnosticList& out);

// An XML for Damaris as the XML for Leat that a person would write.
struct Converted {
  std::optional<std::string> text;      ///< empty when there is an error among the diagnostics
  std::vector<Diagnostic> diagnostics;  ///< as the reader says them
};

/// Reads `path` as the reader does; comments in the text say what had no equal.
Converted convert_file(const std::string& path);

}  // namespace leat::model::damaris
