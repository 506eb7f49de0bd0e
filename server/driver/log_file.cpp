// SPDX-License-Identifier: Apache-2.0
#include "server/driver/log_file.hpp"

#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "lib/platform/folder.hpp"
#include "lib/platform/process.hpp"

namespace leat::server {
namespace {

// Line by line: what was logged is in the file, should the server be killed.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(platform::UniqueFd file) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(file_.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) return;  // a full disk: there is nobody to tell
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }
  void flush_() override {}

  platform::UniqueFd file_;
};

std::string reason(int code) {
  if (code == ELOOP) return "it is a link of another user, or one to a link: remove it";
  if (code == EPERM) return "it is a file of another user: remove it, or give another name";
  return platform::errno_text(code);
}

}  // namespace

Result<std::shared_ptr<spdlog::sinks::sink>> log_file(const std::string& path, bool goes_on) {
  platform::UniqueFd file = platform::open_file_of_user(path, !goes_on);
  if (file)
    return std::shared_ptr<spdlog::sinks::sink>(std::make_shared<DescriptorSink>(std::move(file)));
  return Error{Status::ERROR_CONFIG,
               "cannot write the log file \"" + path + "\": " + reason(errno)};
}

}  // namespace leat::server
