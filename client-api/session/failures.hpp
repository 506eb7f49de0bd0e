// SPDX-License-Identifier: Apache-2.0
// What calls of this rank have failed, and what is said where a name means no variable. Called with the session's mutex
// held.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "client-api/session/channel.hpp"
#include "client-api/session/variable_table.hpp"

namespace leat::client {

// What calls of this rank have failed: said to the server, which speaks for all ranks, or here, and
// counted when data are lost by it.

/// One call of the C API: its name for messages, the session's lock, and how long it may wait.
struct Call {
  const char* name;
  Lock& lock;
};

class Failures {
 public:
  Failures(Channel& channel, const VariableTable& variables)
      : channel_(channel), variables_(variables) {}

  /// Keeps the message for leat_last_error; the first of a kind goes to the server, which says it
  /// once for all ranks, or is printed where there is none. The error's status.
  Status complain(const Call& call, const Error& error, std::string_view subject) noexcept;
  /// The same for a write. `bytes`: 0 when they are not known.
  Status lose(const Call& call, std::uint32_t variable, const Error& error,
              std::uint64_t bytes = 0);
  /// The same for one that complain() was called for, and of which no variable is known; `name`: as
  /// the caller gave it. `variable`: as it was found, or kNoVariable.
  void lose_unknown(std::string_view name, std::uint32_t variable, const Error& error);

  /// No failure: the server says it once for all ranks, in its log, or it is printed where there is none. `subject`: of which there is
  /// one such text; `level`: shm::kIsWarning or shm::kIsNote.
  void mention(const std::string& subject, const std::string& text, std::uint32_t level) noexcept;

  /// Writes of this rank that another server of the run has lost; for staging nodes. They are no failures of calls here.
  void lose_elsewhere(const Call& call, std::uint32_t variable, std::int64_t iteration,
                      std::uint32_t writes, std::uint64_t bytes, const Error& why);

  /// A block that was handed over and that nobody takes any more.
  void lose_block(const shm::Event& block, const std::string& why);

  /// Writes that failed.
  std::uint64_t lost() const noexcept { return lost_; }
  const std::string& first_lost() const noexcept { return first_lost_; }

 private:
  bool report(std::uint32_t number, std::string_view subject, const std::string& text) noexcept;
  void count_lost(std::string_view variable, std::int64_t iteration, const std::string& why);
  void tell_lost(std::uint32_t variable, Status status, std::uint64_t bytes);

  Channel& channel_;
  const VariableTable& variables_;
  std::uint64_t lost_ = 0;
  std::uint32_t last_kind_ = 0;  // of the failure that was complained of last
  std::int64_t first_iteration_ = 0;
  std::string first_lost_;
};

/// Which variable and which block a call means, or what to say when there is none. All return false with `*status`, that of the call, once they have complained.
class BlockNames {
 public:
  BlockNames(VariableTable& variables, Failures& failures)
      : variables_(variables), failures_(failures) {}

  bool find_variable(const Call& call, const char* name, std::uint32_t* variable, Status* status);
  bool find(const Call& call, const char* name, std::uint32_t block, std::uint32_t* variable,
            Status* status) {
    if (!find_at_once(name, block, variable))
      return find_or_complain(call, name, block, variable, status);
    return true;
  }
  /// The same for a call that would have handed data over: what has no name is lost too.
  bool find_to_write(const Call& call, const char* name, std::uint32_t block,
                     std::uint32_t* variable, Status* status) {
    return find_at_once(name, block, variable) || find_or_lose(call, name, block, variable, status);
  }
  /// Like find, and the list in C order: there must be as many numbers as dimensions.
  bool find_with_list(const Call& call, const char* name, std::uint32_t block,
                      const NumberList& list, std::uint32_t* variable,
                      std::array<std::int64_t, kMaxDims>* numbers, Status* status);

 private:
  bool find_at_once(const char* name, std::uint32_t block, std::uint32_t* variable) noexcept {
    const std::int64_t found = name && block <= kMostBlock ? variables_.find(name) : -1;
    *variable = static_cast<std::uint32_t>(found);
    return found >= 0;
  }
  bool find_or_complain(const Call& call, const char* name, std::uint32_t block,
                        std::uint32_t* variable, Status* status);
  bool find_or_lose(const Call& call, const char* name, std::uint32_t block,
                    std::uint32_t* variable, Status* status);

  VariableTable& variables_;
  Failures& failures_;
};

}  // namespace leat::client
