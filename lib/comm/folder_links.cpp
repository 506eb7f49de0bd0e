// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/folder_links.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>

#include "lib/comm/hello.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr std::int64_t kOneMs = 1'000'000;
constexpr std::int64_t kLeastPace = kOneMs, kMostPace = 100 * kOneMs;
constexpr std::int64_t kLeastRetry = 20 * kOneMs, kMostRetry = 500 * kOneMs;
constexpr std::int64_t kLookAtWritten = 500 * kOneMs;

// A name that only this run has, whatever letters are in its own.
std::string folder_name(const std::string& run) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = "links-";
  for (const char each : run) {
    const auto code = static_cast<unsigned char>(each);
    if (std::isalnum(code) || each == '-' || each == '_') {
      name += each;
    } else {
      name += {'%', kDigits[code >> 4], kDigits[code & 15]};
    }
  }
  return name;
}

std::string new_id() {
  std::random_device random;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x%08x", random(), random());
  return digits;
}

/// "3.<id>.call.0"
struct LinkFile {
  Rank from = 0;
  std::string id{};
  bool is_call = false;
  bool is_first = false;
};

std::optional<LinkFile> link_file(const std::string& name) {
  LinkFile file;
  const char* const end = name.data() + name.size();
  const auto [dot, error] = std::from_chars(name.data(), end, file.from);
  if (error != std::errc{} || file.from < 0 || end - dot < 18 || dot[0] != '.' || dot[17] != '.')
    return std::nullopt;
  file.id.assign(dot + 1, 16);
  const std::string rest(dot + 18, end);
  file.is_call = rest.starts_with("call.");
  if (!file.is_call && !rest.starts_with("reply.")) return std::nullopt;
  file.is_first = rest.ends_with(".0");
  return file;
}

std::string stream_name(Rank reader, Rank writer, const std::string& id, const char* kind) {
  return std::to_string(reader) + '/' + std::to_string(writer) + '.' + id + '.' + kind;
}

// Opened anew each time, which is when a network file system asks its server what is in it.
std::vector<std::string> names_in(int folder, const std::string& path) {
  std::vector<std::string> names;
  const int opened = openat(folder, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* const list = opened < 0 ? nullptr : fdopendir(opened);
  if (!list) {
    if (opened >= 0) ::close(opened);
    return names;
  }
  while (const dirent* const each = readdir(list))
    if (each->d_name[0] != '.') names.emplace_back(each->d_name);
  closedir(list);
  return names;
}

// Another server may make a file in it meanwhile.
void remove_folder(int folder, const std::string& name) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    for (const std::string& each : names_in(folder, name))
      unlinkat(folder, (name + '/' + each).c_str(), 0);
    if (unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return;
    if (errno != ENOTEMPTY && errno != EEXIST) return;
  }
}

}  // namespace

// ---- the folder ----

namespace {

// Another server may make it at this moment.
bool make_folder(const std::string& path) {
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

FolderLinks::FolderLinks(const Settings& settings, const std::string& folder)
    : settings_(settings),
      path_(folder + '/' + folder_name(settings.run)),
      owner_("owner." + new_id()) {}

Result<std::unique_ptr<FolderLinks>> FolderLinks::open(const Settings& settings,
                                                       const std::string& in) {
  std::unique_ptr<FolderLinks> links(new FolderLinks(settings, in));
  std::string why;
  if (!make_folder(in) && errno == ENOENT && make_folder(folder_of(in))) make_folder(in);
  const os::UniqueFd folder = links->open_folder(&why);
  if (folder) {
    for (const std::string& left : names_in(folder.get(), links->home()))
      unlinkat(folder.get(), (links->home() + '/' + left).c_str(), 0);
    why = links->make_home(folder.get());
  }
  if (why.empty()) return links;
  links->is_replaced_ = true;  // nothing in it is this one's
  return Error{Status::ERROR_SERVER, "the servers of the run cannot meet in a folder: " + why};
}

os::UniqueFd FolderLinks::open_folder(std::string* why) const {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  os::UniqueFd folder(::open(path_.c_str(), kFlags));
  if (!folder && errno == ENOENT && make_folder(path_))
    folder = os::UniqueFd(::open(path_.c_str(), kFlags));
  struct stat facts {};
  if (!folder || fstat(folder.get(), &facts) != 0) {
    *why = path_ + ": " + os::errno_text(errno);
    return {};
  }
  if (facts.st_uid == geteuid() && (facts.st_mode & 077) == 0) return folder;
  *why = path_ + ": it is of another user, or others may look into it; remove it";
  return {};
}

std::string FolderLinks::make_home(int folder) const {
  const std::string path = home() + '/' + owner_;
  if (mkdirat(folder, home().c_str(), 0700) == 0 || errno == EEXIST) {
    const os::UniqueFd made(
        openat(folder, path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (made) return "";
  }
  return path_ + '/' + home() + ": " + os::errno_text(errno);
}

bool FolderLinks::is_ready(std::int64_t now_ns) {
  if (is_replaced_) return false;
  std::string why;
  folder_ = open_folder(&why);
  if (folder_) {
    if (std::exchange(has_no_folder_, false)) why_unreached_.clear();
    return true;
  }
  has_no_folder_ = true;
  why_unreached_ = why;
  looks_.pass(now_ns);
  for (Link& each : links_) each.reads.pass(now_ns);
  return false;
}

void FolderLinks::be_replaced() {
  is_replaced_ = true;
  why_unreached_ = path_ + '/' + home() + ": another server has taken the place of this one";
  for (Link& each : links_) each.is_over = true;
}

// Who is dead has not removed its own.
FolderLinks::~FolderLinks() {
  std::string why;
  if (is_replaced_) return;
  folder_ = os::UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_) return;
  for (Link& each : links_) {
    each.out.end();
    each.out.write(folder_.get(), &why);
  }
  remove_folder(folder_.get(), home());
  const std::vector<std::string> others = names_in(folder_.get(), ".");
  const bool is_last = std::all_of(others.begin(), others.end(), [this](const std::string& name) {
    Rank rank = -1;
    std::from_chars(name.data(), name.data() + name.size(), rank);
    return std::to_string(rank) == name && gone_.has(rank);
  });
  if (!is_last) return;
  for (const std::string& each : others) remove_folder(folder_.get(), each);
  rmdir(path_.c_str());
  const std::string meeting = folder_of(path_);
  if (rmdir(meeting.c_str()) == 0) rmdir(folder_of(meeting).c_str());
}

// ---- when ----

void FolderLinks::Pace::hurry(std::int64_t now_ns) {
  pause_ns = kLeastPace;
  next_ns = now_ns + pause_ns;
}

void FolderLinks::Pace::pass(std::int64_t now_ns) {
  pause_ns = std::clamp(2 * pause_ns, kLeastPace, kMostPace);
  next_ns = now_ns + pause_ns;
}

std::int64_t FolderLinks::next_ns(std::int64_t until_ns) const {
  if (is_replaced_) return until_ns;
  until_ns = std::min(until_ns, looks_.next_ns);
  for (const Link& each : links_)
    if (each.is_answered) until_ns = std::min(until_ns, each.reads.next_ns);
  return until_ns;
}

LinkEvents FolderLinks::poll(std::int64_t until_ns, int wake) {
  std::int64_t now_ns = os::now_ns();
  if (is_ready(now_ns)) {
    call(now_ns);
    write(now_ns);
  }
  close_those_that_are_over();
  const std::int64_t until = events_.empty() ? next_ns(until_ns) : now_ns;
  const std::int64_t wait_ns = std::clamp<std::int64_t>(until - now_ns, 0, kMostSleepNs);
  const timespec wait{wait_ns / (1000 * kOneMs), wait_ns % (1000 * kOneMs)};
  pollfd waiting{wake, POLLIN, 0};
  ppoll(&waiting, 1, &wait, nullptr);
  now_ns = os::now_ns();
  if (folder_) {
    look_for_files(now_ns);
    read(now_ns);
  }
  close_those_that_are_over();
  folder_.reset();
  return std::exchange(events_, {});
}

// ---- links ----

FolderLinks::Link* FolderLinks::link_to(Rank peer) {
  for (Link& each : links_)
    if (each.is_up && each.peer == peer && !each.is_over) return &each;
  return nullptr;
}

FolderLinks::Link* FolderLinks::link_of(const std::string& id, bool is_ours) {
  for (Link& each : links_)
    if (each.id == id && each.is_ours == is_ours) return &each;
  return nullptr;
}

bool FolderLinks::is_trying() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& each) { return each.is_ours; });
}

void FolderLinks::want(std::optional<Rank> peer, std::int64_t now_ns) {
  if (peer == wanted_) return;
  wanted_ = peer;
  next_try_ns_ = now_ns;
  pause_ns_ = kLeastRetry;
  if (!is_replaced_) why_unreached_.clear();
  for (Link& each : links_) each.is_over |= each.is_ours && each.peer != peer;
}

void FolderLinks::call(std::int64_t now_ns) {
  if (!wanted_ || now_ns < next_try_ns_ || link_to(*wanted_) || is_trying()) return;
  if (faccessat(folder_.get(), (home() + '/' + owner_).c_str(), F_OK, 0) != 0) {
    looks_.next_ns = now_ns;  // perhaps it has a successor, whose calls are not to be removed
    return;
  }
  next_try_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kMostRetry);
  const std::string theirs = std::to_string(*wanted_);
  if (faccessat(folder_.get(), theirs.c_str(), F_OK, 0) != 0) {
    why_unreached_ = path_ + '/' + theirs + ": there is none: server " + theirs +
                     " has not started yet, has ended, or does not see this folder";
    return;
  }
  for (const std::string& name : names_in(folder_.get(), theirs)) {  // of a predecessor
    const std::optional<LinkFile> file = link_file(name);
    if (file && file->is_call && file->from == settings_.self)
      unlinkat(folder_.get(), (theirs + '/' + name).c_str(), 0);
  }
  const std::string id = new_id();
  links_.push_back(
      {.peer = *wanted_,
       .id = id,
       .is_ours = true,
       .out = FileWriter(stream_name(*wanted_, settings_.self, id, "call")),
       .in = FileReader(stream_name(settings_.self, *wanted_, id, "reply"), settings_.silence_ns)});
  links_.back().out.send(hello_text({settings_.self, *wanted_, settings_.size, settings_.run}));
  links_.back().next_look_ns = now_ns + kLookAtWritten;
  looks_.hurry(now_ns);
}

void FolderLinks::send(Rank to, std::string_view message) {
  Link* const link = link_to(to);
  if (!link) return;
  const bool is_sent = link->out.send(message);
  link->is_over = !is_sent || link->out.unsent() > settings_.most_unsent;
}

// Of a link that is ours the other end is told that it is over.
void FolderLinks::close(std::size_t index) {
  Link closed = std::move(links_[index]);
  links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(index));
  if (folder_ && !is_replaced_) {
    std::string why;
    if (closed.is_answered) closed.in.remove(folder_.get());
    if (closed.is_up || closed.is_ours) closed.out.end();
    closed.out.write(folder_.get(), &why);
  }
  if (closed.is_up && !link_to(closed.peer))
    events_.push_back({LinkEvent::Kind::down, closed.peer, {}});
}

void FolderLinks::close_those_that_are_over() {
  for (std::size_t i = links_.size(); i-- > 0;)
    if (links_[i].is_over) close(i);
}

// ---- bytes ----

void FolderLinks::write(std::int64_t now_ns) {
  for (Link& each : links_)
    if (!each.is_over && now_ns >= each.next_write_ns) write(&each, now_ns);
}

void FolderLinks::write(Link* link, std::int64_t now_ns) {
  if (!link->out.has_unsent()) {
    if (now_ns < link->next_look_ns) return;
    link->next_look_ns = now_ns + kLookAtWritten;
    link->is_over = !link->out.is_there(folder_.get());
    return;
  }
  std::string why;
  switch (link->out.write(folder_.get(), &why)) {
    case FileWriter::State::good:
      link->next_look_ns = now_ns + kLookAtWritten;
      link->reads.hurry(now_ns);  // there may be an answer soon
      if (std::exchange(link->is_late, false)) why_unreached_.clear();
      break;
    case FileWriter::State::late:
      link->is_late = true;
      link->next_write_ns = now_ns + kMostPace;
      why_unreached_ =
          "cannot write to server " + std::to_string(link->peer) + " in " + path_ + ": " + why;
      break;
    case FileWriter::State::gone:
      link->is_over = true;
  }
}

void FolderLinks::look_for_files(std::int64_t now_ns) {
  if (now_ns < looks_.next_ns) return;
  looks_.pass(now_ns);
  bool is_ours = false, is_of_another = false;
  const std::vector<std::string> names = names_in(folder_.get(), home());
  for (const std::string& name : names) {
    is_ours |= name == owner_;
    is_of_another |= name != owner_ && name.starts_with("owner.");
  }
  if (!is_ours && is_of_another) return be_replaced();
  if (!is_ours) {
    const std::string why = make_home(folder_.get());
    if (!why.empty()) why_unreached_ = why;
  }
  for (const std::string& name : names) look_at_file(name, now_ns);
}

// Later files of a link that is not known are left of one that is over.
void FolderLinks::look_at_file(const std::string& name, std::int64_t now_ns) {
  const std::optional<LinkFile> file = link_file(name);
  if (!file) return;
  if (Link* const link = link_of(file->id, !file->is_call)) {
    if (!link->is_answered) link->reads.hurry(now_ns - kLeastPace);
    link->is_answered = true;
  } else if (file->is_call && file->is_first) {
    links_.push_back({.peer = file->from,
                      .id = file->id,
                      .out = FileWriter(stream_name(file->from, settings_.self, file->id, "reply")),
                      .in = FileReader(stream_name(settings_.self, file->from, file->id, "call"),
                                       settings_.silence_ns)});
    looks_.hurry(now_ns);
  } else {
    unlinkat(folder_.get(), (home() + '/' + name).c_str(), 0);
  }
}

void FolderLinks::read(std::int64_t now_ns) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& each = links_[i];
    if (each.is_answered && !each.is_over && now_ns >= each.reads.next_ns) read(&each, now_ns);
  }
}

void FolderLinks::read(Link* link, std::int64_t now_ns) {
  std::vector<std::string> messages;
  std::string why;
  const FileReader::State state = link->in.read(folder_.get(), now_ns, &messages, &why);
  if (messages.empty()) {
    link->reads.pass(now_ns);
  } else {
    link->reads.hurry(now_ns);
  }
  for (std::string& each : messages) {
    if (link->is_over) return;
    if (!link->is_up) {
      link->is_over = !take_hello(link, each, now_ns);
    } else {
      events_.push_back({LinkEvent::Kind::message, link->peer, std::move(each)});
    }
  }
  if (state == FileReader::State::late)
    why_unreached_ =
        "cannot read of server " + std::to_string(link->peer) + " in " + path_ + ": " + why;
  link->is_over |= state != FileReader::State::good && state != FileReader::State::late;
}

bool FolderLinks::take_hello(Link* link, const std::string& message, std::int64_t now_ns) {
  const Hello own{settings_.self, link->peer, settings_.size, settings_.run};
  const std::string why = why_no_peer(hello_in(message), own);
  if (!why.empty()) {
    ++refused_;
    why_refused_ = "a file of server " + std::to_string(link->peer) + " in " + path_ + ": " + why;
    if (link->is_ours) why_unreached_ = why_refused_;
    return false;
  }
  if (!link->is_ours) {
    link->out.send(hello_text(own));
    write(link, now_ns);
  }
  for (Link& each : links_) each.is_over |= &each != link && each.is_up && each.peer == link->peer;
  link->is_up = true;
  pause_ns_ = kLeastRetry;
  if (link->is_ours) why_unreached_.clear();
  events_.push_back({LinkEvent::Kind::up, link->peer, {}});
  return true;
}

}  // namespace leat::comm
