// SPDX-License-Identifier: Apache-2.0
// Who does the pieces of an iteration that a plugin gives it in, on which cores and when.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace leat::server {

class PieceRunner {
 public:
  /// Does the piece of this number; an error, or "". From any thread.
  using Piece = std::function<std::string(std::uint64_t number)>;
  /// Another iteration waits for the end of these pieces already. From any thread.
  using IsLate = std::function<bool()>;
  virtual ~PieceRunner() = default;

  /// Returns when all pieces are done, or when one has failed and none is being done any more: the
  /// error of the first that failed. From several threads at the same time.
  virtual std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) = 0;
};

}  // namespace leat::server
