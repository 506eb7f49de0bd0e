// SPDX-License-Identifier: Apache-2.0
// The control channel without sockets: what is answered, and what is bounded.
#include <gtest/gtest.h>

#include <new>

#include <iterator>
#include <string>
#include <vector>

#include "server/driver/control_channel.hpp"

namespace leat::control {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class FakeRun final : public ControlledRun {
 public:
  Answer answer(const Request& request) override {
    if (request.verb == "metrics" && no_memory) throw std::bad_alloc();
    if (request.verb == "drain") return refusal("it is too late");
    if (request.verb == "ledger") return ledger_text;
    if (!request.arguments.empty())
      orders.push_back(request.verb + " " + request.arguments.dump() + " by " + request.who);
    return std::string(R"({"state": "running"})");
  }

  std::string ledger_text = "{\n  \"leat_ledger\": 1\n}\n";
  std::vector<std::string> orders;
  bool no_memory = false;
};

class ControlTest : public testing::Test {
 protected:
  Connection& open(int number) {
    return channel_.open(number, "control/" + std::to_string(number), now_);
  }
  // All that waits to be read; it is read.
  std::vector<Json> read(Connection& connection) {
    std::vector<Json> messages;
    std::string text(connection.unsent());
    connection.sent(text.size(), now_);
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      messages.push_back(Json::parse(text.substr(0, end)));
    return messages;
  }
  Json ask(Connection& connection, const std::string& line) {
    connection.received(line + "\n", now_);
    channel_.work(now_);
    const std::vector<Json> messages = read(connection);
    return messages.size() == 1 ? messages[0] : Json();
  }
  void work_for(int turns) {
    for (int i = 0; i < turns; ++i) channel_.work(now_);
  }

  FakeRun run_;
  Channel channel_{run_};
  std::int64_t now_ = kSecond;
};

TEST_F(ControlTest, AnswersAndGivesTheNumberBack) {
  const Json reply = ask(open(3), R"({"leat_control": 1, "request": "status", "id": 7})");
  EXPECT_EQ(reply.dump(),
            R"({"leat_control":1,"id":7,"reply":"status","ok":true,"result":{"state":"running"}})");
}

TEST_F(ControlTest, ALedgerOfManyLinesIsOneLine) {
  const Json reply = ask(open(3), R"({"leat_control": 1, "request": "ledger"})");
  EXPECT_EQ(reply["result"]["leat_ledger"], 1);
}

TEST_F(ControlTest, WhatIsRefusedSaysWhy) {
  Connection& peer = open(3);
  EXPECT_EQ(ask(peer, R"({"leat_control": 1, "request": "drain"})")["error"], "it is too late");
  EXPECT_NE(
      ask(peer, R"({"leat_control": 7, "request": "stop"})")["error"].dump().find("version 7"),
      std::string::npos);
}

TEST_F(ControlTest, WhereAnAnswerCannotBeMadeTheServerGoesOn) {
  run_.no_memory = true;
  Connection& peer = open(3);
  EXPECT_NE(ask(peer, R"({"leat_control": 1, "request": "metrics"})")["error"].dump().find(
                "cannot answer"),
            std::string::npos);
  EXPECT_TRUE(ask(peer, R"({"leat_control": 1, "request": "status"})")["ok"]);
}

TEST_F(ControlTest, AReplyThatIsTooLargeIsRefused) {
  run_.ledger_text = "\"" + std::string(Channel::kMostReply, 'x') + "\"";
  const Json reply = ask(open(3), R"({"leat_control": 1, "request": "ledger"})");
  EXPECT_FALSE(reply["ok"]);
}

TEST_F(ControlTest, OrdersSayWho) {
  ask(open(5), R"({"leat_control": 1, "request": "set", "parameter": "dt", "value": 2})");
  EXPECT_EQ(run_.orders,
            std::vector<std::string>{R"(set {"parameter":"dt","value":2} by control/5)"});
  ask(open(6), R"({"leat_control": 1, "request": "signal", "signal": "snapshot"})");
  EXPECT_EQ(run_.orders.back(), R"(signal {"signal":"snapshot"} by control/6)");
}

TEST_F(ControlTest, ArgumentsOfAnotherFormAreRefused) {
  const auto why = [&](const std::string& arguments) {
    const Json reply = ask(open(5), R"({"leat_control": 1, "request": )" + arguments + "}");
    return reply["ok"] ? "" : reply["error"].get<std::string>();
  };
  EXPECT_TRUE(why(R"("signal", "signal": 1)").starts_with(R"("signal" is a text: write {)"));
  EXPECT_TRUE(
      why(R"("set", "parameter": "dt", "value": [])").starts_with(R"("value" is a number)"));
  const std::string set = R"("set", "parameter": "dt", "value": 1, "scope": )";
  EXPECT_TRUE(why(set + R"("all")").starts_with(R"("scope" is "run" or "node": write {)"));
  EXPECT_TRUE(why(set + R"("run|node")").starts_with(R"("scope" is "run" or "node")"));
  EXPECT_EQ(why(set + R"("node")"), "");
  EXPECT_TRUE(why(R"("subscribe", "events": "open")").starts_with(R"("events" is a list)"));
}

TEST_F(ControlTest, ARequestMayComeInAnyPieces) {
  Connection& peer = open(3);
  for (const char c : std::string("{\"leat_control\": 1, \"request\": \"status\"}\r\n")) {
    peer.received({&c, 1}, now_);
    channel_.work(now_);
  }
  EXPECT_EQ(read(peer).size(), 1u);
}

TEST_F(ControlTest, OneRequestOfEachIsAnsweredInATurn) {
  Connection& peer = open(3);
  std::string many;
  for (int i = 0; i < 5; ++i) many += "{\"leat_control\": 1, \"request\": \"status\"}\n";
  peer.received(many, now_);
  EXPECT_TRUE(channel_.work(now_));
  EXPECT_EQ(read(peer).size(), 1u);
  work_for(10);
  EXPECT_EQ(read(peer).size(), 4u);
}

TEST_F(ControlTest, NothingIsTakenOfOneThatReadsNothing) {
  run_.ledger_text = "\"" + std::string(Connection::kEnoughUnread, 'x') + "\"";
  Connection& peer = open(3);
  for (int i = 0; i < 50; ++i) {
    peer.received("{\"leat_control\": 1, \"request\": \"ledger\"}\n", now_);
    channel_.work(now_);
  }
  EXPECT_LT(peer.unsent().size(), 2 * Connection::kEnoughUnread);
  EXPECT_EQ(read(peer).size(), 1u);
}

TEST_F(ControlTest, AllThatIsYetToBeReadIsBounded) {
  run_.ledger_text = "\"" + std::string(Channel::kMostReply / 2, 'x') + "\"";
  for (int i = 0; i < 30; ++i) {
    open(i).received("{\"leat_control\": 1, \"request\": \"ledger\"}\n", now_);
    channel_.work(now_);
  }
  std::size_t unread = 0;
  for (const auto& [number, each] : channel_.connections()) unread += each.unsent().size();
  EXPECT_LT(unread, Channel::kMostUnreadOfAll + 30 * 1024);
}

TEST_F(ControlTest, ALineWithoutAnEndIsNotTakenForEver) {
  Connection& peer = open(3);
  std::size_t taken = 0;
  const std::string some(16 * 1024, 'x');
  while (peer.wants_input() && taken < (1u << 20)) {
    peer.received(some, now_);
    taken += some.size();
    channel_.work(now_);
  }
  EXPECT_LE(taken, kMostRequest + 2 * some.size());
  EXPECT_TRUE(peer.is_parting());
  EXPECT_EQ(read(peer).size(), 1u);
  EXPECT_TRUE(peer.is_over(now_));
}

TEST_F(ControlTest, HalfARequestIsGivenUpInTime) {
  Connection& peer = open(3);
  peer.received("{", now_);
  EXPECT_EQ(channel_.next_deadline_ns(), now_ + Connection::kHalfRequestNs);
  channel_.work(now_ + Connection::kHalfRequestNs - 1);
  EXPECT_FALSE(peer.is_parting());
  channel_.work(now_ + Connection::kHalfRequestNs);
  EXPECT_TRUE(peer.is_parting());
}

TEST_F(ControlTest, OneThatIsSilentMayStay) {
  open(3);
  EXPECT_EQ(channel_.next_deadline_ns(), INT64_MAX);
  EXPECT_FALSE(channel_.work(now_ + 1000 * kSecond));
}

TEST_F(ControlTest, OneThatReadsNothingIsGivenUpInTime) {
  Connection& peer = open(3);
  peer.received("{\"leat_control\": 1, \"request\": \"status\"}\n", now_);
  channel_.work(now_);
  channel_.work(now_ + Connection::kUnreadNs);
  EXPECT_TRUE(peer.is_parting());
  EXPECT_FALSE(peer.is_over(now_ + Connection::kUnreadNs));
  EXPECT_TRUE(peer.is_over(now_ + Connection::kUnreadNs + Connection::kPartingNs));
}

TEST_F(ControlTest, ASlowReaderGetsWholeLinesAndIsTold) {
  Connection& slow = open(3);
  Connection& quick = open(4);
  for (Connection* each : {&slow, &quick})
    ask(*each, R"({"leat_control": 1, "request": "subscribe"})");
  channel_.publish("open", {{"iteration", 0}}, now_);
  slow.sent(slow.unsent().size() - 5, now_);  // in the midst of a line
  const std::string rest(slow.unsent().substr(0, slow.unsent().find('\n') + 1));
  std::size_t told = 0;
  for (int i = 1; i < 20'000; ++i) {
    channel_.publish("open", {{"iteration", i}}, now_);
    told += read(quick).size();
    ASSERT_LE(slow.unsent().size(), Connection::kMostUnread + 1024);
  }
  EXPECT_EQ(told, 20'000u);
  ASSERT_TRUE(slow.is_parting());
  const std::string left(slow.unsent());
  ASSERT_TRUE(left.starts_with(rest));
  EXPECT_EQ(Json::parse(left.substr(rest.size()))["event"], "overrun");
}

TEST_F(ControlTest, ItIsTheLongestSilentThatMakesRoom) {
  for (int i = 0; i < static_cast<int>(Channel::kMostConnections); ++i) {
    open(i);
    now_ += kSecond;
  }
  ask(*channel_.find(0), R"({"leat_control": 1, "request": "status"})");
  open(100);
  EXPECT_FALSE(channel_.find(0)->is_parting());
  EXPECT_TRUE(channel_.find(1)->is_parting());
  EXPECT_FALSE(channel_.find(100)->is_parting());
}

TEST_F(ControlTest, ThoseThatPartAreNotKeptForEver) {
  for (int i = 0; i < 1000; ++i) {
    for (auto each = channel_.connections().begin(); each != channel_.connections().end();)
      each = each->second.is_over(now_) ? channel_.connections().erase(each) : std::next(each);
    open(i);
    ASSERT_LE(channel_.connections().size(), 2 * Channel::kMostConnections + 1);
  }
}

TEST_F(ControlTest, OneTooManyIsToldWhenAllOthersFollow) {
  for (int i = 0; i < static_cast<int>(Channel::kMostConnections); ++i)
    ask(open(i), R"({"leat_control": 1, "request": "subscribe"})");
  Connection& late = open(100);
  EXPECT_TRUE(late.is_parting());
  EXPECT_EQ(read(late).size(), 1u);
}

TEST_F(ControlTest, OneThatSaysNothingMoreMayReadOn) {
  Connection& asks = open(3);
  asks.received(R"({"leat_control": 1, "request": "status"})", now_);  // without an end
  asks.input_ended();
  channel_.work(now_);
  EXPECT_FALSE(asks.is_over(now_));
  EXPECT_EQ(read(asks).size(), 1u);
  EXPECT_TRUE(asks.is_over(now_));
}

TEST_F(ControlTest, AllAreToldOfTheEnd) {
  Connection& follows = open(3);
  Connection& asks = open(4);
  ask(follows, R"({"leat_control": 1, "request": "subscribe", "events": ["stored"]})");
  channel_.end({{"status", 0}}, now_);
  const std::vector<Json> last = read(follows);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0]["event"], "ended");
  EXPECT_TRUE(follows.is_over(now_) && asks.is_over(now_));
}

}  // namespace
}  // namespace leat::control
