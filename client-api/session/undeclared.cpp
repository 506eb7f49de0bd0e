// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/undeclared.hpp"

#include <algorithm>
#include <utility>

#include "client-api/api/leat_build.h"
#include "client-api/connect/last_error.hpp"

namespace leat::client {
namespace {

using shm::UndeclaredArrays;  // the words of the segment

constexpr std::size_t kHeadAlignment = 64;

bool is_in_object_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_object_name(std::string_view name) {
  return !name.empty() && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), is_in_object_names);
}

// A name with groups is one word in files: "/" is for theirs.
std::string name_in_files(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string quoted_name(std::string_view name) { return "\"" + std::string(name) + "\""; }

// `double (64, 32)`, as the caller calls it.
std::string array_in_words(ScalarType type, const std::int64_t* extents, std::uint32_t dims,
                           const CallersWords& words, bool is_callers) {
  const char* const type_name =
      is_callers && words.type_name ? words.type_name : familiar_name(type);
  return std::string(type_name) + " " + shape_text(extents, dims, words.column_major);
}

// OK, and the array's bytes; or why it has none.
Error count_bytes(std::string_view name, const ArrayView& view, const CallersWords& words,
                  std::uint64_t* bytes) {
  const std::string shape = shape_text(view.extent.data(), view.dims, words.column_major);
  *bytes = scalar_bytes(view.type);
  bool is_empty = false;
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    if (view.extent[d] < 0)
      return {Status::ERROR_ARGUMENT,
              quoted_name(name) + " is " + shape + ": an extent cannot be negative"};
    is_empty = is_empty || view.extent[d] == 0;
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(view.extent[d], 1));
    if (__builtin_mul_overflow(*bytes, extent, bytes) || *bytes > INT64_MAX)
      return {Status::ERROR_TOO_LARGE,
              quoted_name(name) + " is " + shape + ": more bytes than 63 bits can count"};
  }
  if (is_empty) *bytes = 0;
  if (!view.data && *bytes > 0)
    return {Status::ERROR_ARGUMENT, "the data of " + quoted_name(name) + " are NULL"};
  return {Status::OK, ""};
}

Error not_sound(const leat_array* array) {
  const std::string why =
      !array || array->struct_size < sizeof *array
          ? "the leat_array is NULL, or its struct_size is not sizeof(leat_array)"
      : array->dims < 0 || array->dims > LEAT_MAX_DIMS
          ? std::to_string(array->dims) + " dimensions: an array has 0 to " +
                std::to_string(LEAT_MAX_DIMS)
          : "the type " + std::to_string(array->type) + " is no leat_type";
  return {Status::ERROR_ARGUMENT, why};
}

// ", and cannot be: ..." or the lines that declare it.
std::string how_to_declare(const std::string& name, const ArrayView& view, bool column_major) {
  const std::string why = why_no_variable_name(name);
  if (!why.empty()) return ". Give it another name to declare it: " + why;
  return ". To declare it, put this into <data>: " + xml_of(name, view, column_major);
}

}  // namespace

std::string why_no_variable_name(std::string_view name) {
  if (name.size() > UndeclaredWriter::kLongestName)
    return "the name has " + std::to_string(name.size()) + " letters, and " +
           std::to_string(UndeclaredWriter::kLongestName) + " are the most";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (!is_object_name(name.substr(begin, end - begin)))
      return quoted_name(name) +
             " is no name of a variable: letters, digits, \"_\", \"-\" and \".\" are, and \"/\" "
             "behind the name of a group";
    begin = end + 1;
  }
  return "";
}

std::string xml_of(std::string_view name, const ArrayView& array, bool column_major) {
  const bool is_reversed = column_major && array.dims > 1;
  std::string dimensions;
  for (std::uint32_t d = 0; d < array.dims; ++d)
    dimensions +=
        (d ? "," : "") + std::to_string(array.extent[is_reversed ? array.dims - 1 - d : d]);
  std::string xml, behind;
  for (std::size_t end = 0; (end = name.find('/')) != std::string_view::npos;) {
    xml += "<group name=\"" + std::string(name.substr(0, end)) + "\">";
    behind += "</group>";
    name.remove_prefix(end + 1);
  }
  return xml + "<variable name=\"" + std::string(name) + "\" type=\"" + familiar_name(array.type) +
         "\" dimensions=\"" + dimensions + "\"" + (is_reversed ? " order=\"fortran\"" : "") + "/>" +
         behind;
}

UndeclaredWriter::UndeclaredWriter(Channel& channel, const VariableTable& variables,
                                   Failures& failures, ProductWriter& products, std::int32_t rank)
    : channel_(channel),
      variables_(variables),
      failures_(failures),
      products_(products),
      policy_(static_cast<shm::UndeclaredArrays>(channel.segment().header().undeclared)),
      drops_iterations_(channel.segment().header().overflow_policy ==
                        static_cast<std::uint32_t>(shm::OverflowPolicy::drop_iteration)),
      source_("undeclared@" + std::to_string(rank)) {}

Status UndeclaredWriter::lose(const Call& call, std::string_view name, const Error& error) {
  const Status status = failures_.complain(call, error, name);
  failures_.lose_unknown(name, shm::kNoVariable, error);
  return status;
}

Status UndeclaredWriter::write(const Call& call, const char* name, const leat_array* array) {
  if (!name) return lose(call, "", {Status::ERROR_ARGUMENT, "the array's name is NULL"});
  if (!is_sound(array)) return lose(call, name, not_sound(array));
  Given given{name, view_of(*array), {array->type_name, array->column_major != 0}};
  if (const Error wrong = count_bytes(name, given.view, given.words, &given.bytes);
      wrong.status != Status::OK)
    return lose(call, name, wrong);
  switch (policy_) {
    case UndeclaredArrays::accept:
      return accept(call, given);
    case UndeclaredArrays::warn:
    case UndeclaredArrays::ignore:
      break;
  }
  return drop(call, given);
}

// The message is there at each call, and in the log once.
Status UndeclaredWriter::drop(const Call& call, const Given& given) {
  ++dropped_;
  const bool is_first = is_new(given.name);
  if (policy_ == UndeclaredArrays::ignore) return Status::UNWANTED;
  const std::string why = "it is not stored, as undeclared=\"warn\" of <data> says";
  if (is_first) tell_once(call, given, why);
  store_error(std::string(call.name) + ": " + quoted_name(given.name) + " is not declared in " +
              variables_.config() + ": " + why);
  return Status::UNWANTED;
}

Status UndeclaredWriter::accept(const Call& call, const Given& given) {
  if (const Error refused = why_refused(given); refused.status != Status::OK)
    return lose(call, given.name, refused);
  const bool is_first = is_new(given.name);
  if (is_first) {
    Known& known = known_[name_in_files(given.name)];
    known.type = given.view.type;
    known.dims = given.view.dims;
    known.extent = given.view.extent;
  }
  const Status status = publish(call, given);
  if (is_first && status >= Status::OK)
    tell_once(call, given,
              "it is stored as it comes, in products/" + source_ + "/" + name_in_files(given.name));
  return status;
}

Error UndeclaredWriter::why_refused(const Given& given) const {
  if (std::string why = why_no_variable_name(given.name); !why.empty())
    return {Status::ERROR_ARGUMENT, std::move(why)};
  if (given.name == "iteration")
    return {Status::ERROR_ARGUMENT,
            "\"iteration\" is what files call the numbers of iterations: give it another name"};
  const auto found = known_.find(name_in_files(given.name));
  if (found == known_.end()) {
    if (known_.size() < kMostNames) return {Status::OK, ""};
    return {Status::ERROR_ARGUMENT,
            quoted_name(given.name) + " is one name more than the " + std::to_string(kMostNames) +
                " that a rank may have beside those of " + variables_.config() +
                ": is it made anew in each iteration?"};
  }
  const Known& known = found->second;
  if (known.name != given.name)
    return {Status::ERROR_ARGUMENT, quoted_name(given.name) + " and " + quoted_name(known.name) +
                                        " would have the same name in files, " +
                                        quoted_name(found->first) + ": rename one"};
  const bool is_like_it = known.dims == given.view.dims &&
                          std::equal(known.extent.begin(), known.extent.begin() + known.dims,
                                     given.view.extent.begin());
  if (is_like_it && known.type == given.view.type) return {Status::OK, ""};
  return {is_like_it ? Status::ERROR_TYPE : Status::ERROR_SHAPE,
          quoted_name(given.name) + " was " +
              array_in_words(known.type, known.extent.data(), known.dims, given.words, false) +
              " when this rank first wrote it, got " +
              array_in_words(given.view.type, given.view.extent.data(), given.view.dims,
                             given.words, true) +
              ": declare it in " + variables_.config() +
              ", with \"?\" for dimensions that change; this array is not stored"};
}

bool UndeclaredWriter::is_new(const std::string& name) {
  std::string key = name_in_files(name);
  if (known_.size() >= kMostNames) return false;
  const auto [at, is_first] = known_.try_emplace(std::move(key));
  if (is_first) at->second.name = name;
  return is_first;
}

void UndeclaredWriter::tell_once(const Call& call, const Given& given,
                                 const std::string& what_becomes_of_it) {
  if (told_ > kMostTold) return;
  std::string text = std::string(call.name) + ": ";
  if (++told_ <= kMostTold)
    text += quoted_name(given.name) + " is not declared in " + variables_.config() + ": " +
            what_becomes_of_it + how_to_declare(given.name, given.view, given.words.column_major);
  else
    text += "there are more than " + std::to_string(kMostTold) + " names that " +
            variables_.config() + " does not declare: from here on they are not listed";
  failures_.mention("undeclared " + given.name, text, shm::kIsWarning);
}

void UndeclaredWriter::tell_dropped(const Call& call) noexcept try {
  if (dropped_ == 0) return;
  const auto counted = [](std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  failures_.mention("undeclared",
                    std::string(call.name) + ": " + counted(dropped_, "array") + " of " +
                        (known_.size() == kMostNames ? "more than " : "") +
                        counted(known_.size(), "name") + " that " + variables_.config() +
                        " does not declare " + (dropped_ == 1 ? "is" : "are") + " not stored",
                    shm::kIsNote);
} catch (const std::bad_alloc&) {
  return;
}

// See server/engine/published_by_ranks.hpp. No letter of a name needs an escape.
std::string UndeclaredWriter::head_of(const Given& given) const {
  const std::string name = name_in_files(given.name);
  std::string dimensions, extents;
  for (std::uint32_t d = 0; d < given.view.dims; ++d) {
    const std::string comma = d ? "," : "";
    dimensions += comma + quoted_name(name + "@" + std::to_string(d));  // no array has such a name
    extents += comma + std::to_string(given.view.extent[d]);
  }
  std::string head =
      "{\"source\":" + quoted_name(source_) +
      ",\"by_plugin\":true,\"of_rank\":true,\"iteration\":" + std::to_string(channel_.iteration()) +
      ",\"arrays\":[{\"name\":" + quoted_name(name) + ",\"type\":\"" +
      scalar_name(given.view.type) + "\",\"unit\":\"\",\"dimensions\":[" + dimensions +
      "],\"extents\":[" + extents + "],\"offset\":0,\"bytes\":" + std::to_string(given.bytes) +
      "}]}";
  head.resize((head.size() + kHeadAlignment - 1) / kHeadAlignment * kHeadAlignment, ' ');
  return head;
}

Status UndeclaredWriter::publish(const Call& call, const Given& given) {
  const std::int64_t iteration = channel_.iteration();
  if (channel_.is_dropped(iteration)) return Status::DROPPED;
  void* data = nullptr;
  Status status = products_.alloc(call, head_of(given), given.bytes, &data);
  if (status == Status::OK) {
    if (given.bytes > 0) pack(data, given.view);
    ProductWriter::Place place;
    status = products_.commit(call, data, &place);
  }
  any_since_end_ = any_since_end_ || status == Status::OK || drops_iterations_;
  if (status == Status::OK) return channel_.is_dropped(iteration) ? Status::DROPPED : Status::OK;
  if (status == Status::DROPPED) return status;
  if (status == Status::ERROR_TIMEOUT) status = Status::ERROR_FULL;
  if (status == Status::ERROR_FULL && drops_iterations_) return channel_.drop(iteration);
  const WantedBlock wanted{given.name, given.bytes, variables_.config()};
  return lose(call, given.name, explain_no_memory(status, wanted, channel_));
}

}  // namespace leat::client
