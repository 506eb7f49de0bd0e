// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

#include <algorithm>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/vtkhdf/field.hpp"

namespace leat::hdf5::vtk {
namespace {

std::vector<std::optional<hsize_t>> places_from(hsize_t first, Array* array,
                                                const std::vector<Step>& steps) {
  std::vector<std::optional<hsize_t>> places;
  for (hsize_t step = first; step < steps.size(); ++step)
    places.push_back(array->place(steps[step].row));
  return places;
}

// In any step but the first `before` ones, in which it was not.
bool is_at_any(Array* array, const std::vector<Step>& steps, hsize_t before) {
  const auto first =
      steps.begin() + static_cast<std::ptrdiff_t>(std::min<hsize_t>(before, steps.size() - 1));
  return std::any_of(first, steps.end(), [&](const Step& step) { return array->is_at(step.row); });
}

}  // namespace

Mesh::Mesh(const Target& target, const Host& host, std::uint32_t number)
    : target_(target),
      host_(host),
      mesh_(*leat_mesh_at(&target.run, number)),
      vectors_(vectors_on(target.run, mesh_)),
      waiting_(variables_on(target.run, mesh_)) {
  for (std::size_t i = 0; i < vectors_.size(); ++i)
    waiting_.push_back(static_cast<std::uint32_t>(target.run.variable_count + i));
}

std::vector<std::uint32_t> Mesh::parts_of(std::uint32_t number) const {
  return is_vector(number) ? vector(number).components : std::vector<std::uint32_t>{number};
}

std::string Mesh::name_of(std::uint32_t number) const {
  if (is_vector(number)) return "vector \"" + vector(number).name + "\"";
  return "variable \"" + std::string(leat_variable_at(&target_.run, number)->name) + "\"";
}

void Mesh::say(const std::string& text) const {
  host_.info("/VTKHDF, mesh \"" + std::string(mesh_.name) + "\": " + text);
}

void Mesh::open(const std::string& group) {
  group_ = group;
  const Id object = group_at(target_.file, group_);
  const std::string text = type();
  put_text(object, "Type", text);
  set_attribute(object, "Version", std::vector<std::int64_t>{2, 0});
  put_text(object, "leat_mesh", mesh_.name);
  // The number of steps lies before their values in the file and is written first: VTK trusts that
  // there are not more values than steps.
  const Id steps = group_at(target_.file, path("Steps"));
  count_ = static_cast<hsize_t>(std::max<std::int64_t>(0, integer_attribute(steps, "NSteps", -1)));
  set_attribute(steps, "NSteps", static_cast<std::int64_t>(count_));
  values_ =
      Dataset(target_.file, steps_path("Values"), H5T_NATIVE_DOUBLE, growing_list(0, kStepsAtOnce));
  rows_ = List(target_.file, steps_path("leat_row"));
  make_head();
}

void Mesh::move_to(const std::string& group) {
  for (auto& [number, known] : known_) {
    for (std::string* path : {&known.path, &known.offsets_path})
      path->replace(0, group_.size(), group);
  }
  group_ = group;
}

std::vector<Step> Mesh::steps() const {
  std::vector<Step> steps(count_);
  const std::vector<std::int64_t> rows = rows_.all();
  std::vector<double> times(values_.extents()[0]);
  values_.read({0}, {times.size()}, times.data());
  for (hsize_t i = 0; i < count_ && i < rows.size() && i < times.size(); ++i)
    steps[i] = {static_cast<hsize_t>(rows[i]), times[i]};
  return steps;
}

void Mesh::add(const std::vector<Step>& steps) {
  for (hsize_t step = count_; step < steps.size(); ++step) {
    put_step(step, steps[step].row);
    rows_.put(step, static_cast<std::int64_t>(steps[step].row));
  }
  flush();
  for (const auto& [name, list] : shown()) list->show(path(name));
  offsets_.flush();
  rows_.flush();
  while (in_step_ < steps.size() && steps[in_step_].row == in_step_) ++in_step_;
  drop_invalid(steps);
  for (auto& [number, known] : known_) put_offsets(&known, steps);
  const auto is_taken = [&](std::uint32_t variable) { return take(variable, steps); };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_taken), waiting_.end());
  if (count_ == 1 && steps.size() > 1) {
    for (auto& [number, known] : known_) known.array->show_time(known.path);
  }
  put_values(steps);
  count_ = steps.size();
}

void Mesh::finish() {
  if (known_.empty() && count_ > 0) add(steps());  // a writer before this one made them all
  for (const auto& [name, list] : shown()) list->finish(path(name));
  for (auto& [number, known] : known_) known.array->finish(known.path);
}

// A second and later ones: readers take the values of one step for a mesh without time.
void Mesh::put_values(const std::vector<Step>& steps) {
  values_.grow_to({steps.size()});
  std::vector<double> times;
  for (hsize_t step = count_; step < steps.size(); ++step) times.push_back(steps[step].time);
  values_.write({count_}, {times.size()}, times.data());
  set_attribute(group_at(target_.file, path("Steps")), "NSteps",
                static_cast<std::int64_t>(steps.size()));
}

// True when it waits no longer.
bool Mesh::take(std::uint32_t number, const std::vector<Step>& steps) {
  const bool has_own_shapes = mesh_.kind == LEAT_MESH_AMR;  // blocks of one may have
  std::string why;
  std::vector<Field> fields;
  for (const std::uint32_t part : parts_of(number)) {
    const leat_variable& described = *leat_variable_at(&target_.run, part);
    if (why.empty()) why = has_own_shapes ? why_no_array(described) : why_vtk_cannot(described);
    const std::optional<Field> field = why.empty() ? field_in(target_, part) : std::nullopt;
    if (field) fields.push_back(*field);
  }
  if (why.empty()) {
    try {
      if (fields.size() == parts_of(number).size()) show_array(number, fields, steps);
      return known_.count(number) > 0;
    } catch (const std::exception& e) {
      why = e.what();
    }
  }
  say(name_of(number) + " is not shown: " + why);
  return true;
}

void Mesh::show_array(std::uint32_t number, const std::vector<Field>& fields,
                      const std::vector<Step>& steps) {
  std::string group;
  Known known;
  known.array = array_for(fields, &group);
  if (const std::string why = is_vector(number) ? known.array->why_invalid(steps, 0) : "";
      !why.empty())
    throw std::runtime_error(why);
  const std::string name = is_vector(number) ? array_name(target_.run, vector(number).name)
                                             : array_name(target_.run, number);
  known.path = path(group + "/" + name);
  if (!is_in(target_.file, known.path)) {
    if (!is_at_any(known.array.get(), steps, count_)) return;
    known.array->link(known.path, steps);
  }
  known.offsets_path = steps_path(group + "Offsets/" + name);
  put_offsets(&known, steps);
  known_[number] = std::move(known);
}

void Mesh::drop_invalid(const std::vector<Step>& steps) {
  for (auto at = known_.begin(); at != known_.end();) {
    const std::string why = at->second.array->why_invalid(steps, count_);
    if (why.empty()) {
      ++at;
      continue;
    }
    at->second.array->remove();
    for (const std::string& link : {at->second.path, at->second.offsets_path}) {
      if (is_in(target_.file, link))
        check(H5Ldelete(target_.file, link.c_str(), H5P_DEFAULT), "cannot remove " + link);
    }
    host_.warn("/VTKHDF, mesh \"" + std::string(mesh_.name) + "\": " + name_of(at->first) +
               " is not shown any more: " + why);
    at = known_.erase(at);
  }
}

void Mesh::put_offsets(Known* known, const std::vector<Step>& steps) const {
  if (known->array->put_offsets(steps, count_)) return;
  if (!known->offsets.exists()) {
    const bool needs_none = known->array->is_indexed_by_step() && in_step_ == steps.size() &&
                            !is_in(target_.file, known->offsets_path);
    if (needs_none) return;
    known->offsets = List(target_.file, known->offsets_path);
  }
  Array* const array = known->array.get();
  hsize_t first = std::min(known->offsets.length(), count_);
  std::vector<std::optional<hsize_t>> places = places_from(first, array, steps);
  if (array->show(known->path) && first > 0) {
    // Never over what readers of the last commit look at.
    check(H5Ldelete(target_.file, known->offsets_path.c_str(), H5P_DEFAULT),
          "cannot replace " + known->offsets_path);
    known->offsets = List(target_.file, known->offsets_path);
    first = 0;
    places = places_from(first, array, steps);
  }
  for (const std::optional<hsize_t>& place : places)
    known->offsets.put(first++, static_cast<std::int64_t>(place ? array->begin() + *place : 0));
  known->offsets.flush();
}

StepOffsets::StepOffsets(hid_t file, const std::string& steps, hsize_t kinds)
    : parts_(file, steps + "NumberOfParts"),
      part_(file, steps + "PartOffsets"),
      point_(file, steps + "PointOffsets"),
      cell_(file, steps + "CellOffsets", kinds),
      id_(file, steps + "ConnectivityIdOffsets", kinds) {}

void StepOffsets::put(hsize_t step, const Begin& begin) {
  parts_.put(step, begin.parts);
  part_.put(step, static_cast<std::int64_t>(begin.part));
  point_.put(step, static_cast<std::int64_t>(begin.point));
  cell_.put(step, static_cast<std::int64_t>(begin.cell));
  id_.put(step, static_cast<std::int64_t>(begin.id));
}

std::vector<StepOffsets::Begin> StepOffsets::all() const {
  const std::vector<std::int64_t> parts = parts_.all(), first = part_.all(), cells = cell_.all();
  const std::size_t kinds =
      parts.empty() ? 1 : std::max<std::size_t>(1, cells.size() / parts.size());
  std::vector<Begin> steps;
  for (std::size_t i = 0; i < parts.size() && i < first.size() && i * kinds < cells.size(); ++i)
    steps.push_back(
        {parts[i], static_cast<hsize_t>(first[i]), 0, static_cast<hsize_t>(cells[i * kinds]), 0});
  return steps;
}

void StepOffsets::flush() {
  for (List* list : {&parts_, &part_, &point_, &cell_, &id_}) list->flush();
}

std::vector<std::uint8_t> fill_of(const std::vector<Field>& fields) {
  if (fields.size() > 1 && fields.size() < kOfVector) return {};  // as its third component is
  return fill_value(fields.front().variable->type);
}

namespace {

std::vector<Elements> elements_of(const Target& target, const std::vector<Field>& fields) {
  std::vector<Elements> all;
  for (const Field& each : fields) all.emplace_back(target, each);
  if (all.size() > 1 && all.front().components() > 1)
    throw std::runtime_error("its components are lists of several values for each element");
  return all;
}

FlatList list_of(const Target& target, const std::vector<Field>& fields,
                 const std::vector<Elements>& elements) {
  std::vector<FlatSource> sources;
  for (const Elements& each : elements) sources.push_back(each.source(sources.size()));
  const hsize_t columns = elements.size() > 1                 ? kOfVector
                          : elements.front().components() > 1 ? elements.front().components()
                                                              : 0;
  return {target, std::move(sources), fields.front().variable->type, columns, fill_of(fields)};
}

}  // namespace

ElementArray::ElementArray(const Target& target, const std::vector<Field>& fields, Wanted wanted,
                           void* mesh)
    : elements_(elements_of(target, fields)),
      list_(list_of(target, fields, elements_)),
      wanted_(wanted),
      mesh_(mesh) {}

bool ElementArray::is_at(hsize_t row) {
  const Elements::Row mine = blocks_of(&elements_, row);
  return !mine.is_empty() && mine.matches(wanted_(mesh_, row));
}

std::optional<hsize_t> ElementArray::place(hsize_t row) {
  const Elements::Row mine = blocks_of(&elements_, row), wanted = wanted_(mesh_, row);
  if (!mine.matches(wanted) || wanted.total() == 0) {
    list_.need_in_front(wanted.total());
    return std::nullopt;
  }
  list_.need(mine.first + mine.total());
  return mine.first;
}

std::string ElementArray::why_invalid(const std::vector<Step>& steps, hsize_t first) {
  for (hsize_t step = first; elements_.size() > 1 && step < steps.size(); ++step) {
    const Elements::Row one = elements_.front().at(steps[step].row);
    for (Elements& each : elements_) {
      const Elements::Row other = each.at(steps[step].row);
      if (other.matches(one) && other.first == one.first) continue;
      return "in an iteration \"" + each.field().path() + "\" has not the blocks that \"" +
             elements_.front().field().path() +
             "\" has: from there on they do not lie beside each other. Write all of its components "
             "in the same iterations";
    }
  }
  return "";
}

FlatList list_of_points(const Target& target, const std::vector<Elements>& coordinates) {
  std::vector<Field> axes;
  std::vector<FlatSource> sources;
  for (const Elements& axis : coordinates) {
    sources.push_back(axis.source(sources.size()));
    axes.push_back(axis.field());
  }
  return {target, std::move(sources), are_single(axes) ? LEAT_FLOAT32 : LEAT_FLOAT64, 3};
}

Elements::Row blocks_of(std::vector<Elements>* coordinates, hsize_t row) {
  Elements::Row first = coordinates->front().at(row);
  for (std::size_t axis = 1; axis < coordinates->size(); ++axis) {
    const Elements::Row other = (*coordinates)[axis].at(row);
    if (!other.matches(first) || other.first != first.first) return {};
  }
  return first;
}

}  // namespace leat::hdf5::vtk
