// SPDX-License-Identifier: Apache-2.0
// Elements of Damaris' XML that a program puts together, like the Damaris plugin of PDI: fill in what there is to say, and
// take the text. What is empty is not in it. Header only, C++11.
//
//   damaris::model::DamarisVarXML u;
//   u.var_name_ = "u", u.layout_name_ = "cells", u.store_ = "out";
//   model.RepalceWithRegEx({{"_VARIABLES_", u.ReturnXMLForVariable()}});
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace damaris {
namespace model {

namespace xml {

/// As a value of an attribute, or text.
inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

/// `<name a="..."/>`, or with `inside` between two tags.
inline std::string element(const std::string& name, Attributes attributes,
                           const std::string& inside = "") {
  std::string text = "<" + name;
  for (const auto& each : attributes) {
    if (!each.second.empty())
      text += std::string(" ") + each.first + "=\"" + escaped(each.second) + "\"";
  }
  return inside.empty() ? text + "/>" : text + ">" + inside + "</" + name + ">";
}

/// "" where it is what it is anyway.
inline std::string text_of(bool value, bool otherwise) {
  return value == otherwise ? "" : value ? "true" : "false";
}
inline std::string text_of(long value, long otherwise) {
  return value == otherwise ? "" : std::to_string(value);
}

}  // namespace xml

struct DamarisParameterXML {
  std::string param_name_, param_datatype_, param_value_;

  std::string ReturnXMLForParameter() const {
    return xml::element(
        "parameter", {{"name", param_name_}, {"type", param_datatype_}, {"value", param_value_}});
  }
};

struct DamarisLayoutXML {
  std::string layout_name_, layout_dimensions_, layout_dims_global_, layout_ghosts_,
      layout_comment_;
  bool layout_visualizable_ = true;

  void set_datatype(const std::string& type) { type_ = type; }
  void set_language(const std::string& language) { language_ = language; }

  std::string ReturnXMLForLayout() const {
    return xml::element("layout", {{"name", layout_name_},
                                   {"type", type_},
                                   {"dimensions", layout_dimensions_},
                                   {"global", layout_dims_global_},
                                   {"ghosts", layout_ghosts_},
                                   {"language", language_},
                                   {"visualizable", xml::text_of(layout_visualizable_, true)},
                                   {"comment", layout_comment_}});
  }

 private:
  std::string type_, language_;
};

struct DamarisVarXML {
  std::string var_name_, layout_name_, mesh_, unit_, store_, script_, ref_, comment_;
  std::string select_mem_, select_file_, select_subset_;
  bool visualizable_ = true, time_varying_ = true, enabled_ = true;

  void set_type(const std::string& type) { type_ = type; }
  void set_centering(const std::string& centering) { centering_ = centering; }

  std::string ReturnXMLForVariable() const {
    return xml::element("variable", {{"name", var_name_},
                                     {"layout", layout_name_},
                                     {"mesh", mesh_},
                                     {"type", type_},
                                     {"unit", unit_},
                                     {"centering", centering_},
                                     {"store", store_},
                                     {"script", script_},
                                     {"ref", ref_},
                                     {"select-mem", select_mem_},
                                     {"select-file", select_file_},
                                     {"select-subset", select_subset_},
                                     {"visualizable", xml::text_of(visualizable_, true)},
                                     {"time-varying", xml::text_of(time_varying_, true)},
                                     {"enabled", xml::text_of(enabled_, true)},
                                     {"comment", comment_}});
  }

 private:
  std::string type_, centering_;
};

class DamarisMeshXML {
 public:
  void set_name(const std::string& name) { name_ = name; }
  void set_type(const std::string& type) { type_ = type; }
  void set_topology(long topology) { topology_ = topology; }
  void add_coord(const std::string& name, const std::string& unit = "",
                 const std::string& label = "", const std::string& comment = "") {
    coords_ += xml::element(
        "coord", {{"name", name}, {"unit", unit}, {"label", label}, {"comment", comment}});
  }
  const std::string& get_name() const { return name_; }

  std::string ReturnXMLForMesh() const {
    return xml::element(
        "mesh", {{"name", name_}, {"type", type_}, {"topology", xml::text_of(topology_, 0)}},
        coords_);
  }

 private:
  std::string name_, type_, coords_;
  long topology_ = 0;
};

/// Of layouts, variables, meshes and other groups.
class DamarisGroupXML {
 public:
  explicit DamarisGroupXML(std::string name = "") : name_(std::move(name)) {}

  void add_ds_element(const DamarisVarXML& variable) {
    inside_ += variable.ReturnXMLForVariable() + "\n";
  }
  void add_ds_element(const DamarisLayoutXML& layout) {
    inside_ += layout.ReturnXMLForLayout() + "\n";
  }
  void add_ds_element(const DamarisMeshXML& mesh) { inside_ += mesh.ReturnXMLForMesh() + "\n"; }
  void add_variable(const DamarisVarXML& variable) { add_ds_element(variable); }
  void add_sub_group(const DamarisGroupXML& group) { groups_.push_back(group); }

  const std::string& get_name() const { return name_; }
  std::vector<DamarisGroupXML>& get_sub_groups() { return groups_; }
  const std::vector<DamarisGroupXML>& get_sub_groups() const { return groups_; }

  std::string ReturnXMLForGroup() const {
    std::string all = "\n" + inside_;
    for (const DamarisGroupXML& group : groups_) all += group.ReturnXMLForGroup() + "\n";
    return xml::element("group", {{"name", name_}}, all);
  }

 private:
  std::string name_, inside_;
  std::vector<DamarisGroupXML> groups_;
};

struct DamarisStoreXML {
  std::string store_name_, store_type_, store_opt_FileMode_, store_opt_XDMFMode_,
      store_opt_FilesPath_;

  std::string ReturnXMLForStore() const {
    return xml::element("store", {{"name", store_name_}, {"type", store_type_}},
                        option("FileMode", store_opt_FileMode_) +
                            option("XDMFMode", store_opt_XDMFMode_) +
                            option("FilesPath", store_opt_FilesPath_));
  }

 private:
  static std::string option(const char* key, const std::string& value) {
    return value.empty() ? "" : xml::element("option", {{"key", key}}, xml::escaped(value));
  }
};

class DamarisParaviewXML {
 public:
  void set_update_frequency(int iterations) { update_frequency_ = iterations; }
  void set_realtime_timestep(float seconds) { realtime_timestep_ = std::to_string(seconds); }
  void set_end_iteration(int iteration) { end_iteration_ = iteration; }
  void set_write_vtk(int every) { write_vtk_ = every; }
  void set_write_vtk_binary(bool binary) { write_vtk_binary_ = binary; }
  void set_comment(const std::string& comment) { comment_ = comment; }
  void add_script(const std::string& file) {
    scripts_ += "<script>" + xml::escaped(file) + "</script>";
  }

  std::string ReturnXMLForParaview() const {
    return xml::element("paraview",
                        {{"update-frequency", xml::text_of(update_frequency_, 0)},
                         {"realtime-timestep", realtime_timestep_},
                         {"end-iteration", xml::text_of(end_iteration_, 0)},
                         {"write-vtk", xml::text_of(write_vtk_, 0)},
                         {"write-vtk-binary", xml::text_of(write_vtk_binary_, false)},
                         {"comment", comment_}},
                        scripts_);
  }

 private:
  std::string realtime_timestep_, comment_, scripts_;
  long update_frequency_ = 0, end_iteration_ = 0, write_vtk_ = 0;
  bool write_vtk_binary_ = false;
};

struct DamarisPyScriptXML {
  std::string pyscript_name_, pyscript_file_, scheduler_file_, execution_, scope_, keep_workers_,
      comment_;
  std::string language_ = "python";
  bool external_ = false;
  long frequency_ = 1, nthreads_ = 0, timeout_ = 0;

  std::string ReturnXMLForPyScript() const {
    return xml::element("pyscript", {{"name", pyscript_name_},
                                     {"file", pyscript_file_},
                                     {"language", language_},
                                     {"execution", execution_},
                                     {"scope", scope_},
                                     {"external", xml::text_of(external_, false)},
                                     {"frequency", xml::text_of(frequency_, 1)},
                                     {"scheduler-file", scheduler_file_},
                                     {"nthreads", xml::text_of(nthreads_, 0)},
                                     {"timeout", xml::text_of(timeout_, 0)},
                                     {"keep-workers", keep_workers_},
                                     {"comment", comment_}});
  }
};

}  // namespace model
}  // namespace damaris
