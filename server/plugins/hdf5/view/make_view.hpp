// SPDX-License-Identifier: Apache-2.0
// Makes the view of a run on several nodes from the parts that are there, and a plain file of a view.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/disk/journal.hpp"

namespace leat::hdf5 {

/// What a line of the program view-hdf5 begins with that is about data which the view does not show.
inline constexpr const char* kNotShown = "left out: ";

struct ViewFacts {
  std::size_t parts = 0, files = 0;  ///< which they are in
  std::uint64_t iterations = 0;
  std::int64_t ranks = 0;                ///< of the run
  std::int64_t ranks_in_parts = 0;       ///< of the servers whose parts are there
  std::vector<std::string> left_out;     ///< why parts are, which cannot be read
  std::vector<std::string> not_shown;    ///< what parts have and the view has not, and why
  std::vector<std::string> not_for_vtk;  ///< what ParaView will not see, and why
  std::string state;  ///< of the parts: another one means that the view is out of date
};

/// Writes `path`, which may be there, at once as a whole: who opens it finds the old one or the new
/// one. It shows the parts in `folder` as they are now, and names them from its own folder on.
/// `maker` is part of a temporary name, so that several may do it at the same time. Throws when a
/// part cannot be read; a writer that is at work may be the reason, and the next time is better.
enum class Unreadable { refused, left_out };
ViewFacts make_view(const std::string& folder, const std::string& path, const std::string& maker,
                    Unreadable parts = Unreadable::refused);
/// The same, once more as long as parts have changed meanwhile: another server that has ended since
/// they were read has made a newer view, which this one has then replaced.
ViewFacts make_last_view(const std::string& folder, const std::string& path,
                         const std::string& maker, Unreadable parts = Unreadable::refused);

/// The folder of the parts of the view `path`; "" when it is no view, or no file. Throws nothing.
std::string parts_of_view(const std::string& path);

// A plain file with all that a view shows.

struct MergeFacts {
  std::size_t datasets = 0;
  std::uint64_t bytes = 0;  ///< of values
  std::uint64_t iterations = 0;
  std::vector<std::string> not_for_vtk;  ///< what ParaView will not see, and why
};

/// `done` of `all` bytes are copied.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Writes `to`, which appears when it is whole. What is there already is replaced with `replace`
/// only. Memory is bounded, whatever the sizes. Throws when `from` is no view, and when a part is
/// missing, which is named; then nothing is left behind.
MergeFacts merge_view(const std::string& from, const std::string& to, bool replace,
                      const Progress& progress);

// Made anew outside of the run: `leat view`.

/// Which parts and which view somebody means who names `target`: a view; the folder of its parts;
/// or the folder above, when there is one run in it. `output`: "" for the name that the run gave
/// it. Throws with what to name instead.
struct ViewPlace {
  std::string folder, path;
};
ViewPlace view_place(const std::string& target, const std::string& output);

struct RemadeView {
  ViewFacts facts;                                               ///< what it shows
  int finished = 0;                                              ///< last commits, of parts
  std::vector<std::pair<std::string, LastCommit>> not_finished;  ///< by part
};

/// Finishes the last commits of parts whose writers were killed, and makes the view.
RemadeView remake_view(const ViewPlace& place);

/// "heat.h5: 2 parts, 41 iterations", and what is missing.
std::string described(const std::string& path, const ViewFacts& facts);

}  // namespace leat::hdf5
