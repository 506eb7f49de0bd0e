// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/certificate.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <memory>

namespace leat::comm {
namespace {

std::shared_ptr<X509> read(const std::string& pem) {
  const std::shared_ptr<BIO> memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                    BIO_free);
  return {PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr), X509_free};
}

/// "" or why who trusts this authority does not trust the certificate.
std::string distrust(const std::string& authority, const std::string& certificate) {
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  const std::shared_ptr<X509_STORE_CTX> check(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  const auto trusted = read(authority), asked = read(certificate);
  X509_STORE_add_cert(store.get(), trusted.get());
  X509_STORE_CTX_init(check.get(), store.get(), asked.get(), nullptr);
  X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_X509_STRICT);
  if (X509_verify_cert(check.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
}

TEST(Certificate, OfOneServerIsTrustedByAllThatHaveTheCredentialAndByNobodyElse) {
  const Credential own = *Credential::make(), other = *Credential::make();
  const Result<Certificate> a = certificate_of(own),
                            b = certificate_of(*Credential::from_text(own.text())),
                            stranger = certificate_of(other);
  ASSERT_TRUE(a && b && stranger);
  EXPECT_EQ(distrust(a->authority, b->certificate), "");
  EXPECT_EQ(distrust(b->authority, a->certificate), "");
  EXPECT_NE(distrust(a->authority, stranger->certificate), "");
  EXPECT_NE(distrust(stranger->authority, a->certificate), "");
  EXPECT_NE(a->key, b->key);
  EXPECT_EQ(a->certificate.find("PRIVATE"), std::string::npos);
}

}  // namespace
}  // namespace leat::comm
