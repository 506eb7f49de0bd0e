// SPDX-License-Identifier: Apache-2.0
// A variable whose values a program computes in the memory of the server. Header only, C++11:
//
//   damaris::model::DamarisVar<int> ranks(1, {"n_elements_local"}, "MPI_RANK", rank);
//   ranks.SetDamarisPosition({offset});
//   ranks.SetDamarisParameterAndShmem({n});                      // n_elements_local = n, and memory for n
//   std::fill(ranks.data(), ranks.data() + ranks.size(), rank);
//                                                                // its end hands the values over
//
// What is wrong is a std::runtime_error, with what damaris_error_string says; at the end of an object, where none may be
// thrown, it is said on standard error.
#pragma once

#include <Damaris.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <damaris/model/XmlElements.hpp>
#include <damaris/util/DamarisType.hpp>

namespace damaris {
namespace model {

template <typename T>
class DamarisVar {
 public:
  /// `dims`: how many parameters shape its layout, as many as `param_names`. `rank`: for messages.
  DamarisVar(int dims, std::vector<std::string> param_names, std::string variable_name, int rank)
      : param_names_(std::move(param_names)), name_(std::move(variable_name)), rank_(rank) {
    if (dims < 1 || param_names_.size() != static_cast<std::size_t>(dims))
      fail("it has " + std::to_string(dims) + " dimensions and the names of " +
           std::to_string(param_names_.size()) + " parameters");
    check_type();
  }
  /// The same, with values for the parameters and memory.
  DamarisVar(int dims, std::vector<std::string> param_names, std::vector<int> param_values,
             std::string variable_name, int rank)
      : DamarisVar(dims, std::move(param_names), std::move(variable_name), rank) {
    SetDamarisParameterAndShmem(param_values);
  }
  DamarisVar(const DamarisVar&) = delete;
  DamarisVar& operator=(const DamarisVar&) = delete;

  /// Hands over what has memory and was not handed over.
  ~DamarisVar() {
    try {
      if (data_) CommitVariableDamarisShmem();
      if (data_) ClearVariableDamarisShmem();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
  }

  void SetDamarisParameterAndShmem(const std::vector<int>& values) {
    SetDamarisParameter(values);
    SetPointersToDamarisShmem();
  }

  /// One value for each parameter. size() is their product.
  void SetDamarisParameter(const std::vector<int>& values) {
    if (values.size() != param_names_.size())
      fail("it has " + std::to_string(param_names_.size()) + " parameters, and got " +
           std::to_string(values.size()) + " values");
    size_ = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = param_names_[i];
      expect(damaris_parameter_set(name.c_str(), &values[i], sizeof(int)),
             "damaris_parameter_set(\"" + name + "\")");
      size_ *= static_cast<std::size_t>(values[i]);
    }
    is_shaped_ = true;
  }

  /// The parameters have been set elsewhere. size() stays 0: who calls this knows it.
  void ParameterIsSet() { is_shaped_ = true; }

  /// Where the values begin in the global array: one number for each dimension.
  void SetDamarisPosition(const std::vector<std::int64_t>& position) {
    if (position.size() != param_names_.size())
      fail("it has " + std::to_string(param_names_.size()) + " dimensions, and its position " +
           std::to_string(position.size()));
    expect(damaris_set_position(name_.c_str(), position.data()), "damaris_set_position");
  }

  /// Memory for it: of data(), until the end of the object.
  void SetPointersToDamarisShmem() {
    if (!is_shaped_) fail("call SetDamarisParameter first: it says how much memory is needed");
    void* memory = nullptr;
    expect(damaris_alloc(name_.c_str(), &memory), "damaris_alloc");
    data_ = static_cast<T*>(memory);
  }

  void CommitVariableDamarisShmem() { expect(damaris_commit(name_.c_str()), "damaris_commit"); }
  /// Nobody may use data() any more.
  void ClearVariableDamarisShmem() {
    data_ = nullptr;
    expect(damaris_clear(name_.c_str()), "damaris_clear");
  }

  /// Null where there is no memory.
  T* data() { return data_; }
  T* data_ptr() { return data_; }
  std::size_t size() const { return is_shaped_ ? size_ : 0; }
  const std::string& variable_name() const { return name_; }

  bool HasError() const { return !error_.empty(); }
  /// Throws the last error again.
  void PrintError() const { throw std::runtime_error(error_); }

  /// `<variable ... />` of this name; see damaris/model/XmlElements.hpp for one with more.
  std::string ReturnXMLForVariable() const {
    DamarisVarXML xml;
    xml.var_name_ = name_;
    return xml.ReturnXMLForVariable();
  }

 private:
  void check_type() {
    DAMARIS_TYPE_STR type = DAMARIS_TYPE_UNDEFINED;
    expect(damaris_get_type(name_.c_str(), &type), "damaris_get_type");
    if (type != type_of<T>())
      fail(std::string("its values are \"") + name_of_type(type) + "\" in the XML and \"" +
           name_of_type(type_of<T>()) + "\" in the program");
  }

  void expect(int code, const std::string& call) {
    if (code != DAMARIS_OK) fail(call + ": " + damaris_error_string(code));
  }

  [[noreturn]] void fail(const std::string& why) {
    error_ = "rank " + std::to_string(rank_) + ": DamarisVar \"" + name_ + "\": " + why;
    throw std::runtime_error(error_);
  }

  std::vector<std::string> param_names_;
  std::string name_, error_;
  int rank_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_shaped_ = false;
};

}  // namespace model
}  // namespace damaris
