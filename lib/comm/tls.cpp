// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tls.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace leat::comm {
namespace {

constexpr std::string_view kCredentialMark = "leat-credential-1 ";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kNonceBytes = Credential::kKnockBytes / 2;
constexpr unsigned char kPskName[] = "servers of one run of Leat";
constexpr unsigned char kPskCipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256, RFC 8446 B.4

// What OpenSSL has said last, and nothing of it for the next one.
std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason ? reason : "no reason given";
}

Error credential_error(const std::string& what) {
  return {Status::ERROR_INTERNAL, "cannot " + what + " the credential of the run"};
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    return "";
  return bytes;
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto code = static_cast<unsigned char>(each);
    text += {kDigits[code >> 4], kDigits[code & 15]};
  }
  return text;
}

/// HMAC-SHA-256; "" when OpenSSL cannot.
std::string mac_of(std::string_view text, std::string_view key) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), mac, &size))
    return "";
  return {mac, mac + size};
}

std::string knock_with(std::string_view nonce, const std::string& key) {
  const std::string proof = mac_of(nonce, key);
  return std::string(nonce) + proof.substr(0, Credential::kKnockBytes - kNonceBytes);
}

// The key that both ends have, as TLS wants it: a session that never was.
SSL_SESSION* session_with(SSL* ssl) {
  const auto& key = *static_cast<const std::string*>(SSL_get_app_data(ssl));
  SSL_SESSION* const session = SSL_SESSION_new();
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kPskCipher);
  const bool good = session && cipher &&
                    SSL_SESSION_set1_master_key(
                        session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) &&
                    SSL_SESSION_set1_id_context(session, kPskName, sizeof kPskName - 1) &&
                    SSL_SESSION_set_cipher(session, cipher) &&
                    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
  if (good) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int offer_key(SSL* ssl, const EVP_MD* hash, const unsigned char** name, std::size_t* size,
              SSL_SESSION** session) {
  *session = hash && !EVP_MD_is_a(hash, "SHA256") ? nullptr : session_with(ssl);
  *name = kPskName;
  *size = *session ? sizeof kPskName - 1 : 0;
  return 1;
}

int find_key(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
  *session = session_with(ssl);
  return 1;
}

// Without a certificate: who has not the key cannot end a handshake. Sessions are not resumed: each connection has a secret of its
// own, and proves anew that both have the key.
std::shared_ptr<SSL_CTX> new_context() {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set1_groups_list(context.get(), "X25519:P-256") != 1 ||
      SSL_CTX_set_session_id_context(context.get(), kPskName, sizeof kPskName - 1) != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1)
    return nullptr;
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_psk_use_session_callback(context.get(), offer_key);
  SSL_CTX_set_psk_find_session_callback(context.get(), find_key);
  return context;
}

}  // namespace

// ---- the credential ----

std::string Credential::secret_for(std::string_view purpose) const {
  return mac_of(purpose, shared_->text);
}

Result<Credential> Credential::make() {
  const std::string secret = random_bytes(kSecretBytes);
  if (secret.empty()) return credential_error("make");
  return from_text(std::string(kCredentialMark) + hex_of(secret));
}

Result<Credential> Credential::from_text(const std::string& text) {
  const bool is_one =
      text.starts_with(kCredentialMark) &&
      text.size() == kCredentialMark.size() + 2 * kSecretBytes &&
      text.find_first_not_of("0123456789abcdef", kCredentialMark.size()) == std::string::npos;
  if (!is_one) return credential_error("read");
  auto shared = std::make_shared<Shared>();
  shared->text = text;
  shared->fingerprint = hex_of(mac_of("fingerprint", text));
  shared->knock_key = mac_of("knock", text);
  shared->tls_key = mac_of("tls", text);
  shared->context = new_context();
  if (!shared->context || shared->tls_key.size() != kSecretBytes) return credential_error("use");
  return Credential(std::move(shared));
}

std::string Credential::knock() const {
  const std::string knock = knock_with(random_bytes(kNonceBytes), shared_->knock_key);
  return knock.size() == kKnockBytes ? knock : "";
}

bool Credential::is_knock(std::string_view bytes) const {
  if (bytes.size() != kKnockBytes) return false;
  const std::string right = knock_with(bytes.substr(0, kNonceBytes), shared_->knock_key);
  return right.size() == kKnockBytes && CRYPTO_memcmp(right.data(), bytes.data(), kKnockBytes) == 0;
}

std::shared_ptr<SSL> Credential::tls_end(bool accepts) const {
  std::shared_ptr<SSL> ssl(SSL_new(shared_->context.get()), SSL_free);
  if (!ssl) return nullptr;
  SSL_set_app_data(ssl.get(), const_cast<std::string*>(&shared_->tls_key));
  if (accepts)
    SSL_set_accept_state(ssl.get());
  else
    SSL_set_connect_state(ssl.get());
  return ssl;
}

// ---- a connection ----

TlsStream::TlsStream(const Credential& credential, Side side) : credential_(credential) {
  if (side == Side::connects) begin(side);
}

bool TlsStream::begin(Side side) {
  ssl_ = credential_.tls_end(side == Side::accepts);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (!ssl_ || !in || !out) {
    BIO_free(in);
    BIO_free(out);
    return fail("no memory for a connection");
  }
  SSL_set_bio(ssl_.get(), in, out);
  if (side == Side::accepts) return true;
  const std::string knock = credential_.knock();
  if (knock.empty()) return fail("cannot make a knock: " + openssl_error());
  BIO_write(out, knock.data(), static_cast<int>(knock.size()));
  return go_on();
}

// Takes it out of the bytes. False: it is none.
bool TlsStream::take_knock(std::string_view* bytes) {
  constexpr std::size_t kWhole = Credential::kKnockBytes;
  const std::size_t taken = std::min(kWhole - knock_.size(), bytes->size());
  knock_ += bytes->substr(0, taken);
  bytes->remove_prefix(taken);
  if (knock_.size() < kWhole) return true;
  if (!credential_.is_knock(knock_)) return fail("it does not know the credential of this run");
  return begin(Side::accepts);
}

bool TlsStream::fail(std::string why) {
  if (why_broken_.empty()) why_broken_ = std::move(why);
  ERR_clear_error();
  return false;
}

// The other end is known when the handshake is over on this side and, for one that connects, the other
// side has accepted it: only then does anything come of it.
bool TlsStream::go_on() {
  if (!why_broken_.empty()) return false;
  if (!is_open_) {
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) {
      const int error = SSL_get_error(ssl_.get(), result);
      if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return true;
      return fail("no server of this run is at the other end: " + openssl_error());
    }
    if (SSL_session_reused(ssl_.get()) != 1)
      return fail("no server of this run is at the other end: it did not use the key of the run");
    is_open_ = true;
    if (!write(std::exchange(waiting_, {}))) return false;
  }
  return read();
}

bool TlsStream::take_in(std::string_view bytes) {
  if (!why_broken_.empty()) return false;
  if (!ssl_ && !take_knock(&bytes)) return false;
  if (!ssl_ || bytes.empty()) return true;
  if (BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size())) !=
      static_cast<int>(bytes.size()))
    return fail("no memory for what has come");
  return go_on();
}

bool TlsStream::read() {
  char part[16384];
  while (true) {
    const int size = SSL_read(ssl_.get(), part, sizeof part);
    if (size > 0) {
      received_.append(part, static_cast<std::size_t>(size));
      if (!take_apart()) return false;
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), size);
    if (error == SSL_ERROR_WANT_READ) return true;
    return fail(error == SSL_ERROR_ZERO_RETURN
                    ? "the other end has closed the connection"
                    : "what came is not what was sent: " + openssl_error());
  }
}

bool TlsStream::take_apart() {
  std::size_t at = 0;
  std::uint32_t size = 0;
  while (received_.size() - at >= sizeof size) {
    std::memcpy(&size, received_.data() + at, sizeof size);
    if (size > kMostBytes) return fail("a message of " + std::to_string(size) + " bytes: too long");
    if (received_.size() - at - sizeof size < size) break;
    messages_.push_back(received_.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  received_.erase(0, at);
  return true;
}

bool TlsStream::send(std::string_view message) {
  if (!why_broken_.empty() || message.size() > kMostBytes) return false;
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed += message;
  if (is_open_) return write(framed);
  if (waiting_.size() + framed.size() > kMostBytes) return false;
  waiting_ += framed;
  return true;
}

// Into memory, which takes all of it.
bool TlsStream::write(std::string_view bytes) {
  if (bytes.empty()) return true;
  const int written = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  return written == static_cast<int>(bytes.size()) ? true : fail("cannot send: " + openssl_error());
}

std::string TlsStream::take_out() {
  if (!ssl_) return "";
  BIO* const out = SSL_get_wbio(ssl_.get());
  std::string bytes(BIO_ctrl_pending(out), '\0');
  if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

std::vector<std::string> TlsStream::take_messages() { return std::exchange(messages_, {}); }

}  // namespace leat::comm
