// SPDX-License-Identifier: Apache-2.0
#include "server/driver/local_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "lib/os/local_socket.hpp"

namespace leat::server {
namespace {

constexpr std::int64_t kHandshakeLimitNs = 100'000'000;
constexpr std::int64_t kReportLimitNs = 1'000'000'000;

class LocalConnection final : public shm::ToClient {
 public:
  LocalConnection(os::UniqueFd socket, int doorbell)
      : socket_(std::move(socket)), doorbell_(doorbell) {}

  bool welcome(const shm::Welcome& welcome) override {
    const int passed = welcome.status == 0 ? doorbell_ : -1;
    return os::send_message(socket_.get(), &welcome, sizeof welcome, kHandshakeLimitNs, passed);
  }
  Received take(shm::Report* report, std::string* offers) override {
    os::UniqueFd passed;
    const Received received =
        os::receive_message(socket_.get(), report, sizeof *report, 0, &passed);
    if (received == Received::message && report->number == shm::kIntroduction)
      *offers = os::text_of_memory_file(passed.get(), shm::kMostBytesOfIntroduction);
    return received;
  }
  bool drained(const shm::DrainReport& report) override {
    return os::send_message(socket_.get(), &report, sizeof report, kReportLimitNs);
  }

 private:
  os::UniqueFd socket_;
  int doorbell_;
};

}  // namespace

LocalTransport::LocalTransport(os::UniqueFd listener, std::string path, int doorbell,
                               std::function<void(int)> watch)
    : listener_(std::move(listener)),
      path_(std::move(path)),
      doorbell_(doorbell),
      watch_(std::move(watch)) {
  if (listener_) watch_(listener_.get());
}

void LocalTransport::on_readable(int descriptor, const Receiver& receiver) {
  if (descriptor == listener_.get()) return accept();
  const auto greets =
      std::find_if(awaiting_hello_.begin(), awaiting_hello_.end(),
                   [descriptor](const os::UniqueFd& g) { return g.get() == descriptor; });
  if (greets != awaiting_hello_.end()) {
    os::UniqueFd socket = std::move(*greets);
    awaiting_hello_.erase(greets);
    return receive_hello(std::move(socket), receiver);
  }
  if (const auto client = clients_.find(descriptor); client != clients_.end())
    receiver.message(client->second);
}

void LocalTransport::accept() {
  while (os::UniqueFd connection = os::accept_own_user(listener_.get())) {
    watch_(connection.get());
    awaiting_hello_.push_back(std::move(connection));
  }
}

// A connection that the engine has closed is no longer watched; its descriptor may be that of the
// next one.
void LocalTransport::receive_hello(os::UniqueFd socket, const Receiver& receiver) {
  const int descriptor = socket.get();
  clients_.erase(descriptor);
  shm::Hello hello{};
  const os::Received received =
      os::receive_message(descriptor, &hello, sizeof hello, kHandshakeLimitNs);
  if (received != os::Received::message) return;
  const std::optional<std::uint32_t> client =
      receiver.hello(hello, std::make_unique<LocalConnection>(std::move(socket), doorbell_));
  if (client) clients_[descriptor] = *client;
}

void LocalTransport::stop_listening() {
  listener_.reset();
  ::unlink(path_.c_str());
}

}  // namespace leat::server
