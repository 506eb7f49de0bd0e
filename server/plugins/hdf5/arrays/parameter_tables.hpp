// SPDX-License-Identifier: Apache-2.0
// Values of the parameters at each iteration: "parameters/<name>" (iteration), integers or doubles,
// or characters (iteration, length) of texts. Where a parameter had no value yet is the least integer, NaN, or an empty text.
#pragma once

#include <map>
#include <string>

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

class ParameterTables {
 public:
  explicit ParameterTables(const Target& target);
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  struct Table {
    Dataset dataset;
    std::size_t text_bytes = 0;
  };
  Table make(const leat_parameter& parameter, std::uint64_t bundle) const;
  void describe(const Dataset& table, const leat_parameter& parameter,
                const std::vector<std::uint8_t>& fill) const;
  void write_text(Table& table, hsize_t row, const char* text);

  Target target_;
  std::string group_;
  std::map<std::string, Table> tables_;
};

}  // namespace leat::hdf5
