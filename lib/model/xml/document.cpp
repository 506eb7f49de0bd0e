// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml/document.hpp"

#include <algorithm>
#include <filesystem>

#include "lib/base/text.hpp"
#include "lib/model/damaris/translate.hpp"
#include "lib/model/xml/parser.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {
namespace fs = std::filesystem;
namespace {

class Loader {
 public:
  Loader(const Schema& schema, DiagnosticList& out, const Sources& kept = {})
      : schema_(schema), out_(out), kept_(kept) {}

  std::optional<Document> top(const std::string& path) {
    out_.file_opened(path);
    Result<std::string> text = read_source(path);
    if (!text) {
      out_.error({path, 0, 0}, "cannot read the file: " + text.error().message);
      return std::nullopt;
    }
    return top(path, std::move(*text));
  }

  std::optional<Document> top(const std::string& path, std::string text) {
    std::optional<XmlElement> root = tree(path, text, {{"simulation"}, ""});
    if (!root) return std::nullopt;
    return Document{std::move(*root), std::move(text), std::move(included_), is_damaris_};
  }

 private:
  struct Expected {
    std::vector<std::string> roots;
    std::string why;  ///< "", or the end of a sentence about them
  };

  // The tree of one file, with its includes in place.
  std::optional<XmlElement> tree(const std::string& path, const std::string& text,
                                 const Expected& expected) {
    std::optional<XmlElement> root = parse_xml(text, path, out_);
    if (!root || !root_fits(*root, expected)) return std::nullopt;
    expand_environment(*root, out_);
    if (open_.empty() && damaris::is_damaris(*root)) {
      std::optional<damaris::Translation> translation =
          damaris::translate(std::move(*root), schema_, out_);
      if (!translation) return std::nullopt;
      is_damaris_ = true;
      root = std::move(translation->root);
    }
    check_against_schema(schema_, *root, out_);
    open_.push_back(identity(path));
    put_includes(*root, path);
    open_.pop_back();
    return root;
  }

  bool root_fits(const XmlElement& root, const Expected& wanted) {
    const std::vector<std::string>& roots = wanted.roots;
    if (std::find(roots.begin(), roots.end(), root.name) != roots.end()) return true;
    const std::string expected =
        roots.size() == 1 ? "<" + roots[0] + ">" : "<" + roots[0] + "> or <" + roots[1] + ">";
    const std::string nearest = nearest_name(root.name, roots);
    out_.error(root.where, "the first element is <" + root.name + ">, expected " + expected +
                               wanted.why +
                               (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
    return false;
  }

  void put_includes(XmlElement& parent, const std::string& path) {
    std::vector<XmlElement> children;
    for (XmlElement& child : parent.children) {
      if (child.name == "include") {
        for (XmlElement& each : included(child, parent, path)) children.push_back(std::move(each));
      } else {
        put_includes(child, path);
        children.push_back(std::move(child));
      }
    }
    parent.children = std::move(children);
  }

  std::vector<XmlElement> included(const XmlElement& include, const XmlElement& parent,
                                   const std::string& path) {
    const XmlAttribute* file = include.find("file");
    if (!file || file->refused) return {};
    const std::string target = (fs::path(path).parent_path() / file->value).string();
    if (!may_include(target, *file)) return {};
    const Result<std::string> text = text_of(target);
    if (!text) {
      out_.error(file->where, "cannot include \"" + target + "\": " + text.error().message);
      return {};
    }
    out_.file_opened(target);
    included_.emplace_back(target, *text);
    Expected expected{{parent.name},
                      ": " + file->where.file + ":" + std::to_string(file->where.line) +
                          " includes it in <" + parent.name + ">"};
    if (parent.name == "group") expected.roots.push_back("data");
    std::optional<XmlElement> root = tree(target, *text, expected);
    if (!root) return {};
    warn_of_attributes(*root);
    return std::move(root->children);
  }

  Result<std::string> text_of(const std::string& target) const {
    const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                   [&](const auto& each) { return each.first == target; });
    return kept != kept_.end() ? kept->second : read_source(target);
  }

  bool may_include(const std::string& target, const XmlAttribute& file) {
    const auto first = std::find(open_.begin(), open_.end(), identity(target));
    if (first != open_.end()) {
      std::string chain;
      for (auto each = first; each != open_.end(); ++each) {
        chain += fs::path(*each).filename().string() + " -> ";
      }
      out_.error(file.where, "files include each other in a circle: " + chain +
                                 fs::path(target).filename().string());
      return false;
    }
    if (++includes_ <= kMaxIncludes) return true;
    if (includes_ == kMaxIncludes + 1) {
      out_.error(file.where, "more than 256 includes: do files include others many times over?");
    }
    return false;
  }

  void warn_of_attributes(const XmlElement& root) {
    for (const XmlAttribute& each : root.attributes) {
      if (each.name == "name" || each.name == "description") continue;
      out_.warning(each.where, "attribute \"" + each.name +
                                   "\" has no effect on the first element "
                                   "of an included file");
    }
  }

  static std::string identity(const std::string& path) {
    std::error_code failed;
    const fs::path canonical = fs::weakly_canonical(path, failed);
    return failed ? path : canonical.string();
  }

  const Schema& schema_;
  DiagnosticList& out_;
  const Sources kept_;
  Sources included_;
  std::vector<std::string> open_;  ///< the files that include each other down to this one
  std::size_t includes_ = 0;
  bool is_damaris_ = false;
};

}  // namespace

std::optional<Document> load_document(const std::string& path, const Schema& schema,
                                      DiagnosticList& out) {
  return Loader(schema, out).top(path);
}

std::optional<Document> document_of(const std::string& text, const std::string& path,
                                    const Schema& schema, DiagnosticList& out,
                                    const Sources& included) {
  out.file_opened(path);
  return Loader(schema, out, included).top(path, text);
}

}  // namespace leat::model
