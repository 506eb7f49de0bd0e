// SPDX-License-Identifier: Apache-2.0
// The C boundary: one guard turns everything into a status and a message.

#define LEAT_NO_TYPE_CHECK
#include "client-api/api/leat.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <thread>
#include <type_traits>

#include "client-api/api/leat_build.h"
#include "client-api/connect/last_error.hpp"
#include "client-api/connect/ranks.hpp"
#include "client-api/connect/split.hpp"
#include "client-api/session/session.hpp"
#include "client-api/session/several.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/cores.hpp"

namespace {

// leat.h and leat_build.h declare what calls.def has; a call that is missing there does not compile.
#define LEAT_OTHER(result, function, arguments)                              \
  static_assert(std::is_same_v<decltype(leat_##function), result arguments>, \
                "leat_" #function " is declared otherwise than in calls.def");
#define LEAT_C_CALL(off, function, arguments) LEAT_OTHER(leat_status, function, arguments)
#define LEAT_CALL(off, name, function, arguments, by_hand, purpose) \
  LEAT_OTHER(leat_status, function, arguments)
#include "client-api/api/calls.def"

using leat::Result;
using leat::Status;
using leat::client::BlockWriter;
using leat::client::BusyMark;
using leat::client::Call;
using leat::client::each_array;
using leat::client::Handle;
using leat::client::handle;
using leat::client::is_switched_off;
using leat::client::Lock;
using leat::client::NumberList;
using leat::client::Ranks;
using leat::client::RealList;
using leat::client::ServersMeet;
using leat::client::Session;

leat_status to_c(Status status) { return static_cast<leat_status>(status); }

// What a message is made of may be what there is no memory for.
Status fail_unexpected(const char* function) noexcept try {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return leat::client::fail_without_memory();
  } catch (const std::exception& e) {
    return leat::client::fail(Status::ERROR_INTERNAL, std::string(function) + ": " + e.what(),
                              function);
  } catch (...) {
    return leat::client::fail(Status::ERROR_INTERNAL, "unknown exception", function);
  }
} catch (...) {
  return leat::client::fail_without_memory();
}

Status of_a_child(const Handle& the, const char* function) {
  return leat::client::fail(
      Status::ERROR_STATE,
      std::string(function) + ": this process was forked from process " +
          std::to_string(the.parent) +
          ", whose session goes on there; only the process that called leat_init may call Leat",
      function);
}

bool is_write(const std::string& call) {
  return call.starts_with("leat_write") || call.starts_with("leat_commit");
}

Status after_failed_init(leat::client::FailedInit& failed, const char* function) {
  ++failed.calls;
  if (is_write(function)) ++failed.writes;
  return leat::client::fail_quietly(
      Status::ERROR_STATE,
      std::string(function) + ": called after " + failed.call + " had failed: " + failed.why,
      false);
}

Status no_session(Handle& the, const char* function) {
  if (the.parent != 0) return of_a_child(the, function);
  if (!the.failed_init.call.empty()) return after_failed_init(the.failed_init, function);
  return leat::client::fail(Status::ERROR_STATE,
                            std::string(function) + ": called " +
                                (the.was_finalized ? "after leat_finalize" : "before leat_init"),
                            "no session");
}

Status finalize_nothing(Handle& the, const char* function) {
  const std::string text =
      the.parent == 0 ? leat::client::tell_unstored(the, std::string(function) + ": ") : "";
  if (text.empty()) return no_session(the, function);
  const bool lost = the.failed_init.writes > 0;
  return leat::client::fail_quietly(lost ? Status::ERROR_LOST : Status::ERROR_STATE, text, false);
}

// Before any leat_init, or switched off.
[[gnu::noinline]] leat_status without_session(const char* function) noexcept {
  if (is_switched_off()) return LEAT_OK;
  try {
    return to_c(no_session(handle(), function));
  } catch (...) {
    return to_c(fail_unexpected(function));
  }
}

// Runs `body(session, call)` with the lock held; every exported function that needs a session goes
// through here.
template <class Body>
leat_status guarded(const char* function, Body body) noexcept {
  Handle* const used = leat::client::used_handle.load(std::memory_order_acquire);
  if (!used) return without_session(function);
  try {
    Handle& the = *used;
    Lock lock(the.mutex);
    if (!the.session) return to_c(no_session(the, function));
    // Declared after the lock: the mark is taken away while the lock is still held.
    const BusyMark mark(the);
    Call call{function, lock};
    return to_c(body(*the.session, call));
  } catch (...) {
    return to_c(fail_unexpected(function));
  }
}

// Switched off it fills nothing, and says so.
template <class Body>
leat_status guarded_read(const char* function, Body body) noexcept {
  return is_switched_off() ? LEAT_UNWANTED : guarded(function, body);
}

// For calls that are made around others, by any thread and whether there is a session or not: nothing is done for threads
// that have not opened it, and they do not wait.
template <class Body>
leat_status if_in_own_session(Body body) noexcept {
  Handle* const used = leat::client::used_handle.load(std::memory_order_acquire);
  if (!used || used->opener.load(std::memory_order_relaxed) != std::this_thread::get_id())
    return LEAT_OK;
  const Lock lock(used->mutex);
  if (used->session) body(*used->session);
  return LEAT_OK;
}

// Only one thread opens a session; the others are told so.
class OpeningMark {
 public:
  explicit OpeningMark(Handle& the) : the_(the) {
    const Lock lock(the_.mutex);
    mine_ = !the_.session && !the_.opening;
    if (mine_) the_.opening = true;
  }
  ~OpeningMark() {
    const Lock lock(the_.mutex);
    if (mine_) the_.opening = false;
  }
  bool is_mine() const { return mine_; }

 private:
  Handle& the_;
  bool mine_ = false;
};

bool all_ranks_of_a_node_have(Status status) {
  return status == Status::ERROR_CONFIG || status == Status::ERROR_MEMORY ||
         status == Status::ERROR_SERVER || status == Status::ERROR_VERSION;
}

using MakeRanks = std::function<Result<Ranks>()>;
using Opened = Result<std::unique_ptr<Session>>;

Status init_has_failed(Handle& the, const char* function, const leat::Error& error, bool speaks,
                       bool is_mine) {
  if (is_mine) {
    const Lock lock(the.mutex);
    (void)leat::client::tell_unstored(the, "");  // since the one before
    the.failed_init = {function, error.message, speaks, getpid(), 0, 0, false};
    leat::client::notice_exit();
  }
  return leat::client::fail_quietly(error.status, std::string(function) + ": " + error.message,
                                    speaks);
}

Status begin_session(Handle& the, std::unique_ptr<Session> session) {
  const Ranks& ranks = session->ranks();
  leat::client::set_message_rank(ranks.size > 1 ? ranks.rank : -1);
  leat::client::forget_printed();
  the.session = std::move(session);
  the.opener.store(std::this_thread::get_id(), std::memory_order_relaxed);
  if (the.session->hosts_server()) leat::client::notice_exit();
  (void)leat::client::tell_unstored(the, "");
  the.failed_init = {};
  the.split.pending = false;
  the.was_finalized = the.awaits_idle = false;
  the.was_open = true;
  return Status::OK;
}

// Whatever goes wrong is an error: in a group, this rank has still to say so to the others.
Opened open_session(Handle& the, const char* config, const Result<Ranks>& ranks, bool is_mine,
                    bool meets) noexcept {
  try {
    if (!config) return leat::Error{Status::ERROR_ARGUMENT, "the config path is NULL"};
    if (!leat::client::notices_forks()) return leat::Error{Status::ERROR_SYSTEM, "out of memory"};
    if (!is_mine)
      return leat::Error{Status::ERROR_STATE, "already initialised; call leat_finalize first"};
    if (!ranks) return ranks.error();
    const std::int64_t since_ns =
        the.was_open ? leat::node::boot_time_ns() : leat::node::began_ns();
    return Session::open(config, *ranks, since_ns, the.split.happened, meets);
  } catch (const std::exception& e) {
    return leat::Error{Status::ERROR_SYSTEM, e.what()};
  }
}

// Servers that do not know each other yet do from here on.
void introduce_servers(const leat_group& group, Session& session) {
  std::string offers = leat::client::gather_offers(group, session.offer());
  if (!offers.empty()) session.introduce(std::move(offers));
}

// Of a session that other ranks have none of: they do not come any more.
void close_again(Handle& the, const char* function, std::unique_ptr<Session> session) {
  Lock lock(the.mutex);
  Call call{function, lock};
  session->detach(call);
}

leat_status init(const char* function, const char* config, const MakeRanks& make_ranks,
                 const leat_group* group = nullptr) noexcept {
  Handle& the = handle();
  try {
    if (the.parent != 0) return to_c(of_a_child(the, function));
    const OpeningMark opening(the);
    const Result<Ranks> ranks = leat::client::in_split(the.split, make_ranks);
    Opened opened = open_session(the, config, ranks, opening.is_mine(), group != nullptr);
    leat::Error error = opened ? leat::Error{Status::OK, ""} : opened.error();
    bool speaks = ranks && (ranks->node_rank == 0 || !all_ranks_of_a_node_have(error.status));
    if (!group && !(ranks && config && opening.is_mine()))
      (void)leat::client::number_of_kind(error.status, function, &speaks);
    auto meet = opened && (*opened)->offer().number != 0 ? ServersMeet::yes : ServersMeet::no;
    const bool agreed = group && leat::client::agree_on(*group, &error, &speaks, &meet);
    if (agreed && meet == ServersMeet::yes) introduce_servers(*group, **opened);
    if (error.status == Status::OK) {
      const Lock lock(the.mutex);
      return to_c(begin_session(the, std::move(*opened)));
    }
    if (opened) close_again(the, function, std::move(*opened));
    const Status status = init_has_failed(the, function, error, speaks, opening.is_mine());
    if (agreed) leat::client::await_printed(*group);
    return to_c(status);
  } catch (...) {
    return to_c(fail_unexpected(function));
  }
}

Result<Ranks> ranks_from(const leat_ranks* given) {
  if (!given || given->struct_size < sizeof(leat_ranks)) {
    return leat::Error{Status::ERROR_ARGUMENT,
                       "leat_ranks is NULL, or its struct_size is not sizeof(leat_ranks)"};
  }
  Ranks ranks{given->rank, given->size, given->node_rank, given->node_size,
              given->session ? given->session : ""};
  return leat::client::complete_ranks(std::move(ranks));
}

leat_status alloc(const char* function, const char* variable, uint32_t block, void** data) {
  if (is_switched_off())
    return to_c(leat::client::alloc_without_server(function, variable, block, data));
  return guarded(function, [&](Session& session, Call& call) {
    return session.blocks().alloc(call, variable, block, data);
  });
}

leat_status commit(const char* function, const char* variable, uint32_t block) {
  if (is_switched_off()) return to_c(leat::client::commit_without_server(variable, block));
  return guarded(function, [&](Session& session, Call& call) {
    return session.blocks().commit(call, variable, block);
  });
}

NumberList list_of(const leat_list* list) {
  if (!list || list->struct_size < sizeof *list) return {};
  return {list->numbers, std::max(list->count, 0), list->column_major != 0};
}

using SetNumbers = Status (BlockWriter::*)(const Call&, const char*, std::uint32_t,
                                           const NumberList&);

leat_status set_numbers(const char* function, SetNumbers set, const char* variable, uint32_t block,
                        const NumberList& numbers) {
  return guarded(function, [&](Session& session, Call& call) {
    return (session.blocks().*set)(call, variable, block, numbers);
  });
}

leat_status set_level(const char* mesh, uint32_t block, int32_t level, const NumberList& position) {
  return guarded("leat_set_level", [&](Session& session, Call& call) {
    return session.meshes().set_level(call, mesh, block, level, position);
  });
}

}  // namespace

extern "C" {

LEAT_API leat_status leat_init(const char* config) {
  if (is_switched_off()) return LEAT_OK;
  return init(__func__, config, [] { return leat::client::ranks_from_environment(); });
}

LEAT_API leat_status leat_init_ranks(const char* config, const leat_ranks* ranks) {
  if (is_switched_off()) return LEAT_OK;
  return init(__func__, config, [ranks] { return ranks_from(ranks); });
}

LEAT_API leat_status leat_split_group(const char* config, const leat_group* group,
                                      int32_t* divided) {
  if (divided) *divided = 0;
  if (is_switched_off()) return LEAT_OK;
  try {
    // "leat_split" is what users call.
    Handle& the = handle();
    const bool is_initialised = [&the] {
      const Lock lock(the.mutex);
      return the.session || the.opening;
    }();
    return to_c(leat::client::split("leat_split", {the.split, the.mutex, is_initialised}, config,
                                    group, divided));
  } catch (...) {
    return to_c(fail_unexpected("leat_split"));
  }
}

LEAT_API leat_status leat_init_group(const char* config, const leat_group* group) {
  static constexpr char kName[] = "leat_init_mpi";  // is what users call
  try {
    if (!group || group->struct_size < offsetof(leat_group, plugins))
      return to_c(
          leat::client::fail(Status::ERROR_ARGUMENT,
                             std::string(kName) + ": the group is NULL, or of another version"));
    if (is_switched_off()) return leat::client::take_part(*group), LEAT_OK;
    const std::string why = leat::client::why_unfit(handle().split, group->rank, group->size);
    if (!why.empty())
      return to_c(leat::client::fail(Status::ERROR_STATE, kName + (": " + why), "unfit"));
  } catch (...) {
    return to_c(fail_unexpected(kName));
  }
  return init(
      kName, config, [group] { return leat::client::ranks_of(*group); }, group);
}

LEAT_API int32_t leat_memory_node(void) {
  try {
    return leat::os::memory_node_of(leat::os::current_affinity());
  } catch (...) {
    return 0;  // no memory is left, which others say
  }
}

LEAT_API leat_status leat_split_end(void) {
  Handle* const used = leat::client::used_handle.load(std::memory_order_acquire);
  if (!used || !used->split.happened || used->split.served || used->parent != 0) return LEAT_OK;
  const bool is_open = [used] {
    const Lock lock(used->mutex);
    return used->session != nullptr;
  }();
  if (!is_open && !used->split.pending) return LEAT_OK;
  if (!is_open && leat_init(used->split.config.c_str()) != LEAT_OK) return LEAT_ERROR_SERVER;
  return leat_finalize();
}

LEAT_API leat_status leat_finalize(void) {
  if (is_switched_off()) return LEAT_OK;
  try {
    Handle& the = handle();
    std::unique_ptr<Session> session;
    {
      Lock lock(the.mutex);
      if (!the.session) return to_c(finalize_nothing(the, __func__));
      the.awaits_idle = true;
      the.idle.wait(lock, [&the] { return the.busy == 0; });  // each of them waits a bounded time
      if (!the.session) return to_c(no_session(the, __func__));  // another thread was faster
      session = std::move(the.session);
      the.was_finalized = true;
      Call call{__func__, lock};
      session->detach(call);
    }
    return to_c(session->await_drained(__func__));
  } catch (...) {
    return to_c(fail_unexpected(__func__));
  }
}

LEAT_API leat_status leat_write(const char* variable, const void* data) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.blocks().write(call, variable, 0, data);
  });
}

LEAT_API leat_status leat_write_block(const char* variable, uint32_t block, const void* data) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.blocks().write(call, variable, block, data);
  });
}

LEAT_API leat_status leat_write_typed(const char* variable, uint32_t block, const void* data,
                                      int32_t type) {
  // What leat_write and leat_write_block are where types are checked.
  return guarded("leat_write", [&](Session& session, Call& call) {
    return session.blocks().write(call, variable, block, data, type);
  });
}

LEAT_API leat_status leat_write_any_array(const char* name, const leat_array* array) {
  return guarded("leat_write_any", [&](Session& session, Call& call) {
    return session.write_any(call, name, array);
  });
}

LEAT_API leat_status leat_write_any(const char* name, const void* data, int32_t type, int32_t ndim,
                                    const int64_t* extents) {
  const leat_array array = leat::client::array_in_c_order(data, type, ndim, extents);
  return guarded(__func__, [&](Session& session, Call& call) {
    if (!extents && ndim > 0) return session.refuse_extents(call, name);
    return session.write_any(call, name, &array);
  });
}

LEAT_API leat_status leat_alloc(const char* variable, void** data) {
  return alloc(__func__, variable, 0, data);
}

LEAT_API leat_status leat_alloc_block(const char* variable, uint32_t block, void** data) {
  return alloc(__func__, variable, block, data);
}

LEAT_API leat_status leat_write_array(const char* variable, uint32_t block,
                                      const leat_array* array) {
  // Other languages call it leat_write, and so do their users' messages.
  return guarded("leat_write", [&](Session& session, Call& call) {
    return session.blocks().write_array(call, variable, block, array);
  });
}

LEAT_API leat_status leat_write_arrays(const char* variables, const leat_array* arrays,
                                       int32_t count) {
  // Other languages call it so.
  return guarded("leat_write_all", [&](Session& session, Call& call) {
    const auto write = [&](const char* name, const leat_array* array) {
      return session.blocks().write_array(call, name, 0, array);
    };
    return each_array(call, session.failures(), variables, arrays, count, true, write);
  });
}

LEAT_API leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array) {
  if (is_switched_off()) {
    // Nobody has read the XML, so nobody knows its type and shape.
    if (array) array->data = nullptr;
    return LEAT_UNWANTED;
  }
  return guarded("leat_alloc", [&](Session& session, Call& call) {
    return session.blocks().alloc_array(call, variable, block, array);
  });
}

LEAT_API leat_status leat_read(const char* variable, void* data) {
  return guarded_read(__func__, [&](Session& session, Call& call) {
    return session.checkpoints().read(call, variable, 0, data);
  });
}

LEAT_API leat_status leat_read_block(const char* variable, uint32_t block, void* data) {
  return guarded_read(__func__, [&](Session& session, Call& call) {
    return session.checkpoints().read(call, variable, block, data);
  });
}

LEAT_API leat_status leat_read_typed(const char* variable, uint32_t block, void* data,
                                     int32_t type) {
  return guarded_read("leat_read", [&](Session& session, Call& call) {
    return session.checkpoints().read(call, variable, block, data, type);
  });
}

LEAT_API leat_status leat_read_array(const char* variable, uint32_t block,
                                     const leat_array* array) {
  return guarded_read("leat_read", [&](Session& session, Call& call) {
    return session.checkpoints().read_array(call, variable, block, array);
  });
}

LEAT_API leat_status leat_read_arrays(const char* variables, const leat_array* arrays,
                                      int32_t count) {
  return guarded_read("leat_read_all", [&](Session& session, Call& call) {
    const auto read = [&](const char* name, const leat_array* array) {
      return session.checkpoints().read_array(call, name, 0, array);
    };
    return each_array(call, session.failures(), variables, arrays, count, false, read);
  });
}

LEAT_API leat_status leat_restart_step(int64_t* iteration) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.restart_step(call, iteration);
  });
}

LEAT_API leat_status leat_commit(const char* variable) { return commit(__func__, variable, 0); }

LEAT_API leat_status leat_commit_block(const char* variable, uint32_t block) {
  return commit(__func__, variable, block);
}

LEAT_API leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent) {
  return set_numbers(__func__, &BlockWriter::set_extent, variable, block, {extent});
}

LEAT_API leat_status leat_set_position(const char* variable, uint32_t block,
                                       const int64_t* position) {
  return set_numbers(__func__, &BlockWriter::set_position, variable, block, {position});
}

LEAT_API leat_status leat_set_extent_list(const char* variable, uint32_t block,
                                          const leat_list* extent) {
  return set_numbers("leat_set_extent", &BlockWriter::set_extent, variable, block, list_of(extent));
}

LEAT_API leat_status leat_set_position_list(const char* variable, uint32_t block,
                                            const leat_list* position) {
  const NumberList list = list_of(position);
  return set_numbers("leat_set_position", &BlockWriter::set_position, variable, block, list);
}

LEAT_API leat_status leat_set_level(const char* mesh, uint32_t block, int32_t level,
                                    const int64_t* position) {
  return set_level(mesh, block, level, {position});
}

LEAT_API leat_status leat_set_level_list(const char* mesh, uint32_t block, int32_t level,
                                         const leat_list* position) {
  return set_level(mesh, block, level, list_of(position));
}

LEAT_API leat_status leat_end_iteration(void) {
  return guarded(__func__,
                 [](Session& session, Call& call) { return session.end_iteration(call); });
}

LEAT_API int64_t leat_iteration(void) {
  if (is_switched_off()) return -1;
  Handle& the = handle();
  const Lock lock(the.mutex);
  return the.session ? the.session->iteration() : -1;
}

LEAT_API leat_status leat_start_at(int64_t iteration) {
  return guarded(__func__,
                 [&](Session& session, Call& call) { return session.start_at(call, iteration); });
}

LEAT_API leat_status leat_begin_iteration(int64_t iteration) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.begin_iteration(call, iteration);
  });
}

LEAT_API leat_status leat_count(const char* variable, int64_t* count) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.blocks().count(call, variable, count);
  });
}

LEAT_API leat_status leat_signal(const char* event) {
  return guarded(__func__, [&](Session& s, Call& call) { return s.signals().signal(call, event); });
}

LEAT_API leat_status leat_idle_begin(const char* site) {
  return if_in_own_session([site](Session& s) { s.idle_phases().begin(site ? site : ""); });
}

LEAT_API leat_status leat_idle_end(void) {
  return if_in_own_session([](Session& s) { s.idle_phases().end(); });
}

LEAT_API leat_status leat_after_collective(int32_t ranks) {
  return if_in_own_session([ranks](Session& s) { s.collectives().passed(ranks); });
}

LEAT_API leat_status leat_set_int(const char* parameter, int64_t value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().set_integer(call, parameter, value);
  });
}

LEAT_API leat_status leat_set_ints(const char* parameters, const int64_t* values) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().set_integers(call, parameters, {values});
  });
}

LEAT_API leat_status leat_set_ints_list(const char* parameters, const leat_list* values) {
  return guarded("leat_set_ints", [&](Session& session, Call& call) {
    return session.parameters().set_integers(call, parameters, list_of(values));
  });
}

LEAT_API leat_status leat_set_double(const char* parameter, double value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().set_real(call, parameter, value);
  });
}

LEAT_API leat_status leat_set_doubles(const char* parameters, const double* values) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().set_reals(call, parameters, {values});
  });
}

LEAT_API leat_status leat_set_doubles_list(const char* parameters, const leat_reals* values) {
  const bool is_there = values && values->struct_size >= sizeof *values;
  return guarded("leat_set_doubles", [&](Session& session, Call& call) {
    return session.parameters().set_reals(
        call, parameters, is_there ? RealList{values->numbers, values->count} : RealList{});
  });
}

LEAT_API leat_status leat_set_string(const char* parameter, const char* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().set_text(call, parameter, value ? value : "");
  });
}

LEAT_API leat_status leat_get_int(const char* parameter, int64_t* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().get_integer(call, parameter, value);
  });
}

LEAT_API leat_status leat_get_double(const char* parameter, double* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().get_real(call, parameter, value);
  });
}

LEAT_API leat_status leat_get_string(const char* parameter, char* text, uint64_t size,
                                     uint64_t* needed) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.parameters().get_text(call, parameter, text, size, needed);
  });
}

LEAT_API leat_status leat_wanted(const char* variable) {
  if (is_switched_off()) return LEAT_UNWANTED;
  return guarded(__func__,
                 [&](Session& s, Call& call) { return s.blocks().wanted(call, variable); });
}

}  // extern "C"
