// SPDX-License-Identifier: Apache-2.0
#include "lib/os/local_socket.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/os/durations.hpp"
#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
namespace {

class LocalSocket : public TemporaryFolder {
 protected:
  void connect() {
    listener_ = *listen_at(path_);
    client_ = *connect_to(path_);
    server_ = accept_own_user(listener_.get());
    ASSERT_TRUE(server_);
  }
  const std::string path_ = base_ + "/s";
  UniqueFd listener_, client_, server_;
};

TEST_F(LocalSocket, CarriesMessages) {
  connect();
  ASSERT_TRUE(send_message(server_.get(), "hello", 6, kSecond));
  char text[6] = "";
  ASSERT_EQ(receive_message(client_.get(), text, sizeof text, kSecond), Received::message);
  EXPECT_STREQ(text, "hello");
  EXPECT_EQ(receive_message(client_.get(), text, sizeof text, kMillisecond), Received::nothing);
}

TEST_F(LocalSocket, PassesADescriptorThatDoesNotSurviveAnExec) {
  connect();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd reader(ends[0]), writer(ends[1]), passed;
  char text[2] = "";
  ASSERT_TRUE(send_message(server_.get(), "a", 2, kSecond, writer.get()));
  ASSERT_EQ(receive_message(client_.get(), text, 2, kSecond, &passed), Received::message);
  ASSERT_TRUE(passed);
  EXPECT_TRUE(fcntl(passed.get(), F_GETFD) & FD_CLOEXEC);
  ASSERT_EQ(write(passed.get(), "x", 1), 1);
  ASSERT_EQ(read(reader.get(), text, 1), 1);
  EXPECT_EQ(text[0], 'x');
}

TEST_F(LocalSocket, SaysWhenThePeerIsGone) {
  connect();
  EXPECT_FALSE(peer_is_gone(client_.get()));
  server_.reset();
  char byte;
  EXPECT_TRUE(peer_is_gone(client_.get()));
  EXPECT_EQ(receive_message(client_.get(), &byte, 1, kSecond), Received::closed);
  EXPECT_FALSE(send_message(client_.get(), "x", 1, kSecond)) << "and no SIGPIPE";
}

TEST_F(LocalSocket, TakesNoMessageOfAnotherSize) {
  connect();
  char text[4];
  for (const std::size_t bytes : {3u, 5u}) {
    ASSERT_TRUE(send_message(client_.get(), "12345", bytes, kSecond));
    EXPECT_EQ(receive_message(server_.get(), text, sizeof text, kSecond), Received::closed)
        << bytes;
  }
}

TEST_F(LocalSocket, ToAPeerThatDoesNotReadGivesUpInTime) {
  connect();
  const std::string large(1 << 15, 'x');
  int sent = 0;
  while (sent < 10000 && send_message(client_.get(), large.data(), large.size(), kMillisecond)) {
    ++sent;
  }
  EXPECT_LT(sent, 10000);
}

TEST_F(LocalSocket, IsItsOwnersAlone) {
  connect();
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// Only root can become somebody else: for others there is no such connection to be made.
TEST_F(LocalSocket, ClosesConnectionsOfOtherUsers) {
  listener_ = *listen_at(path_);
  chmod(path_.c_str(), 0666);
  chmod(base_.c_str(), 0755);
  const pid_t stranger = geteuid() == 0 ? fork() : -1;
  if (stranger == 0) {
    if (setuid(65534) != 0) _exit(1);
    const Result<UniqueFd> connection = connect_to(path_);
    char byte;
    const bool closed = !connection || receive_message(connection->get(), &byte, 1, 5 * kSecond) ==
                                           Received::closed;
    _exit(closed ? 0 : 2);
  }
  int status = 0;
  while (stranger > 0 && waitpid(stranger, &status, WNOHANG) == 0) {
    EXPECT_FALSE(accept_own_user(listener_.get()));
    usleep(1000);
  }
  EXPECT_EQ(status, 0);
}

TEST_F(LocalSocket, WithALongerPathThanTheSystemAllowsIsAnErrorWithAWayOut) {
  const Result<UniqueFd> listener = listen_at(base_ + "/" + std::string(200, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().message.find("LEAT_RUNTIME_DIR to a shorter"), std::string::npos);
}

TEST_F(LocalSocket, ReplacesOneThatADeadServerLeft) {
  listener_ = *listen_at(path_);
  listener_.reset();
  EXPECT_EQ(connect_to(path_).error().status, Status::ERROR_SERVER);
  listener_ = *listen_at(path_);
  EXPECT_TRUE(connect_to(path_));
}

TEST_F(LocalSocket, OfStreamsRefusesOneTooManyAtOnceAndKnowsWhoComes) {
  listener_ = *listen_at(path_, SocketKind::stream);
  std::vector<UniqueFd> waiting;
  Status status = Status::OK;
  while (status == Status::OK && waiting.size() < 10'000) {
    Result<UniqueFd> next = connect_to(path_, SocketKind::stream);
    status = next ? Status::OK : next.error().status;
    if (next) waiting.push_back(std::move(*next));
  }
  // Unless there are fewer descriptors than may wait.
  EXPECT_EQ(status, Status::ERROR_TIMEOUT);
  EXPECT_EQ(peer_of(accept_own_user(listener_.get()).get()), getpid());
}

TEST_F(LocalSocket, WithoutAListenerIsAnErrorThatSaysSo) {
  EXPECT_EQ(connect_to(base_ + "/nobody").error().status, Status::ERROR_SERVER);
}

}  // namespace
}  // namespace leat::os
