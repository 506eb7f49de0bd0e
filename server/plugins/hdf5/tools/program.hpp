// SPDX-License-Identifier: Apache-2.0
// The programs that look into files of the hdf5 store for `leat <verb>`, which becomes one of them
// and knows nothing of HDF5. They are one file with a name for each verb; main.cpp has the list.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace leat::hdf5 {

using Words = std::vector<std::string>;

/// What all exit with. `leat` and the server read it.
inline constexpr int kGood = 0, kBad = 1, kWrongUse = 2, kNotFinished = 3;

/// What is done before anything else; see base/files.hpp.
enum class Care {
  none,       ///< no file is opened
  own,        ///< a damaged file leaves nothing behind; the program has its own limit of time
  watched,    ///< the last word over a damaged file is that of the program
  for_server  ///< the same without a word, and the server that started it hears that it is alive
};

struct Program {
  const char* verb;
  std::size_t least, most;  ///< words that it takes
  const char* usage;        ///< of the verb
  Care care;
  /// Returns the exit status. What it throws is said, and is kBad.
  int (*run)(const Words& words);
};

int check_options_of_stores(const Words&);
int make_file_of_view(const Words&);
int recover_file(const Words&);
int tell_state(const Words&);
int show_view(const Words&);
int make_view_for_server(const Words&);

/// A line of JSON on standard output.
void print_line(const nlohmann::ordered_json& said);

}  // namespace leat::hdf5
