// SPDX-License-Identifier: Apache-2.0
#include "server/engine/published_by_ranks.hpp"

#include <set>
#include <string_view>
#include <utility>

#include "lib/model/checks.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostHead = 16 << 20;

// "" or what is wrong with a name.
std::string why_bad_names(const Publication& publication) {
  std::string why = model::why_no_product_name(publication.source);
  std::set<std::string> names;
  for (const Product& product : publication.products) {
    if (why.empty()) why = model::why_no_product_name(product.name);
    for (const std::string& dimension : product.dimensions)
      if (why.empty()) why = model::why_no_product_name(dimension);
    if (why.empty() && !names.insert(product.name).second)
      why = "product \"" + product.name + "\" is there twice";
  }
  return why;
}

}  // namespace

std::optional<Publication> published_by_rank(const shm::Segment& segment, const shm::Event& event,
                                             std::string* error) {
  const auto refuse = [error](std::string why) {
    *error = std::move(why);
    return std::nullopt;
  };
  if (event.bytes < sizeof(shm::BlockHeader)) return refuse("there is no header");
  const shm::BlockHeader header = *segment.at<shm::BlockHeader>(event.offset);
  const std::uint64_t bytes = event.bytes - sizeof header, head_bytes = event.subject;
  if (header.variable != shm::kProducts || header.block != event.subject ||
      header.data_bytes != bytes)
    return refuse("their header differs from their event");
  if (head_bytes > bytes || head_bytes > kMostHead)
    return refuse("their head has " + std::to_string(head_bytes) + " bytes");
  const char* const start = segment.at<char>(event.offset + sizeof header);
  json head;
  if (!parse_head(std::string(start, head_bytes), &head)) return refuse("their head is no JSON");
  Publication publication;
  publication.kind = member_of(head, "by_plugin") == true ? Publication::Source::plugin
                                                          : Publication::Source::script;
  publication.source = text_in(head, "source");
  publication.comes_again = true;
  publication.of_rank = member_of(head, "of_rank") == true;
  publication.iteration = integer_of(member_of(head, "iteration")).value_or(-1);
  if (publication.iteration < 0 || publication.iteration >= shm::kMostIterations)
    return refuse("they are of no iteration");
  publication.products = products_in(head, {start + head_bytes, bytes - head_bytes});
  const json& told = member_of(head, "arrays");
  if (publication.products.empty() || publication.products.size() != told.size())
    return refuse("the shape of one of them makes no sense");
  if (std::string why = why_bad_names(publication); !why.empty()) return refuse(std::move(why));
  return publication;
}

}  // namespace leat::server
