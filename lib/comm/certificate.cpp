// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <utility>

namespace leat::comm {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Cert = std::shared_ptr<X509>;
using Seed = std::array<unsigned char, 32>;

constexpr const char *kAlways = "20000101000000Z",
                     *kForEver = "99991231235959Z";  // RFC 5280, 4.1.2.5

Key key_of(const Seed& seed) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()),
          EVP_PKEY_free};
}

Key key_at_random() {
  Seed seed;
  if (RAND_bytes(seed.data(), static_cast<int>(seed.size())) != 1) return nullptr;
  return key_of(seed);
}

bool add_extension(X509* to, X509* issuer, int what, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const std::shared_ptr<X509_EXTENSION> made(X509V3_EXT_conf_nid(nullptr, &context, what, value),
                                             X509_EXTENSION_free);
  return made && X509_add_ext(to, made.get(), -1) == 1;
}

bool set_name(X509_NAME* name, const std::string& common) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(common.c_str()),
                                    static_cast<int>(common.size()), -1, 0) == 1;
}

// Of one that Python's strict check takes: RFC 5280, 4.2.
Cert signed_one(const std::string& name, const Key& key, const Cert& issuer, const Key& by) {
  Cert made(X509_new(), X509_free);
  const std::shared_ptr<BIGNUM> serial(BN_new(), BN_free);
  X509* const self = made.get();
  if (!made || !serial || !key || !by) return nullptr;
  X509* const above = issuer ? issuer.get() : self;
  const bool good = X509_set_version(self, X509_VERSION_3) == 1 &&
                    BN_rand(serial.get(), 127, 0, 0) == 1 &&
                    BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(self)) &&
                    ASN1_TIME_set_string_X509(X509_getm_notBefore(self), kAlways) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notAfter(self), kForEver) == 1 &&
                    set_name(X509_get_subject_name(self), name) &&
                    X509_set_issuer_name(self, X509_get_subject_name(above)) == 1 &&
                    X509_set_pubkey(self, key.get()) == 1 &&
                    add_extension(self, above, NID_basic_constraints,
                                  issuer ? "critical,CA:FALSE" : "critical,CA:TRUE") &&
                    add_extension(self, above, NID_key_usage,
                                  issuer ? "critical,digitalSignature" : "critical,keyCertSign") &&
                    add_extension(self, above, NID_subject_key_identifier, "hash") &&
                    add_extension(self, above, NID_authority_key_identifier, "keyid") &&
                    X509_sign(self, by.get(), nullptr) > 0;
  return good ? made : nullptr;
}

template <class Write>
std::string pem(Write write) {
  const std::shared_ptr<BIO> memory(BIO_new(BIO_s_mem()), BIO_free);
  if (!memory || write(memory.get()) != 1) return "";
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string pem_of(const Cert& cert) {
  return pem([&cert](BIO* to) { return PEM_write_bio_X509(to, cert.get()); });
}

}  // namespace

Result<Certificate> certificate_of(const Credential& credential) {
  const std::string secret = credential.secret_for("authority");
  Seed seed{};
  const Error error{Status::ERROR_INTERNAL, "cannot make a certificate of the run's credential"};
  if (secret.size() != seed.size()) return error;
  std::copy(secret.begin(), secret.end(), seed.begin());
  const Key authority_key = key_of(seed), key = key_at_random();
  const std::string run = "Leat run " + credential.fingerprint().substr(0, 16);
  const Cert authority = signed_one(run, authority_key, nullptr, authority_key);
  const Cert own = authority ? signed_one("Leat server", key, authority, authority_key) : nullptr;
  ERR_clear_error();
  if (!own) return error;
  Certificate all;
  all.authority = pem_of(authority);
  all.certificate = pem_of(own);
  all.key = pem([&key](BIO* to) {
    return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (all.authority.empty() || all.certificate.empty() || all.key.empty()) return error;
  return all;
}

}  // namespace leat::comm
