// SPDX-License-Identifier: Apache-2.0
// leat.h for Python: buffers become leat_array, errors become statuses that client.py raises. The
// interpreter's lock is let go in every call that may copy or wait. Calls whose arguments need only
// be translated are made of the table of calls.
#define LEAT_NO_TYPE_CHECK
#include <leat_build.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

// Letters of Python's struct module and of PEP 3118; 0 for what Leat does not store, other byte
// orders among it.
int type_of(const std::string& format, py::ssize_t bytes) {
  std::string letters = format;
  const bool little = letters.empty() || letters[0] != '>';
  letters.erase(std::remove_if(letters.begin(), letters.end(),
                               [](char c) { return c == '<' || c == '=' || c == '@' || c == '|'; }),
                letters.end());
  if (!little || letters.empty()) return 0;
  const int log2 = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
  if (letters == "Zf") return LEAT_TYPE_COMPLEX64;
  if (letters == "Zd") return LEAT_TYPE_COMPLEX128;
  if (letters == "f") return LEAT_TYPE_FLOAT32;
  if (letters == "d") return LEAT_TYPE_FLOAT64;
  if ((letters == "c" || letters == "s" || letters == "1s") && bytes == 1) return LEAT_TYPE_CHAR;
  if (letters.size() != 1 || log2 < 0) return 0;
  if (std::string("bhilq").find(letters[0]) != std::string::npos) return LEAT_TYPE_INT8 + log2;
  if (std::string("BHILQ?").find(letters[0]) != std::string::npos) return LEAT_TYPE_UINT8 + log2;
  return 0;
}

const char* dtype_of(int type) {
  static const char* const names[] = {"",   "i1", "i2", "i4", "i8", "u1",  "u2",
                                      "u4", "u8", "f4", "f8", "c8", "c16", "S1"};
  return names[type];
}

leat_array array_of(const char* verb, const std::string& variable, const py::buffer_info& info,
                    const std::string& type_name) {
  leat_array array{};
  array.struct_size = sizeof array;
  array.data = info.ptr;
  array.type = type_of(info.format, info.itemsize);
  array.dims = static_cast<std::int32_t>(info.ndim);
  array.type_name = type_name.c_str();
  for (py::ssize_t d = 0; d < std::min<py::ssize_t>(info.ndim, LEAT_MAX_DIMS); ++d) {
    array.extent[d] = info.shape[static_cast<std::size_t>(d)];
    array.stride[d] = info.strides[static_cast<std::size_t>(d)];
  }
  if (array.type == 0)
    throw py::type_error(std::string("leat.") + verb + ": \"" + variable +
                         "\": Leat does not store elements of type " + type_name);
  return array;
}

// leat_write_array, or leat_read_array for memory that may be written.
int with_array(leat_status (*call)(const char*, std::uint32_t, const leat_array*), const char* verb,
               const std::string& variable, const py::buffer_info& info, std::uint32_t block,
               const std::string& type_name) {
  const leat_array array = array_of(verb, variable, info, type_name);
  const py::gil_scoped_release unlocked;
  return call(variable.c_str(), block, &array);
}

int write_array(const std::string& variable, const py::buffer& data, std::uint32_t block,
                const std::string& type_name) {
  return with_array(leat_write_array, "write", variable, data.request(), block, type_name);
}

int write_any(const std::string& name, const py::buffer& data, const std::string& type_name) {
  const auto call = [](const char* its, std::uint32_t, const leat_array* array) {
    return leat_write_any_array(its, array);
  };
  return with_array(call, "write_any", name, data.request(), 0, type_name);
}

int read_array(const std::string& variable, const py::buffer& data, std::uint32_t block,
               const std::string& type_name) {
  return with_array(leat_read_array, "read", variable, data.request(true), block, type_name);
}

// The same of several.
int with_arrays(bool writes, const std::string& variables, const std::vector<py::buffer>& data,
                const std::vector<std::string>& type_names) {
  std::vector<py::buffer_info> infos;
  std::vector<leat_array> arrays;
  for (const py::buffer& each : data) {
    infos.push_back(each.request(!writes));
    arrays.push_back(array_of(writes ? "write_all" : "read_all", variables, infos.back(),
                              type_names[arrays.size()]));
  }
  const auto call = writes ? leat_write_arrays : leat_read_arrays;
  const py::gil_scoped_release unlocked;
  return call(variables.c_str(), arrays.data(), static_cast<std::int32_t>(arrays.size()));
}

// (status, array or None): the array is the segment's memory and does not own it.
py::tuple alloc(const std::string& variable, std::uint32_t block) {
  leat_array array{};
  array.struct_size = sizeof array;
  leat_status status;
  {
    const py::gil_scoped_release unlocked;
    status = leat_alloc_array(variable.c_str(), block, &array);
  }
  if (status != LEAT_OK) return py::make_tuple(static_cast<int>(status), py::none());
  const std::vector<py::ssize_t> shape(array.extent, array.extent + array.dims);
  const std::vector<py::ssize_t> strides(array.stride, array.stride + array.dims);
  const py::capsule nobody(array.data, [](void*) {});  // a base makes NumPy borrow instead of copy
  return py::make_tuple(
      0, py::array(py::dtype(dtype_of(array.type)), shape, strides, array.data, nobody));
}

// The calls of a leat_group in Python. What one of them raises may not pass through libleat: the
// first is kept for the end.
struct Group {
  py::function arrive, broadcast, least, node, divide;
  std::optional<py::error_already_set> raised;

  template <class Call>
  static void guarded(void* context, Call call) {
    const py::gil_scoped_acquire locked;
    auto& group = *static_cast<Group*>(context);
    if (group.raised) return;
    try {
      call(group);
    } catch (py::error_already_set& error) {
      group.raised.emplace(std::move(error));
    }
  }
};

int32_t arrive(void* context, int32_t begin) {
  int32_t done = 1;  // after an error nobody waits
  Group::guarded(context, [&](Group& group) { done = group.arrive(begin).cast<int32_t>(); });
  return done;
}

void broadcast(void* context, void* data, int32_t bytes, int32_t root) {
  Group::guarded(context, [&](Group& group) {
    group.broadcast(py::memoryview::from_memory(data, bytes), root);
  });
}

void least(void* context, int64_t* value) {
  Group::guarded(context, [&](Group& group) { *value = group.least(*value).cast<int64_t>(); });
}

void take_place(const py::object& given, int32_t* rank, int32_t* size) {
  const auto place = given.cast<std::pair<int32_t, int32_t>>();
  *rank = place.first;
  *size = place.second;
}

void node(void* context, int32_t* rank, int32_t* size) {
  *rank = 0, *size = 1;
  Group::guarded(context, [&](Group& group) { take_place(group.node(), rank, size); });
}

void divide(void* context, int32_t server, int32_t* rank, int32_t* size) {
  *rank = 0, *size = 1;
  Group::guarded(context, [&](Group& group) { take_place(group.divide(server), rank, size); });
}

leat_group group_of(Group& calls, int rank, int size) {
  leat_group group{};
  group.struct_size = sizeof group;
  group.context = &calls;
  group.rank = rank;
  group.size = size;
  group.arrive = arrive;
  group.broadcast = broadcast;
  group.least = least;
  group.node = node;
  group.divide = divide;
  return group;
}

py::tuple split_group(const std::string& config, int rank, int size, py::function arrive_call,
                      py::function broadcast_call, py::function least_call, py::function node_call,
                      py::function divide_call) {
  Group calls{std::move(arrive_call), std::move(broadcast_call), std::move(least_call),
              std::move(node_call),   std::move(divide_call),    {}};
  const leat_group group = group_of(calls, rank, size);
  int32_t divided = 0;
  leat_status status = LEAT_OK;
  {
    const py::gil_scoped_release unlocked;
    status = leat_split_group(config.c_str(), &group, &divided);
  }
  if (calls.raised) throw std::move(*calls.raised);
  return py::make_tuple(static_cast<int>(status), divided != 0);
}

int init_group(const std::string& config, int rank, int size, py::function arrive_call,
               py::function broadcast_call, py::function least_call, py::function node_call) {
  Group calls{std::move(arrive_call),
              std::move(broadcast_call),
              std::move(least_call),
              std::move(node_call),
              {},
              {}};
  const leat_group group = group_of(calls, rank, size);
  leat_status status = LEAT_OK;
  {
    const py::gil_scoped_release unlocked;
    status = leat_init_group(config.c_str(), &group);
  }
  if (calls.raised) throw std::move(*calls.raised);
  return status;
}

// (status, value or None): None after an error, and with LEAT=off, when no iteration has a number.
template <class Value>
py::tuple given(leat_status status, const Value& value) {
  const bool there = status == LEAT_OK && leat_iteration() >= 0;
  return py::make_tuple(static_cast<int>(status), there ? py::cast(value) : py::none());
}

py::tuple get_string(const std::string& parameter) {
  std::uint64_t bytes = 0;
  leat_status status = leat_get_string(parameter.c_str(), nullptr, 0, &bytes);
  std::string text(static_cast<std::size_t>(bytes) + 1, '\0');
  if (bytes > 0) status = leat_get_string(parameter.c_str(), &text[0], bytes, nullptr);
  return given(status, std::string(text.c_str()));
}

using Unlocked = py::gil_scoped_release;
using Numbers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

template <class L>
struct List {
  L list;
  operator const L*() const { return &list; }
};

// What an argument of a call of C is made of. void: such calls are written by hand.
template <class C>
using Taken = std::conditional_t<
    std::is_arithmetic_v<C>, C,
    std::conditional_t<
        std::is_same_v<C, const char*>, std::string,
        std::conditional_t<std::is_same_v<C, const leat_list*>, Numbers,
                           std::conditional_t<std::is_same_v<C, const leat_reals*>, Reals, void>>>>;

template <class Number>
Number given_to_c(Number taken) {
  return taken;
}
const char* given_to_c(const std::string& taken) { return taken.c_str(); }
List<leat_list> given_to_c(const Numbers& taken) {
  return {{sizeof(leat_list), taken.data(), static_cast<std::int32_t>(taken.size()), 0}};
}
List<leat_reals> given_to_c(const Reals& taken) {
  return {{sizeof(leat_reals), taken.data(), static_cast<std::int32_t>(taken.size()), 0}};
}

// A status, of a call with the arguments of C in their order.
template <class... C>
void define(py::module_& module, const char* name, leat_status (*call)(C...)) {
  if constexpr (!(std::is_void_v<Taken<C>> || ...)) {
    module.def(
        name,
        [call](const Taken<C>&... taken) { return static_cast<int>(call(given_to_c(taken)...)); },
        py::call_guard<Unlocked>());
  }
}

// (status, value), of a call that fills something. It waits for nobody.
template <class Value>
void define_filling(py::module_& module, const char* name,
                    leat_status (*call)(const char*, Value*)) {
  module.def(name, [call](const std::string& subject) {
    Value value{};
    const leat_status status = call(subject.c_str(), &value);
    return given(status, value);
  });
}
void define(py::module_& module, const char* name,
            leat_status (*call)(const char*, std::int64_t*)) {
  define_filling(module, name, call);
}
void define(py::module_& module, const char* name, leat_status (*call)(std::int64_t*)) {
  module.def(name, [call] {
    std::int64_t value = 0;
    const leat_status status = [&] {
      const Unlocked unlocked;
      return call(&value);
    }();
    return given(status, value);
  });
}
void define(py::module_& module, const char* name, leat_status (*call)(const char*, double*)) {
  define_filling(module, name, call);
}

void define_calls(py::module_& module) {
#define LEAT_CALL(off, name, function, arguments, by_hand, purpose) \
  define(module, #name, leat_##function);
#include <leat_calls.def>
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  define_calls(module);
  module.attr("SERVED") = static_cast<int>(LEAT_SERVED);
  module.attr("UNWANTED") = static_cast<int>(LEAT_UNWANTED);
  module.def("init_group", init_group);
  module.def("split_group", split_group);
  module.def("memory_node", [] { return leat_memory_node(); });
  module.def(
      "split_end", [] { return static_cast<int>(leat_split_end()); }, py::call_guard<Unlocked>());
  module.def("write", write_array);
  module.def("write_any", write_any);
  module.def("read", read_array);
  module.def("with_arrays", with_arrays);
  module.def("alloc", alloc);
  module.def("iteration", [] { return leat_iteration(); });
  module.def("get_string", get_string);
  module.def("last_error", [] { return std::string(leat_last_error()); });
  module.def("status_name", [](int status) {
    return std::string(leat_status_name(static_cast<leat_status>(status)));
  });
}
