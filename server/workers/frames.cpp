// SPDX-License-Identifier: Apache-2.0
#include "server/workers/frames.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/os/descriptor.hpp"

namespace leat::server {
namespace {

// A worker that asks for more has lost its mind: no result of a script is so large.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 26;
// Heads are a few levels deep; copies and texts of deeper ones would need as much stack.
constexpr int kMostDepth = 16;
// Memory is taken as the bytes come, not as they are promised.
constexpr std::size_t kLeastRoom = std::size_t{1} << 20;

FrameStatus status_of(os::Arrived arrived) {
  switch (arrived) {
    case os::Arrived::all:
      return FrameStatus::frame;
    case os::Arrived::late:
      return FrameStatus::late;
    case os::Arrived::ended:
      return FrameStatus::ended;
  }
  return FrameStatus::ended;
}

FrameStatus receive_text(int socket, std::uint64_t bytes, std::string* text,
                         std::int64_t deadline_ns, const os::GivenUp& given_up) {
  text->clear();
  FrameStatus status = FrameStatus::frame;
  while (status == FrameStatus::frame && text->size() < bytes) {
    const std::size_t had = text->size();
    text->resize(std::min<std::uint64_t>(bytes, std::max(kLeastRoom, 2 * had)));
    status = status_of(
        os::receive_all(socket, text->data() + had, text->size() - had, deadline_ns, given_up));
  }
  return status;
}

}  // namespace

bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns,
                const os::GivenUp& given_up) {
  // Texts of the simulation may be in any encoding; JSON is in UTF-8.
  const std::string head =
      frame.head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  std::string start(reinterpret_cast<const char*>(lengths), sizeof lengths);
  start += head;
  return os::send_all(socket, start.data(), start.size(), deadline_ns, given_up) &&
         os::send_all(socket, frame.data.data(), frame.data.size(), deadline_ns, given_up);
}

bool parse_head(const std::string& text, nlohmann::json* head) {
  using Event = nlohmann::json::parse_event_t;
  bool too_deep = false;
  const auto shallow = [&](int depth, Event event, const nlohmann::json&) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMostDepth) too_deep = true;
    return !opens || depth < kMostDepth;
  };
  *head = nlohmann::json::parse(text, shallow, false);
  return !too_deep && head->is_object();
}

FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns,
                          const os::GivenUp& given_up) {
  std::uint64_t lengths[2] = {};
  FrameStatus status =
      status_of(os::receive_all(socket, lengths, sizeof lengths, deadline_ns, given_up));
  if (status != FrameStatus::frame) return status;
  if (lengths[0] > kMostHeadBytes || lengths[1] > kMostBytes) return FrameStatus::malformed;
  std::string head;
  status = receive_text(socket, lengths[0], &head, deadline_ns, given_up);
  if (status != FrameStatus::frame) return status;
  status = receive_text(socket, lengths[1], &frame->data, deadline_ns, given_up);
  if (status != FrameStatus::frame) return status;
  return parse_head(head, &frame->head) ? FrameStatus::frame : FrameStatus::malformed;
}

namespace {

using nlohmann::json;

std::optional<std::uint64_t> size_in(const json& object, const char* key) {
  const std::optional<std::int64_t> value = integer_of(member_of(object, key));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

// False when it is no list of what is wanted, or too long.
bool read_shape(const json& told, Product* product) {
  const json &dimensions = member_of(told, "dimensions"), &extents = member_of(told, "extents");
  if (dimensions.size() != extents.size() || extents.size() > kMaxDims) return false;
  if (extents.empty()) return true;
  if (!dimensions.is_array() || !extents.is_array()) return false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::optional<std::int64_t> extent = integer_of(extents[d]);
    if (!extent || *extent < 0 || !dimensions[d].is_string()) return false;
    product->extents.push_back(*extent);
    product->dimensions.push_back(dimensions[d].get<std::string>());
  }
  return true;
}

std::optional<Product> told_product(const json& told, std::string_view data) {
  const std::optional<ScalarType> type = scalar_from_name(text_in(told, "type"));
  const std::optional<std::uint64_t> offset = size_in(told, "offset"),
                                     bytes = size_in(told, "bytes");
  Product product;
  if (!type || !offset || !bytes || !read_shape(told, &product)) return std::nullopt;
  product.name = text_in(told, "name");
  product.unit = text_in(told, "unit");
  product.type = *type;
  product.bytes = *bytes;
  const bool inside = *offset <= data.size() && *bytes <= data.size() - *offset;
  if (!inside || !extents_make(product, *bytes)) return std::nullopt;
  product.data = data.data() + *offset;
  return product;
}

}  // namespace

const json& member_of(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::int64_t> integer_of(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

std::string text_in(const json& head, const char* key, const char* otherwise) {
  const json& value = member_of(head, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::int64_t number_in(const Frame& frame, const char* key) {
  return integer_of(member_of(frame.head, key)).value_or(0);
}

std::vector<Product> products_in(const json& head, std::string_view data) {
  std::vector<Product> products;
  const json& told = member_of(head, "arrays");
  if (!told.is_array()) return products;
  for (const json& each : told) {
    if (auto product = told_product(each, data)) products.push_back(std::move(*product));
  }
  return products;
}

void add_product(const Product& product, const std::string& name, std::size_t start, json* told,
                 std::string* data) {
  told->push_back({{"name", name},
                   {"type", scalar_name(product.type)},
                   {"unit", product.unit},
                   {"dimensions", product.dimensions},
                   {"extents", product.extents},
                   {"offset", data->size() - start},
                   {"bytes", product.bytes}});
  data->append(static_cast<const char*>(product.data), product.bytes);
}

}  // namespace leat::server
