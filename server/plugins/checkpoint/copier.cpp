// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/checkpoint/copier.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/os/user_file.hpp"
#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/common/whole_io.hpp"

namespace leat::checkpoint {
namespace {

constexpr std::size_t kCopied = 4 << 20;  // at a time
constexpr std::chrono::milliseconds kGlance{100};

}  // namespace

Copier::Copier(const Place& from, const Place& to, std::function<void()> copied)
    : from_(from), to_(to), copied_(std::move(copied)), thread_([this] { work(); }) {}

Copier::~Copier() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.reset();
  }
  changed_.notify_all();
  thread_.join();
}

template <class Ready>
void Copier::await(const Ready& ready, const Progress& progress) {
  std::unique_lock lock(mutex_);
  while (!ready()) {
    changed_.wait_for(lock, kGlance);
    const std::uint64_t more = bytes_ - std::exchange(told_, bytes_);
    if (more == 0) continue;
    lock.unlock();
    progress(more);
    lock.lock();
  }
}

void Copier::add(const PartName& part, const Progress& progress) {
  await([this] { return !waiting_; }, progress);
  const std::lock_guard lock(mutex_);
  waiting_ = part;
  changed_.notify_all();
}

void Copier::await_all(const Progress& progress) {
  await([this] { return !waiting_ && !busy_; }, progress);
}

std::optional<Key> Copier::oldest() const {
  const std::lock_guard lock(mutex_);
  if (busy_) return busy_->key;
  return waiting_ ? std::optional(waiting_->key) : std::nullopt;
}

std::string Copier::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, "");
}

void Copier::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || ends_; });
    if (ends_ && !waiting_) return;
    busy_ = std::exchange(waiting_, std::nullopt);
    changed_.notify_all();
    const PartName part = *busy_;
    lock.unlock();
    std::string error;
    try {
      copy(part);
    } catch (const std::exception& e) {
      error = "the " + title_of(part.key) + " is in " + from_.folder() + " alone: " + e.what();
    }
    lock.lock();
    busy_.reset();
    if (!error.empty()) error_ = std::move(error);
    lock.unlock();
    copied_();
    lock.lock();
    changed_.notify_all();
  }
}

void Copier::copy(const PartName& part) {
  const std::string stem = part.stem(), data = stem + kDataEnding;
  const Result<std::string> index = os::text_of_file(from_.folder() + "/" + stem + kIndexEnding);
  if (!index) throw std::runtime_error(index.error().message);
  try {
    copy_data(data);
    to_.publish(stem, *index);
  } catch (...) {
    to_.give_up(data);
    throw;
  }
}

void Copier::copy_data(const std::string& name) {
  const std::string path = from_.folder() + "/" + name;
  const os::UniqueFd source(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source) throw std::runtime_error(path + ": " + errno_text(errno));
  const os::UniqueFd target = to_.begin(name);
  std::vector<char> buffer(kCopied);
  for (std::uint64_t at = 0;;) {
    const ssize_t got = ::pread(source.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::runtime_error(path + ": " + errno_text(errno));
    if (got == 0) break;
    const int code = write_whole(target.get(), buffer.data(), static_cast<std::size_t>(got), at);
    if (code != 0)
      throw std::runtime_error("cannot write into the folder " + to_.folder() + ": " +
                               errno_text(code));
    at += static_cast<std::uint64_t>(got);
    const std::lock_guard lock(mutex_);
    bytes_ += static_cast<std::uint64_t>(got);
  }
  to_.finish(name, target);
}

}  // namespace leat::checkpoint
