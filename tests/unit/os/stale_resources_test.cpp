// SPDX-License-Identifier: Apache-2.0
// What killed servers leave behind goes; what belongs to a living one stays.
#include "lib/node/stale_resources.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "lib/node/output_folders.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/local_socket.hpp"
#include "tests/unit/os/lock_holder.hpp"
#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
using namespace node;
namespace {

namespace fs = std::filesystem;

const ProcessId kNobody{0x7ffffff0, 1};

class Leftovers : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    fs::create_directory(places_.runtime_folder);
    fs::create_directory(places_.shared_memory);
  }
  SessionFiles make_files(const std::string& session, const ProcessId& server = kNobody) const {
    const SessionFiles files = session_files(places_.runtime_folder, session);
    std::ofstream(files.live) << node::text_of({session, server});
    std::ofstream(files.socket) << "";
    return files;
  }
  std::string make_segment(const std::string& session, const ProcessId& maker) const {
    const std::string path = places_.shared_memory + "/" + node::text_of({session, maker});
    std::ofstream(path) << "data";
    return path;
  }
  std::set<std::string> left() const {
    std::set<std::string> names;
    for (const std::string& folder : {places_.runtime_folder, places_.shared_memory}) {
      for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().string());
    }
    return names;
  }
  Findings remove() const { return sweep(places_, Sweep::remove); }

  const SearchFolders places_{base_ + "/runtime", base_ + "/shm"};
};

TEST_F(Leftovers, OfADeadSessionAreRemovedAndALiveOneBesideIsNot) {
  const SessionFiles live = make_files("live");
  make_files("dead");
  make_segment("dead", kNobody);
  const std::string segment = make_segment("live", kNobody);
  LockHolder server(live.live), of_segment(segment);
  ASSERT_TRUE(server.holds() && of_segment.holds());
  const Findings found = remove();
  EXPECT_EQ(found.dead.size(), 3u);
  for (const StaleResource& each : found.dead) {
    EXPECT_EQ(each.session, "dead");
    EXPECT_EQ(each.problem, "");
  }
  ASSERT_EQ(found.alive.size(), 1u);
  EXPECT_EQ(found.alive[0].session, "live");
  EXPECT_EQ(found.alive[0].segment, segment);
  EXPECT_EQ(found.alive[0].bytes, 4u);
  EXPECT_EQ(left(), (std::set<std::string>{live.live, live.socket, segment}));

  server.end();
  of_segment.end();
  EXPECT_EQ(remove().dead.size(), 3u);
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, IncludeTheControlSocketOfTheDeadAlone) {
  const SessionFiles live = make_files("live"), dead = make_files("dead");
  for (const SessionFiles* each : {&live, &dead}) std::ofstream(each->control) << "";
  std::ofstream(session_files(places_.runtime_folder, "alone").control) << "";
  const LockHolder server(live.live);
  remove();
  EXPECT_EQ(left(), (std::set<std::string>{live.live, live.socket, live.control}));
}

TEST_F(Leftovers, DoNotIncludeASegmentThatMustStayNorWhatBelongsToIt) {
  make_files("killed");
  const std::string segment = make_segment("killed", kNobody),
                    name = node::text_of({"killed", kNobody});
  const SegmentFiles files = segment_files(places_.runtime_folder, stem_of(name));
  std::ofstream(files.journal) << "noted";
  bool stays = true;
  const MustStay asked = [&](const std::string& which) { return which == name && stays; };
  const Findings found = sweep(places_, Sweep::remove, asked);
  ASSERT_EQ(found.undrained.size(), 1u);
  EXPECT_EQ(found.undrained[0].segment, name);
  EXPECT_EQ(left(), (std::set<std::string>{segment, files.journal}));
  stays = false;
  EXPECT_EQ(sweep(places_, Sweep::look, asked).dead.size(), 2u);
  EXPECT_EQ(sweep(places_, Sweep::remove, asked).dead.size(), 2u);
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, AreOnlyNamedWhenOneOnlyLooks) {
  make_files("dead");
  make_segment("dead", kNobody);
  const std::set<std::string> before = left();
  const Findings found = sweep(places_, Sweep::look);
  EXPECT_EQ(found.dead.size(), 3u);
  EXPECT_EQ(left(), before);
}

TEST_F(Leftovers, OfASegmentWithoutRuntimeFilesAreFoundByItsName) {
  make_segment("orphan", kNobody);
  EXPECT_EQ(remove().dead.size(), 1u);
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, DoNotIncludeASegmentWhoseLockIsJustBeingShared) {
  const std::string path = make_segment("mine", kNobody);
  UniqueFd server = open_there(path);
  ASSERT_TRUE(lock_byte(server, kServerByte));
  EXPECT_TRUE(remove().dead.empty());
  EXPECT_EQ(left(), std::set<std::string>{path});
  server.reset();
  EXPECT_EQ(remove().dead.size(), 1u);
}

// A sweep of another runtime folder looks at all segments of the user, and removes only those.
TEST_F(Leftovers, AreRemovedAlsoWhenAnotherSweepLooksAtTheirSegment) {
  make_files("dead");
  const std::string segment = make_segment("dead", kNobody);
  const SegmentFiles files =
      segment_files(places_.runtime_folder, stem_of(node::text_of({"dead", kNobody})));
  std::ofstream(files.journal) << "noted";
  UniqueFd other = lock_file(segment, 0);
  ASSERT_TRUE(other);
  std::promise<void> begun;
  std::thread sweep_of_the_other([&] {
    begun.set_value();
    for (int i = 0; i < 20; ++i) pause_shortly();
    fs::remove(segment);
    other.reset();
  });
  begun.get_future().wait();
  EXPECT_TRUE(remove().alive.empty());
  sweep_of_the_other.join();
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, IncludeASegmentWithoutLocksWhoeverHasItsProcessIdNow) {
  make_segment("recycled", this_process());
  const Findings found = remove();
  EXPECT_TRUE(found.alive.empty());
  EXPECT_EQ(found.dead.size(), 1u);
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, OfASessionAreOrphanedWhileRanksLiveAndTheServerDoesNot) {
  const std::string name = node::text_of({"run", this_process()});
  EXPECT_EQ(orphaned_segment(places_, name)->name, "");
  const std::string path = make_segment("run", this_process());
  EXPECT_EQ(orphaned_segment(places_, name)->name, "");
  const UniqueFd rank = open_there(path);
  ASSERT_TRUE(lock_byte(rank, 0));
  Result<Orphan> orphan = orphaned_segment(places_, name);
  ASSERT_TRUE(orphan);
  EXPECT_EQ(orphan->name, name);
  EXPECT_EQ(orphaned_segment(places_, "")->name, "");
  EXPECT_EQ(orphaned_segment(places_, "../run")->name, "");
  EXPECT_EQ(orphaned_segment(places_, node::text_of({"run", kNobody}))->name, "");
}

TEST_F(Leftovers, AreOrphanedForOneSuccessorOnly) {
  const std::string name = node::text_of({"run", kNobody});
  const UniqueFd rank = open_there(make_segment("run", kNobody));
  ASSERT_TRUE(lock_byte(rank, 3));
  Result<Orphan> first = orphaned_segment(places_, name);
  ASSERT_TRUE(first && !first->name.empty());
  const Result<Orphan> second = orphaned_segment(places_, name, 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().status, Status::ERROR_TIMEOUT);
  first->lock.reset();
  EXPECT_EQ(orphaned_segment(places_, name)->name, name);
}

TEST(ProcessIds, AreThoseOfOneNamespace) {
  const ProcessId me = this_process();
  EXPECT_TRUE(lives(me));
  EXPECT_FALSE(lives({me.pid, me.start, me.space + 1}));
  EXPECT_FALSE(lives({me.pid, me.start - 1, me.space}));
  const std::string name = node::text_of({"run", me});
  EXPECT_EQ(own_segment_name(name)->maker.space, me.space);
  EXPECT_NE(name, node::text_of({"run", {me.pid, me.start, me.space + 1}}));
}

TEST(ProcessIds, OfAZombieDoNotLive) {
  const pid_t child = fork();
  if (child == 0) pause();
  std::ifstream stat_file("/proc/" + std::to_string(child) + "/stat");
  std::string word;
  for (int field = 0; field < 22; ++field) stat_file >> word;
  const ProcessId process{child, std::stoull(word)};
  EXPECT_TRUE(lives(process));
  kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(lives(process));
  waitpid(child, nullptr, 0);
}

TEST_F(Leftovers, DoNotIncludeASegmentThatAServerOfAnotherContainerHolds) {
  const std::string path = make_segment("elsewhere", kNobody);  // its pid means nothing here
  LockHolder server(path);
  ASSERT_TRUE(server.holds());
  EXPECT_TRUE(remove().dead.empty());
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(Leftovers, DoNotIncludeAServerThatHasOnlyItsLockYet) {
  const SessionFiles files = session_files(places_.runtime_folder, "starting");
  LockHolder server(files.live);
  ASSERT_TRUE(server.holds());
  const Findings found = remove();
  EXPECT_TRUE(found.dead.empty());
  ASSERT_EQ(found.alive.size(), 1u);
  EXPECT_EQ(found.alive[0].maker.pid, 0);
  EXPECT_TRUE(fs::exists(files.live));
}

TEST_F(Leftovers, DoNotIncludeASocketAtWhichSomebodyListens) {
  const SessionFiles files = make_files("tidied");
  const UniqueFd listener = *listen_at(files.socket);
  EXPECT_TRUE(remove().dead.empty());
  fs::remove(files.live);  // as those who tidy up /tmp do
  const Findings found = remove();
  EXPECT_TRUE(found.dead.empty());
  EXPECT_EQ(found.alive.size(), 1u);
  EXPECT_EQ(left(), std::set<std::string>{files.socket});
}

TEST_F(Leftovers, IncludeASocketThatIsAllThatIsLeft) {
  fs::remove(make_files("early").live);
  EXPECT_EQ(sweep(places_, Sweep::look).dead.size(), 1u);
  EXPECT_EQ(remove().dead.size(), 1u);
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, IncludeTheLockOfAStartThatWasKilled) {
  std::ofstream(session_files(places_.runtime_folder, "killed").lock) << "";
  const std::string starting = session_files(places_.runtime_folder, "starting").lock;
  LockHolder client(starting);
  ASSERT_TRUE(client.holds());
  EXPECT_EQ(remove().dead.size(), 1u);
  EXPECT_EQ(left(), std::set<std::string>{starting});
}

TEST_F(Leftovers, AreNothingThatHasNoNameOfLeats) {
  const std::string uid = std::to_string(geteuid());
  for (const std::string& name :
       {"leat-" + uid, "leat-" + uid + "-x", "leat-" + uid + "-x-12", "leat-" + uid + "-x-.5",
        "leat-" + uid + "--1.5", "leat-" + uid + "-x-1.5z", "leat-" + uid + "-x-1.5.6.7",
        "leat-" + std::to_string(geteuid() + 1) + "-x-1.5", std::string("sem.other")}) {
    std::ofstream(places_.shared_memory + "/" + name) << "mine";
  }
  std::ofstream(places_.runtime_folder + "/notes.txt") << "mine";
  std::ofstream(places_.runtime_folder + "/.live") << "mine";
  const std::set<std::string> before = left();
  EXPECT_TRUE(remove().dead.empty());
  EXPECT_EQ(left(), before);
  EXPECT_TRUE(sweep({base_ + "/nowhere", base_ + "/nowhere"}, Sweep::remove).dead.empty());
}

TEST_F(Leftovers, AreNotFollowedToAnotherPlace) {
  const std::string precious = base_ + "/precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, places_.shared_memory + "/" + node::text_of({"link", kNobody}));
  fs::create_symlink(precious, places_.runtime_folder + "/link.live");
  remove();
  EXPECT_TRUE(fs::exists(precious));
}

TEST_F(Leftovers, ThatAnotherUserPutThereAreNotTouched) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user's";
  const std::string path = make_segment("foreign", kNobody);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(remove().dead.empty());
  EXPECT_TRUE(fs::exists(path));
}

TEST(SegmentName, IsReadAsItWasWritten) {
  for (const char* session : {"a", "a-1.5", "alone-12-3456", "x.y_z-"}) {
    const auto name = own_segment_name(node::text_of({session, {123, 456}}));
    ASSERT_TRUE(name) << session;
    EXPECT_EQ(name->session, session);
    EXPECT_EQ(name->maker.pid, 123);
    EXPECT_EQ(name->maker.start, 456u);
  }
}

TEST_F(Leftovers, OfASpillFolderAreFoundByItsLinkAndOnlyWhatIsLeatsIsRemoved) {
  const std::string disk = base_ + "/disk";
  fs::create_directory(disk);
  make_files("dead");
  const std::string stem = stem_of(node::text_of({"dead", kNobody}));
  const std::string folder = disk + "/" + spill_folder_name(stem);
  const SegmentFiles of_segment = segment_files(places_.runtime_folder, stem);
  fs::create_directory(folder);
  fs::create_symlink(folder, of_segment.spill);
  std::ofstream(folder + "/" + spill_file_name(7)) << "data";
  std::ofstream(folder + "/" + spill_file_name(8, 1)) << "da";
  std::ofstream(folder + "/notes.txt") << "mine";
  EXPECT_EQ(sweep(places_, Sweep::look).dead.size(), 4u);
  bool seen = false;
  for (const StaleResource& each : remove().dead) {
    if (each.kind != "spill folder") continue;
    seen = true;
    EXPECT_EQ(each.bytes, 6u);
    EXPECT_NE(each.problem, "") << "there is a file of somebody else in it";
  }
  EXPECT_TRUE(seen);
  EXPECT_TRUE(fs::exists(folder + "/notes.txt"));
  EXPECT_TRUE(fs::is_symlink(of_segment.spill)) << "for the next one who tries";
  fs::remove(folder + "/notes.txt");
  remove();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, DoNotIncludeAFolderOfAnotherNameOrOneThatIsLocked) {
  const std::string disk = base_ + "/disk", other = disk + "/results";
  fs::create_directories(other);
  std::ofstream(other + "/" + spill_file_name(7)) << "data";
  make_files("dead");
  fs::create_symlink(
      other,
      segment_files(places_.runtime_folder, stem_of(node::text_of({"dead", kNobody}))).spill);
  remove();
  EXPECT_TRUE(fs::exists(other + "/" + spill_file_name(7)));
  EXPECT_TRUE(left().empty());

  const std::string busy = stem_of(node::text_of({"busy", kNobody}));
  const std::string link = segment_files(places_.runtime_folder, busy).spill;
  {
    const Result<SpillFolder> made = SpillFolder::make(disk, busy, link);
    ASSERT_TRUE(made) << made.error().message;
    std::ofstream(made->path() + "/" + spill_file_name(1)) << "data";
    remove();
    EXPECT_TRUE(fs::exists(made->path() + "/" + spill_file_name(1)));
    EXPECT_FALSE(SpillFolder::make(disk, busy, link + "2")) << "two sessions of one name";
  }
  EXPECT_FALSE(fs::exists(disk + "/" + spill_folder_name(busy)));
  EXPECT_TRUE(left().empty());
}

TEST_F(Leftovers, OfADeadSessionInItsSpillFolderAreGoneWhenItStartsAnew) {
  const std::string link = places_.runtime_folder + "/again.spill";
  const std::string folder = base_ + "/" + spill_folder_name("again");
  fs::create_directory(folder);
  std::ofstream(folder + "/" + spill_file_name(3)) << "old";
  const Result<SpillFolder> made = SpillFolder::make(base_, "again", link);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_NE(why_no_spill_folder(base_ + "/none"), "");
  EXPECT_EQ(why_no_spill_folder(base_), "");
}

}  // namespace
}  // namespace leat::os
