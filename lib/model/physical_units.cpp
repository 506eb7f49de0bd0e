// SPDX-License-Identifier: Apache-2.0
#include "lib/model/physical_units.hpp"

#include <dlfcn.h>
#include <udunits2.h>

#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace leat::model {
namespace {

struct FreeUnit {
  void operator()(ut_unit* unit) const { ut_free(unit); }
};
using Unit = std::shared_ptr<ut_unit>;  // null: it is not known

Unit held(ut_unit* unit) { return unit ? Unit(unit, FreeUnit()) : Unit(); }

int say_nothing(const char*, va_list) { return 0; }

// A tree that brings UDUNITS brings its table, as a Python wheel does: above the library or the program
// that this code is in. "" where there is none, and the table of the system is read.
std::string own_table() {
  namespace fs = std::filesystem;
  if (std::getenv("UDUNITS2_XML_PATH")) return "";
  std::error_code error;
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(&own_table), &info) != 0;
  fs::path place = known && info.dli_fname ? info.dli_fname : "";
  if (!place.is_absolute())  // a program, as it was called
    place = fs::read_symlink("/proc/self/exe", error);
  for (place = fs::canonical(place, error).parent_path(); place.has_relative_path();
       place = place.parent_path()) {
    const fs::path table = place / "share/leat/udunits/udunits2.xml";
    if (fs::exists(table, error)) return table.string();
  }
  return "";
}

std::string text_of_unit(const ut_unit* unit) {
  char text[256] = "";
  const int length = ut_format(unit, text, sizeof text, UT_ASCII | UT_DEFINITION);
  return length > 0 && static_cast<std::size_t>(length) < sizeof text ? text : "";
}

}  // namespace

struct PhysicalUnits::System {
  ut_system* all = nullptr;

  Unit parse(const std::string& text) const {
    return all && !text.empty() ? held(ut_parse(all, text.c_str(), UT_UTF8)) : Unit();
  }
  Unit one() const { return all ? held(ut_get_dimensionless_unit_one(all)) : Unit(); }
};

PhysicalUnits::PhysicalUnits() : system_(new System) {
  ut_set_error_message_handler(say_nothing);
  const std::string table = own_table();
  system_->all = ut_read_xml(table.empty() ? nullptr : table.c_str());
}

PhysicalUnits::~PhysicalUnits() {
  if (system_->all) ut_free_system(system_->all);
  delete system_;
}

bool PhysicalUnits::is_unit(const std::string& text) const {
  return system_->parse(text) != nullptr;
}

std::string PhysicalUnits::text_of(const std::string& text) const {
  const Unit unit = system_->parse(text);
  return unit ? text_of_unit(unit.get()) : text;
}

std::optional<UnitChange> PhysicalUnits::change(const std::string& from,
                                                const std::string& to) const {
  const Unit a = system_->parse(from), b = system_->parse(to);
  if (!a || !b || !ut_are_convertible(a.get(), b.get())) return std::nullopt;
  const std::unique_ptr<cv_converter, void (*)(cv_converter*)> converter(
      ut_get_converter(a.get(), b.get()), cv_free);
  if (!converter) return std::nullopt;
  UnitChange change;
  change.offset = cv_convert_double(converter.get(), 0);
  change.scale = cv_convert_double(converter.get(), 1) - change.offset;
  const double at = 1000, exact = cv_convert_double(converter.get(), at);
  if (std::fabs(at * change.scale + change.offset - exact) > 1e-9 * std::fabs(exact))
    return std::nullopt;
  return change;
}

namespace {

class UnitReader {
 public:
  UnitReader(const ArrayExpression& expression, std::vector<Unit> inputs, Unit one)
      : expression_(expression), inputs_(std::move(inputs)), one_(std::move(one)) {}

  Unit run() {
    for (const ArrayNode& node : expression_.nodes) units_.push_back(unit_of(node));
    return units_.empty() ? Unit() : units_[expression_.result];
  }
  const std::string& problem() const { return problem_; }

 private:
  // Of a number nothing is known: 2*u has the unit of u, u + 273.15 too.
  bool is_number(std::uint32_t node) const { return expression_.nodes[node].op == ArrayOp::number; }

  Unit unit_of(const ArrayNode& node) {
    const Unit a = units_.size() > node.a ? units_[node.a] : Unit();
    const Unit b = units_.size() > node.b ? units_[node.b] : Unit();
    switch (node.op) {
      case ArrayOp::input:
        return inputs_[node.a];
      case ArrayOp::number:
        return one_;
      case ArrayOp::plus:
      case ArrayOp::minus:
      case ArrayOp::least_of:
      case ArrayOp::greatest_of:
      case ArrayOp::mod_of:
        return same(node.a, node.b);
      case ArrayOp::choice:
        return same(node.b, node.c);
      case ArrayOp::times:
        return a && b ? held(ut_multiply(a.get(), b.get())) : Unit();
      case ArrayOp::divided:
        return a && b ? held(ut_divide(a.get(), b.get())) : Unit();
      case ArrayOp::power:
      case ArrayOp::power_too:
        return raised(a, node.b);
      case ArrayOp::sqrt_of:
        return a ? held(ut_root(a.get(), 2)) : Unit();
      case ArrayOp::abs_of:
      case ArrayOp::negative:
      case ArrayOp::floor_of:
      case ArrayOp::ceil_of:
      case ArrayOp::round_of:
        return a;
      case ArrayOp::less:
      case ArrayOp::less_or_equal:
      case ArrayOp::greater:
      case ArrayOp::greater_or_equal:
      case ArrayOp::equal:
      case ArrayOp::unequal:
        same(node.a, node.b);
        return one_;
      case ArrayOp::exp_of:
      case ArrayOp::log_of:
      case ArrayOp::ln_of:
      case ArrayOp::log2_of:
      case ArrayOp::log10_of:
        if (a && !ut_are_convertible(a.get(), one_.get()) && problem_.empty())
          problem_ =
              "the logarithm, or power of e, of something in \"" + text_of_unit(a.get()) + "\"";
        return one_;
      default:
        return one_;
    }
  }

  Unit raised(const Unit& base, std::uint32_t exponent) const {
    const double power = expression_.nodes[exponent].number;
    const bool is_whole =
        is_number(exponent) && power == std::floor(power) && std::fabs(power) < 100;
    return base && is_whole ? held(ut_raise(base.get(), static_cast<int>(power))) : Unit();
  }

  Unit same(std::uint32_t a, std::uint32_t b) {
    if (is_number(a)) return units_[b];
    if (is_number(b)) return units_[a];
    if (!units_[a] || !units_[b]) return Unit();
    const std::string of_a = text_of_unit(units_[a].get()), of_b = text_of_unit(units_[b].get());
    if (!ut_are_convertible(units_[a].get(), units_[b].get())) {
      if (problem_.empty())
        problem_ = "\"" + of_a + "\" and \"" + of_b + "\" are of different quantities";
      return Unit();
    }
    if (ut_compare(units_[a].get(), units_[b].get()) != 0 && problem_.empty())
      problem_ = "\"" + of_a + "\" and \"" + of_b +
                 "\" are different units of one quantity, and nothing converts them here";
    return units_[a];
  }

  const ArrayExpression& expression_;
  std::vector<Unit> inputs_, units_;
  Unit one_;
  std::string problem_;
};

}  // namespace

UnitFinding PhysicalUnits::of(const ArrayExpression& expression,
                              const std::vector<std::string>& units) const {
  if (!system_->all) return {};
  std::vector<Unit> inputs;
  for (const std::string& each : units) inputs.push_back(system_->parse(each));
  UnitReader reader(expression, std::move(inputs), system_->one());
  const Unit unit = reader.run();
  return {unit && reader.problem().empty() ? text_of_unit(unit.get()) : "", reader.problem()};
}

}  // namespace leat::model
