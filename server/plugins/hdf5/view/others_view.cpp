// SPDX-License-Identifier: Apache-2.0
// What is no variable: parameters and other things that each part has for all nodes, of which the
// view shows the first; and what a node has of its own, /parts/<part>/...
#include <algorithm>

#include "server/plugins/hdf5/base/parts.hpp"
#include "server/plugins/hdf5/conventions/ledger.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kSmall = 64ull * 1024;

bool has_rows(const Part& part, const std::string& name, hid_t dataset) {
  if (extents_of(dataset).empty()) return false;
  const std::vector<std::string> scales = scales_of(dataset, 0);
  return name == part.rows_name ||
         std::find(scales.begin(), scales.end(), part.rows_name) != scales.end();
}

bool is_dimension_only(hid_t dataset) { return is_scale(dataset) && !has_coordinates(dataset); }

// A dimension of a group remains there.
std::string name_with_group(hid_t like, unsigned d) {
  const std::vector<std::string> scales = scales_of(like, d);
  const bool is_in_group = !scales.empty() && scales[0].find('/') != std::string::npos;
  return is_in_group ? scales[0] : dimension_name(like, d);
}

// For each row the first part that has it. Texts are as long as each part had them first.
void add_row_dataset(View& view, const std::string& name, std::size_t first) {
  const Id like = open_dataset(view.parts[widest_part(view, name, first)].file, name);
  Shape extents = extents_of(like);
  VirtualPlan plan = plan_for(view, name, name, extents);
  for (const Shape& source : plan.source_extents) {
    for (std::size_t d = 1; d < std::min(source.size(), extents.size()); ++d)
      extents[d] = std::max(extents[d], source[d]);
  }
  extents[0] = view.rows.size();
  plan.extents = extents;
  MappingList list;
  for (hsize_t row = 0; row < view.rows.size(); ++row) {
    for (std::size_t part = 0; part < view.parts.size(); ++part) {
      const std::int64_t from = view.rows.in_part(part, row);
      const Shape& source = plan.source_extents[part];
      if (from < 0 || source.size() != extents.size() || static_cast<hsize_t>(from) >= source[0])
        continue;
      const Shape rest = behind(source);
      list.add({part, joined(static_cast<hsize_t>(from), zeros(rest)), joined(1, rest),
                joined(row, zeros(rest)), joined(1, rest)});
      break;
    }
  }
  plan.mappings = list.all();
  create_virtual(view.file, plan, like);
  std::vector<DimensionName> names;
  for (std::size_t d = 1; d < extents.size(); ++d)
    names.push_back({name_with_group(like, static_cast<unsigned>(d)), extents[d]});
  name_dimensions(view, name, true, names);
}

void map_whole(View& view, std::size_t part, const std::string& source, const std::string& name,
               hsize_t rows) {
  const Id like = open_dataset(view.parts[part].file, source);
  Shape extents = extents_of(like);
  if (extents.empty()) return copy_whole(view.parts[part].file, source, view.file, name);
  extents[0] = std::min(extents[0], rows);
  VirtualPlan plan = plan_for(view, name, source, extents);
  plan.mappings.push_back({part, zeros(extents), extents, zeros(extents), extents});
  create_virtual(view.file, plan, like);
}

void add_as_it_is(View& view, const std::string& name, std::size_t part) {
  const Id like = open_dataset(view.parts[part].file, name);
  const Shape extents = extents_of(like);
  const std::uint64_t bytes = product(extents) * H5Tget_size(Id(H5Dget_type(like), name));
  if (bytes <= kSmall) {
    copy_whole(view.parts[part].file, name, view.file, name);
  } else {
    map_whole(view, part, name, name, H5S_UNLIMITED);
  }
  std::vector<DimensionName> names;
  for (unsigned d = 0; d < extents.size(); ++d) {
    const std::string wish = dimension_name(like, d);
    if (wish.empty()) return;
    names.push_back({wish, extents[d]});
  }
  if (!is_scale(like)) name_dimensions(view, name, false, names);
}

void add_other(View& view, const std::string& name, std::size_t part) {
  const Id dataset = open_dataset(view.parts[part].file, name);
  if (has_rows(view.parts[part], name, dataset)) return add_row_dataset(view, name, part);
  if (!is_dimension_only(dataset)) add_as_it_is(view, name, part);
}

// Of a script or plugin: rows that its own list of iterations does not have are not there yet.
void add_products(View& view, std::size_t part, const std::string& group,
                  const std::vector<std::string>& datasets) {
  const std::string to = "parts/" + view.parts[part].name + "/";
  const std::string iteration = group + "/iteration";
  const Id numbers = open_dataset(view.parts[part].file, iteration);
  const hsize_t rows = extents_of(numbers)[0];
  for (const std::string& name : datasets) {
    const Id source = open_dataset(view.parts[part].file, name);
    const bool grows = name == iteration || (!is_scale(source) && !extents_of(source).empty());
    map_whole(view, part, name, to + name, grows ? rows : H5S_UNLIMITED);
    if (is_scale(source)) make_scale(open_dataset(view.file, to + name), scale_title(source));
  }
  for (const std::string& name : datasets) {
    const Id source = open_dataset(view.parts[part].file, name);
    if (!is_scale(source)) copy_scales(source, open_dataset(view.file, to + name), view.file, to);
  }
}

// What a script or plugin has made is in the pieces of a server one after the other: in the view it is one group, of the only server where it
// would be without pieces.
class JoinedProducts {
 public:
  JoinedProducts(View& view, std::string group, std::string to)
      : view_(view), group_(std::move(group)), to_(std::move(to)) {}

  void add_piece(std::size_t part) {
    pieces_.push_back({part, rows_});
    rows_ += extents_in(view_.parts[part].file, group_ + "/iteration")[0];
  }

  void make() {
    make_virtual("iteration");
    make_scale(open_dataset(view_.file, to_ + "/iteration"), "iteration");
    std::set<std::string> names;
    for (const Piece& piece : pieces_) {
      for (const std::string& path : datasets_in(view_.parts[piece.part].file, group_)) {
        const std::string name = path.substr(group_.size() + 1);
        const bool is_result =
            name != "iteration" && !is_scale(open_dataset(view_.parts[piece.part].file, path));
        if (is_result && names.insert(name).second) make_virtual(name);
      }
    }
  }

 private:
  struct Piece {
    std::size_t part;
    hsize_t first_row;
  };

  // Of one number of dimensions; else it is in its piece alone.
  void make_virtual(const std::string& name) {
    const std::string source = group_ + "/" + name;
    VirtualPlan plan = plan_for(view_, to_ + "/" + name, source, {});
    std::size_t first = view_.parts.size();
    for (const auto& [part, row] : pieces_) {
      const Shape& extents = plan.source_extents[part];
      if (extents.empty()) continue;
      if (first == view_.parts.size()) first = part, plan.extents = extents;
      if (extents.size() != plan.extents.size()) continue;
      for (std::size_t d = 1; d < extents.size(); ++d)
        plan.extents[d] = std::max(plan.extents[d], extents[d]);
      const Shape rest = behind(extents);
      const hsize_t rows =
          std::min(extents[0], extents_in(view_.parts[part].file, group_ + "/iteration")[0]);
      plan.mappings.push_back(
          {part, zeros(extents), joined(rows, rest), joined(row, zeros(rest)), joined(rows, rest)});
    }
    plan.extents[0] = rows_;
    const Id like = open_dataset(view_.parts[first].file, source);
    create_virtual(view_.file, plan, like);
    if (name != "iteration") name_dimensions_of(plan, like);
  }

  void name_dimensions_of(const VirtualPlan& plan, hid_t like) {
    const std::string what = "cannot name a dimension of " + plan.name;
    const Id made = open_dataset(view_.file, plan.name);
    attach_scale(made, 0, open_dataset(view_.file, to_ + "/iteration"), what);
    for (unsigned d = 1; d < plan.extents.size(); ++d) {
      const std::string wished = to_ + "/" + dimension_name(like, d);
      std::string name = wished;
      for (int number = 2; is_in(view_.file, name); ++number) {
        const Id there = open_dataset(view_.file, name);
        if (is_scale(there) && extents_of(there) == Shape{plan.extents[d]}) break;
        name = wished + "_" + std::to_string(number);
      }
      make_dimension(view_.file, name, plan.extents[d], true);
      attach_scale(made, d, open_dataset(view_.file, name), what);
    }
  }

  View& view_;
  std::string group_, to_;
  std::vector<Piece> pieces_;
  hsize_t rows_ = 0;
};

// What scripts and plugins of a node made is that node's.
constexpr const char* kProductRoots[] = {"scripts", "products"};

bool is_product(const std::string& path) {
  return std::any_of(std::begin(kProductRoots), std::end(kProductRoots),
                     [&](const char* root) { return path.rfind(std::string(root) + "/", 0) == 0; });
}

}  // namespace

void add_others(View& view) {
  for (std::size_t part = 0; part < view.parts.size(); ++part) {
    for (const std::string& name : own_datasets_in(view.parts[part])) {
      if (is_product(name) || !view.done.insert(name).second) continue;
      if (!is_in(view.file, name)) add_other(view, name, part);
    }
  }
}

namespace {

// Of all servers together: a server that has several parts says it in one of them.
struct Losses {
  std::map<std::int64_t, std::int64_t> of_server;  // by first rank
  std::map<std::int64_t, std::string> silent;
};

Losses losses_of(const std::vector<Part>& parts) {
  Losses all;
  for (const Part& part : parts) {
    // Of pieces the last one says it, maybe of a run that has gone on.
    if (part.is_piece) all.of_server.erase(part.first_rank), all.silent.erase(part.first_rank);
    if (const std::optional<std::int64_t> here = losses_of(part)) {
      std::int64_t& said = all.of_server[part.first_rank];
      said = std::max(said, *here);
    } else {
      all.silent.emplace(part.first_rank, part.name);
    }
  }
  for (const auto& [server, lost] : all.of_server) all.silent.erase(server);
  return all;
}

}  // namespace

namespace {

// Where a view has what belongs to the server of a part.
std::string place_of_server(const Part& part) {
  if (!part.is_piece) return "parts/" + part.name + "/";
  if (part.node_ranks == part.ranks && part.succession == 0) return "";
  return "parts/" + server_of_part(part.path) + "/";
}

// Of the last piece, as of one file that was gone on with.
bool is_followed(const View& view, std::size_t part) {
  return view.parts[part].is_piece && part + 1 < view.parts.size() &&
         place_of_server(view.parts[part]) == place_of_server(view.parts[part + 1]);
}

std::string place_of_ledger(const View& view, const Part& part) {
  const std::string place = place_of_server(part);
  return place.empty() ? view.scales.take_name(view.scales.in_own_group("ledger"))
                       : place + "ledger";
}

}  // namespace

void add_nodes(View& view) {
  std::map<std::string, JoinedProducts> joined;  // by where they are to be
  for (std::size_t part = 0; part < view.parts.size(); ++part) {
    const hid_t file = view.parts[part].file;
    std::map<std::string, std::vector<std::string>> groups;
    for (const std::string root : kProductRoots) {
      for (const std::string& name : datasets_in(file, root))
        groups[name.substr(0, name.find('/', root.size() + 1))].push_back(name);
    }
    for (const auto& [group, datasets] : groups) {
      const std::string to = place_of_server(view.parts[part]) + group;
      if (view.parts[part].is_piece)
        joined.try_emplace(to, view, group, to).first->second.add_piece(part);
      else
        add_products(view, part, group, datasets);
    }
    const std::string name = name_of_ledger(file);
    if (name.empty()) continue;
    view.done.insert(name);
    if (!is_followed(view, part))
      write_ledger_text(view.file, place_of_ledger(view, view.parts[part]),
                        ledger_text(file, name));
  }
  for (auto& [to, products] : joined) products.make();
  const Losses losses = losses_of(view.parts);
  if (losses.of_server.empty()) return;  // the run goes on, or all of it was killed
  std::int64_t lost = 0;
  std::string silent;
  for (const auto& [server, here] : losses.of_server) lost += here;
  for (const auto& [server, name] : losses.silent) silent += (silent.empty() ? "" : ", ") + name;
  if (silent.empty()) return set_attribute(view.file, "lost", lost);
  set_attribute(view.file, "leat_not_closed", silent);
}

}  // namespace leat::hdf5
