// SPDX-License-Identifier: Apache-2.0
// The C boundary: one guard turns everything into a status and a message.
#include "client-api/leat.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "client-api/last_error.hpp"
#include "client-api/session.hpp"

namespace {

using leat::Result;
using leat::Status;
using leat::client::Call;
using leat::client::Lock;
using leat::client::Ranks;
using leat::client::Session;

#define LEAT_STATUS(name, value, meaning) \
  static_assert(LEAT_##name == value, "leat.h differs from lib/base/status.def");
#include "lib/base/status.def"
#undef LEAT_STATUS

// The one session handle. Never destroyed: a thread may still be in a call when the process ends.
struct Handle {
  std::mutex mutex;
  std::condition_variable idle;
  std::unique_ptr<Session> session;
  int busy = 0;  // calls in progress, some of them waiting or copying without the lock
  bool opening = false;
  bool was_finalized = false;
};

Handle& handle() {
  static Handle* const the_handle = new Handle;
  return *the_handle;
}

bool switched_off() {
  static const bool off = [] {
    const char* value = std::getenv("LEAT");
    return value && std::strcmp(value, "off") == 0;
  }();
  return off;
}

leat_status to_c(Status status) { return static_cast<leat_status>(status); }

Status fail_unexpected(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return leat::client::fail(Status::ERROR_SYSTEM, "out of memory", function);
  } catch (const std::exception& e) {
    return leat::client::fail(Status::ERROR_INTERNAL, std::string(function) + ": " + e.what(),
                              function);
  } catch (...) {
    return leat::client::fail(Status::ERROR_INTERNAL, "unknown exception", function);
  }
}

Status no_session(const Handle& the, const char* function) {
  const char* why = the.was_finalized ? "called after leat_finalize"
                                      : "called before leat_init, or after it had failed";
  return leat::client::fail(Status::ERROR_STATE, std::string(function) + ": " + why, function);
}

class BusyMark {
 public:
  explicit BusyMark(Handle& the) : the_(the) { ++the_.busy; }
  ~BusyMark() {
    if (--the_.busy == 0) the_.idle.notify_all();
  }

 private:
  Handle& the_;
};

// Runs `body(session, call)` with the lock held; every exported function that needs a session goes
// through here.
template <class Body>
leat_status guarded(const char* function, Body body) noexcept {
  if (switched_off()) return LEAT_OK;
  try {
    Handle& the = handle();
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

Status open_session(Handle& the, const char* function, const char* config,
                    const Result<Ranks>& ranks) {
  if (!ranks) {
    return leat::client::fail(ranks.error().status,
                              std::string(function) + ": " + ranks.error().message, function);
  }
  Result<std::unique_ptr<Session>> session = Session::open(config, *ranks);
  const Lock lock(the.mutex);
  if (!session) {
    return leat::client::fail_quietly(session.error().status,
                                      std::string(function) + ": " + session.error().message,
                                      ranks->node_rank == 0);
  }
  leat::client::set_message_rank(ranks->size > 1 ? ranks->rank : -1);
  leat::client::forget_printed();
  the.session = std::move(*session);
  the.was_finalized = false;
  return Status::OK;
}

template <class MakeRanks>
leat_status init(const char* function, const char* config, MakeRanks make_ranks) noexcept {
  if (switched_off()) return LEAT_OK;
  Handle& the = handle();
  try {
    if (!config) {
      return to_c(leat::client::fail(Status::ERROR_ARGUMENT,
                                     std::string(function) + ": the config path is NULL"));
    }
    const OpeningMark opening(the);
    if (!opening.is_mine()) {
      return to_c(leat::client::fail(
          Status::ERROR_STATE,
          std::string(function) + ": already initialised; call leat_finalize first", function));
    }
    return to_c(open_session(the, function, config, make_ranks()));
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
  if (switched_off()) {
    // Nobody has read the XML, so nobody knows how much memory that would be.
    if (data) *data = nullptr;
    return LEAT_UNWANTED;
  }
  return guarded(function, [&](Session& session, Call& call) {
    return session.alloc(call, variable, block, data);
  });
}

leat_status commit(const char* function, const char* variable, uint32_t block) {
  return guarded(function, [&](Session& session, Call& call) {
    return session.commit(call, variable, block);
  });
}

}  // namespace

extern "C" {

LEAT_API leat_status leat_init(const char* config) {
  return init(__func__, config, [] { return leat::client::ranks_from_environment(); });
}

LEAT_API leat_status leat_init_ranks(const char* config, const leat_ranks* ranks) {
  return init(__func__, config, [ranks] { return ranks_from(ranks); });
}

LEAT_API leat_status leat_finalize(void) {
  if (switched_off()) return LEAT_OK;
  try {
    Handle& the = handle();
    std::unique_ptr<Session> session;
    {
      Lock lock(the.mutex);
      if (!the.session) return to_c(no_session(the, __func__));
      the.idle.wait(lock, [&the] { return the.busy == 0; });  // each of them waits a bounded time
      if (!the.session) return to_c(no_session(the, __func__));  // another thread was faster
      session = std::move(the.session);
      the.was_finalized = true;
      Call call{__func__, lock};
      session->detach(call);
    }
    return to_c(session->await_farewell(__func__));
  } catch (...) {
    return to_c(fail_unexpected(__func__));
  }
}

LEAT_API leat_status leat_write(const char* variable, const void* data) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.write(call, variable, 0, data);
  });
}

LEAT_API leat_status leat_write_block(const char* variable, uint32_t block, const void* data) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.write(call, variable, block, data);
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
    return session.write_array(call, variable, block, array);
  });
}

LEAT_API leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array) {
  if (switched_off()) {
    if (array) array->data = nullptr;
    return LEAT_UNWANTED;
  }
  return guarded("leat_alloc", [&](Session& session, Call& call) {
    return session.alloc_array(call, variable, block, array);
  });
}

LEAT_API leat_status leat_commit(const char* variable) { return commit(__func__, variable, 0); }

LEAT_API leat_status leat_commit_block(const char* variable, uint32_t block) {
  return commit(__func__, variable, block);
}

LEAT_API leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.set_extent(call, variable, block, extent);
  });
}

LEAT_API leat_status leat_set_position(const char* variable, uint32_t block,
                                       const int64_t* position) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.set_position(call, variable, block, position);
  });
}

LEAT_API leat_status leat_end_iteration(void) {
  return guarded(__func__,
                 [](Session& session, Call& call) { return session.end_iteration(call); });
}

LEAT_API int64_t leat_iteration(void) {
  if (switched_off()) return -1;
  Handle& the = handle();
  const Lock lock(the.mutex);
  return the.session ? the.session->iteration() : -1;
}

LEAT_API leat_status leat_set_int(const char* parameter, int64_t value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.set_integer(call, parameter, value);
  });
}

LEAT_API leat_status leat_set_double(const char* parameter, double value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.set_real(call, parameter, value);
  });
}

LEAT_API leat_status leat_set_string(const char* parameter, const char* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.set_text(call, parameter, value ? value : "");
  });
}

LEAT_API leat_status leat_get_int(const char* parameter, int64_t* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.get_integer(call, parameter, value);
  });
}

LEAT_API leat_status leat_get_double(const char* parameter, double* value) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.get_real(call, parameter, value);
  });
}

LEAT_API leat_status leat_get_string(const char* parameter, char* text, uint64_t size,
                                     uint64_t* needed) {
  return guarded(__func__, [&](Session& session, Call& call) {
    return session.get_text(call, parameter, text, size, needed);
  });
}

LEAT_API leat_status leat_wanted(const char* variable) {
  if (switched_off()) return LEAT_UNWANTED;
  return guarded(__func__,
                 [&](Session& session, Call& call) { return session.wanted(call, variable); });
}

LEAT_API const char* leat_last_error(void) { return leat::client::last_error(); }

LEAT_API const char* leat_status_name(leat_status status) {
  switch (static_cast<int>(status)) {
#define LEAT_STATUS(name, value, meaning) \
  case value:                             \
    return "LEAT_" #name;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "not a leat_status";
}

}  // extern "C"
