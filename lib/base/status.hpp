// SPDX-License-Identifier: Apache-2.0
// Status codes and Result, shared by every room.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace leat {

enum class [[nodiscard]] Status : int{
#define LEAT_STATUS(name, value, meaning) name = value,
#include "lib/base/status.def"
#undef LEAT_STATUS
};

/// "ERROR_CONFIG" for Status::ERROR_CONFIG; "UNKNOWN" for a value that is none of ours.
const char* status_name(Status status) noexcept;
/// The meaning of a code in one sentence, for references and for messages that have nothing better.
const char* status_meaning(Status status) noexcept;

/// What went wrong, in words for the user. An Error without a message is a fault of ours.
struct Error {
  Status status = Status::ERROR_INTERNAL;
  std::string message;
};

/// A value or an Error. Used in set-up code; the data path returns a bare Status.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}
  explicit operator bool() const { return !failed_; }
  const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace leat
