// SPDX-License-Identifier: Apache-2.0
// An order that `leat top` gives to a server, and what comes of it: on a connection of its own, and without waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/cli/control_client.hpp"

namespace leat::cli::top {

class Order {
 public:
  /// `words`: as behind `leat ctl SESSION VERB`.
  Order(const std::string& session, const std::string& verb, const std::vector<std::string>& words,
        std::int64_t now_ns);

  /// Reads what has come.
  void turn(std::int64_t now_ns);
  bool is_over() const noexcept { return !client_; }
  /// What has come of it so far, in a line.
  const std::string& text() const noexcept { return text_; }
  bool is_refused() const noexcept { return is_refused_; }
  int descriptor() const noexcept { return client_ ? client_->descriptor() : -1; }

 private:
  void send(const std::string& session);
  void take(const Json& message);
  void take_reply(const Json& reply);
  void end(const std::string& text, bool is_refused = false);

  const control::Verb& verb_;
  std::string name_;  // "set dt=0.25"
  std::int64_t given_ns_;
  std::optional<ControlClient> client_;
  Json arguments_, reply_;  // null: has not come
  std::string text_;
  bool is_refused_ = false;
};

}  // namespace leat::cli::top
