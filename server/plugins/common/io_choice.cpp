// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/common/io_choice.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace leat {
namespace {

std::string times(std::uint64_t number) {
  return number == 1 ? "once" : std::to_string(number) + " times";
}

}  // namespace

Io io_from(const std::string& text) {
  if (text == "auto") return Io::automatic;
  if (text == "buffered" || text.empty()) return Io::buffered;
  if (text == "direct") return Io::direct;
  throw std::runtime_error("option io=\"" + text +
                           "\": expected \"auto\", \"buffered\" or \"direct\"");
}

std::string why_not_direct(const std::string& path, int code) {
  return path + ": io=\"direct\" is not possible here, it is written through the page cache: " +
         std::strerror(code);
}

void IoChoice::begin(Time now, std::uint64_t waiting) {
  const Time period = now - begun_;
  begun_ = now;
  if (io_ == Io::automatic && iterations_ > 0) look(period, waiting);
  ++iterations_;
  spent_ = Time{0};
}

void IoChoice::look(Time period, std::uint64_t waiting) {
  most_ = period / 4;
  if (is_direct_) {
    if (waiting > 0) return go_back(&waited_);
    if (spent_ > most_) return go_back(&slow_);  // the simulation has become faster
    if (++stint_ >= pause_) pause_ = kFirstPause;
    return;
  }
  left_ = std::max(left_ - 1, 0);
  if (left_ > 0 || waiting > 0) return;
  is_direct_ = true;
  stint_ = 0;
}

void IoChoice::wrote(Time took) {
  if (spent_ == Time{0}) ++direct_;
  spent_ += std::max(took, Time{1});
  if (io_ == Io::automatic && spent_ > most_) go_back(&slow_);
}

void IoChoice::go_back(std::uint64_t* why) {
  ++*why;
  is_direct_ = false;
  left_ = pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

void IoChoice::give_up() {
  io_ = Io::buffered;
  is_direct_ = false;
}

std::string IoChoice::summary() const {
  if (io_ != Io::automatic || direct_ == 0) return "";
  std::string text = "large blocks went past the page cache in " + std::to_string(direct_) +
                     " of " + std::to_string(iterations_) + " iterations";
  if (slow_ > 0)
    text += "; back through it " + times(slow_) +
            ", as the disk took more than a quarter of the time from one iteration to the next";
  if (waited_ > 0) text += "; back through it " + times(waited_) + ", as iterations were waiting";
  return text;
}

}  // namespace leat
