// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tls.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace leat::comm {
namespace {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const { kFree(object); }
};
void free_bio(BIO* bio) { BIO_free(bio); }
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using MemoryBio = std::unique_ptr<BIO, Freed<BIO, free_bio>>;

// What OpenSSL has said last, and nothing of it for the next one.
std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason ? reason : "no reason given";
}

Error credential_error(const std::string& what) {
  return {Status::ERROR_INTERNAL,
          "cannot " + what + " the credential of the run: OpenSSL says: " + openssl_error()};
}

// Times are for those who look at it: servers compare certificates, and do not ask what time it is.
Certificate certificate_of(EVP_PKEY* key) {
  constexpr long kDay = 86400;
  Certificate certificate(X509_new());
  std::uint64_t serial = 0;
  if (!certificate || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1)
    return nullptr;
  X509* const made = certificate.get();
  X509_NAME* const name = X509_get_subject_name(made);
  const auto* const title = reinterpret_cast<const unsigned char*>("servers of one run of Leat");
  const bool good = X509_set_version(made, 2) == 1 &&
                    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), serial >> 1) == 1 &&
                    X509_gmtime_adj(X509_getm_notBefore(made), -kDay) &&
                    X509_gmtime_adj(X509_getm_notAfter(made), 3650 * kDay) &&
                    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, title, -1, -1, 0) == 1 &&
                    X509_set_issuer_name(made, name) == 1 && X509_set_pubkey(made, key) == 1 &&
                    X509_sign(made, key, EVP_sha256()) > 0;
  return good ? std::move(certificate) : nullptr;
}

std::string text_of(X509* certificate, EVP_PKEY* key) {
  const MemoryBio bio(BIO_new(BIO_s_mem()));
  char* bytes = nullptr;
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return "";
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string fingerprint_of(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  }
  return text;
}

// The whole of what is checked of a certificate: that it is ours. The handshake proves the key.
int is_ours(X509_STORE_CTX* check, void* own) {
  X509* const theirs = X509_STORE_CTX_get0_cert(check);
  const bool same = theirs && X509_cmp(theirs, static_cast<X509*>(own)) == 0;
  if (!same) X509_STORE_CTX_set_error(check, X509_V_ERR_CERT_REJECTED);
  return same ? 1 : 0;
}

constexpr std::size_t kNonceBytes = TlsStream::kKnockBytes / 2;

std::string knock_key_of(const std::string& credential) {
  const std::string text = "knock of servers of Leat\n" + credential;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) != 1) return "";
  return {digest, digest + size};
}

/// "" when OpenSSL cannot.
std::string knock_with(std::string_view nonce, const std::string& key) {
  unsigned char proof[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(nonce.data());
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, nonce.size(), proof,
            &size))
    return "";
  std::string knock(nonce);
  knock.append(reinterpret_cast<const char*>(proof), TlsStream::kKnockBytes - kNonceBytes);
  return knock;
}

// Sessions are not resumed: each connection proves anew that both have the key.
std::shared_ptr<SSL_CTX> context_with(X509* certificate, EVP_PKEY* key) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_use_certificate(context.get(), certificate) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key) != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1)
    return nullptr;
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), is_ours, SSL_CTX_get0_certificate(context.get()));
  return context;
}

}  // namespace

// ---- the credential ----

Result<Credential> Credential::make() {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = key ? certificate_of(key.get()) : nullptr;
  if (!certificate) return credential_error("make");
  return from_text(text_of(certificate.get(), key.get()));
}

Result<Credential> Credential::from_text(const std::string& text) {
  const MemoryBio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) return credential_error("read");
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  auto shared = std::make_shared<Credential::Shared>();
  if (certificate && key) shared->context = context_with(certificate.get(), key.get());
  shared->knock_key = knock_key_of(text);
  if (!shared->context || shared->knock_key.empty()) return credential_error("read");
  shared->text = text;
  shared->fingerprint = fingerprint_of(certificate.get());
  return Credential(std::move(shared));
}

// ---- a connection ----

TlsStream::TlsStream(const Credential& credential, Side side) : credential_(credential.shared_) {
  if (side == Side::connects) begin(side);
}

bool TlsStream::begin(Side side) {
  ssl_.reset(SSL_new(credential_->context.get()), SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (!ssl_ || !in || !out) {
    BIO_free(in);
    BIO_free(out);
    return fail("no memory for a connection");
  }
  SSL_set_bio(ssl_.get(), in, out);
  if (side == Side::accepts) {
    SSL_set_accept_state(ssl_.get());
    return true;
  }
  SSL_set_connect_state(ssl_.get());
  std::string nonce(kNonceBytes, '\0');
  const bool is_random =
      RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), kNonceBytes) == 1;
  const std::string knock = is_random ? knock_with(nonce, credential_->knock_key) : "";
  if (knock.empty()) return fail("cannot make a knock: " + openssl_error());
  BIO_write(out, knock.data(), static_cast<int>(knock.size()));
  return go_on();
}

// Takes it out of the bytes. False: it is none.
bool TlsStream::take_knock(std::string_view* bytes) {
  const std::size_t taken = std::min(kKnockBytes - knock_.size(), bytes->size());
  knock_ += bytes->substr(0, taken);
  bytes->remove_prefix(taken);
  if (knock_.size() < kKnockBytes) return true;
  const std::string right =
      knock_with(std::string_view(knock_).substr(0, kNonceBytes), credential_->knock_key);
  if (right.size() != kKnockBytes || CRYPTO_memcmp(right.data(), knock_.data(), kKnockBytes) != 0)
    return fail("it does not know the credential of this run");
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
