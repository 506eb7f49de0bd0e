// SPDX-License-Identifier: Apache-2.0
// Certificates for those who secure connections of a run by them, as Dask does: made of the run's credential.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/comm/tls.hpp"

namespace leat::comm {

/// In PEM.
struct Certificate {
  std::string
      authority{};  ///< whose key is made of the credential: who has it can prove to be of the run, and nobody else
  std::string certificate{};  ///< signed by the authority
  std::string key{};          ///< of the certificate; a secret
};

// Each server makes one for itself, without a word to the others: all have the same authority, as its key follows from the
// credential alone. Valid at all times, since clocks of nodes differ, and a run's credential ends with it. Keys are Ed25519 (RFC 8032).
Result<Certificate> certificate_of(const Credential& credential);

}  // namespace leat::comm
