// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/filters/filters.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace leat::hdf5 {

// Sources: HDF5's registered filters (https://github.com/HDFGroup/hdf5_plugins); for the settings
// of zfp the "generic interface" of https://h5z-zfp.readthedocs.io (H5Zzfp_plugin.h), for those of
// blosc the README of hdf5-blosc.

namespace {

constexpr H5Z_filter_t kBzip2 = 307, kBlosc = 32001, kLz4 = 32004, kZstd = 32015;

using Values = std::optional<std::vector<unsigned>>;

Values these(std::vector<unsigned> values) { return values; }

// `text` is a number from `least` to `most`, written as people do.
std::optional<unsigned> level(const std::string& text, unsigned least, unsigned most) {
  if (text.empty() || text.size() > 2 || text[0] == '0') return std::nullopt;
  unsigned number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + static_cast<unsigned>(c - '0');
  }
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

Values one_level(const std::string& text, unsigned most) {
  const auto number = level(text, 1, most);
  return number ? these({*number}) : std::nullopt;
}

// "lz4:5": codec and level.
Values blosc_values(const std::string& text) {
  constexpr std::pair<const char*, unsigned> kCodecs[] = {
      {"blosclz", 0}, {"lz4", 1}, {"lz4hc", 2}, {"zlib", 4}, {"zstd", 5}};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto number = level(text.substr(colon + 1), 1, 9);
  for (const auto& [name, code] : kCodecs) {
    constexpr unsigned kShuffles = 1;
    // The first four are what the filter notes for itself.
    if (number && text.compare(0, colon, name) == 0)
      return these({0, 0, 0, 0, *number, kShuffles, code});
  }
  return std::nullopt;
}

std::optional<double> positive(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool good = !text.empty() && std::strchr("0123456789.", text[0]) && *end == '\0' &&
                    std::isfinite(value) && value > 0;
  return good ? std::optional(value) : std::nullopt;
}

// A mode, a word that is not used, and a double as two words in this machine's order.
Values zfp_mode(unsigned mode, const std::optional<double>& value) {
  if (!value) return std::nullopt;
  std::array<unsigned, 2> words{};
  std::memcpy(words.data(), &*value, sizeof *value);
  return these({mode, 0, words[0], words[1]});
}

Values zfp_values(const std::string& text) {
  constexpr unsigned kRate = 1, kPrecision = 2, kAccuracy = 3, kReversible = 5;
  constexpr double kMostBits = 64;
  if (text == "reversible") return these({kReversible});
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const std::string mode = text.substr(0, equals), value = text.substr(equals + 1);
  if (mode == "accuracy") return zfp_mode(kAccuracy, positive(value));
  const auto rate = positive(value);
  if (mode == "rate" && rate && *rate <= kMostBits) return zfp_mode(kRate, rate);
  const auto bits = level(value, 1, static_cast<unsigned>(kMostBits));
  return mode == "precision" && bits ? these({kPrecision, 0, *bits}) : std::nullopt;
}

// What stands behind the first colon.
Values values_of(H5Z_filter_t filter, const std::string& rest) {
  switch (filter) {
    case H5Z_FILTER_DEFLATE:
    case kBzip2:
      return one_level(rest, 9);
    case kZstd:
      return one_level(rest, 22);
    case kBlosc:
      return blosc_values(rest);
    case kZfp:
      return zfp_values(rest);
    default:
      return rest.empty() ? these({0}) : std::nullopt;  // lz4: the block size that it likes best
  }
}

std::string grammar() {
  std::string all = "\"none\"";
  for (const KnownFilter& each : known_filters()) all += std::string(", ") + each.grammar;
  return all;
}

}  // namespace

const std::vector<KnownFilter>& known_filters() {
  static const std::vector<KnownFilter> all = {
      {"deflate", H5Z_FILTER_DEFLATE, "\"deflate:1\" to \"deflate:9\""},
      {"zstd", kZstd, "\"zstd:1\" to \"zstd:22\""},
      {"blosc", kBlosc, "\"blosc:CODEC:1\" to \":9\" (blosclz, lz4, lz4hc, zlib or zstd)"},
      {"lz4", kLz4, "\"lz4\""},
      {"bzip2", kBzip2, "\"bzip2:1\" to \"bzip2:9\""},
      {"zfp", kZfp,
       "\"zfp:rate=8\" (bits), \"zfp:accuracy=1e-3\", \"zfp:precision=16\" (bits), "
       "\"zfp:reversible\""}};
  return all;
}

Compression compression_from(const std::string& text) {
  if (text.empty() || text == "none") return {};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string rest = text.substr(std::min(colon + 1, text.size()));
  for (const KnownFilter& each : known_filters()) {
    const Values values =
        text.compare(0, colon, each.name) == 0 ? values_of(each.number, rest) : std::nullopt;
    if (!values || text.back() == ':') continue;
    const bool shuffles_itself = each.number == kBlosc || each.number == kZfp;
    return {text, each.number, !shuffles_itself, *values};
  }
  throw std::runtime_error("compression=\"" + text + "\": expected " + grammar());
}

// Optional: a chunk that would become larger is stored as it is.
void compress_with(const Compression& compression, hid_t creation, const std::string& dataset) {
  if (!compression) return;
  const std::string what = "compression of " + dataset;
  if (compression.shuffle) check(H5Pset_shuffle(creation), what);
  check(H5Pset_filter(creation, compression.filter, H5Z_FLAG_OPTIONAL, compression.values.size(),
                      compression.values.data()),
        what);
}

namespace {

constexpr std::uint32_t kMostDimensionsOfZfp = 4;

// Filters of hdf5plugin (PyPI) look for HDF5's functions among those that all libraries see, and a
// plugin's are not there. Only for who wants such a filter: another plugin may bring an HDF5 of its
// own.
void show_hdf5_to_filters() {
  Dl_info hdf5{};
  if (dladdr(reinterpret_cast<void*>(&H5open), &hdf5) != 0)
    (void)dlopen(hdf5.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

bool is_there(H5Z_filter_t filter) {
  const bool there = H5Zfilter_avail(filter) > 0;
  H5Eclear2(H5E_DEFAULT);
  return there;
}

std::string names_of_those_there() {
  std::string names = "none";
  for (const KnownFilter& each : known_filters()) {
    if (is_there(each.number)) names += std::string(", ") + each.name;
  }
  return names;
}

std::string folders() {
  unsigned count = 0;
  if (H5PLsize(&count) < 0) return "";
  std::string all;
  for (unsigned i = 0; i < count; ++i) {
    char path[4096] = "";
    if (H5PLget(i, path, sizeof path) > 0) all += (i > 0 ? ", " : "") + std::string(path);
  }
  return all;
}

// Null when it is none of ours.
const KnownFilter* known(H5Z_filter_t number) {
  for (const KnownFilter& each : known_filters()) {
    if (each.number == number) return &each;
  }
  return nullptr;
}

std::string what_is_there() {
  return "There are: " + names_of_those_there() + ". It looked in " + folders() +
         "; HDF5_PLUGIN_PATH names other folders. Debian has packages hdf5-filter-plugin*, PyPI "
         "has "
         "hdf5plugin";
}

void expect_there(const Compression& compression, const std::string& whose) {
  const std::string why = why_not_there(compression, whose);
  if (!why.empty()) throw std::runtime_error(why);
}

std::string why_not(const Compression& compression, const leat_variable& variable) {
  return why_not_for(compression, variable.type, variable.dims);
}

std::string own_of(const leat_variable& variable) {
  return option(variable.options, variable.option_count, "compression");
}

Compression of_store(const leat_run& run) {
  return compression_from(option(run.options, run.option_count, "compression"));
}

StoredFilter filter_at(hid_t creation, unsigned place) {
  StoredFilter found;
  std::size_t count = 0;
  H5Pget_filter2(creation, place, &found.flags, &count, nullptr, 0, nullptr, nullptr);
  found.values.resize(count);
  char name[128] = "";
  found.number = H5Pget_filter2(creation, place, &found.flags, &count, found.values.data(),
                                sizeof name, name, nullptr);
  found.name = name;
  return found;
}

}  // namespace

std::string why_not_there(const Compression& compression, const std::string& whose) {
  if (!compression || compression.filter == H5Z_FILTER_DEFLATE) return "";
  show_hdf5_to_filters();
  if (is_there(compression.filter)) return "";
  return "compression=\"" + compression.text + "\" of " + whose + ": HDF5 has no filter \"" +
         known(compression.filter)->name + "\" here (number " + std::to_string(compression.filter) +
         "). " + what_is_there();
}

std::string why_cannot_expand(H5Z_filter_t number, const std::string& name) {
  const KnownFilter* const ours = known(number);
  show_hdf5_to_filters();
  if (is_there(number)) return "";
  return "is compressed by the filter \"" + (ours ? ours->name : name) + "\" (number " +
         std::to_string(number) + "), which HDF5 does not find here. " + what_is_there();
}

std::string why_not_for(const Compression& compression, std::uint32_t type, std::uint32_t dims) {
  if (!compression.is_zfp()) return "";
  if (type != LEAT_FLOAT32 && type != LEAT_FLOAT64)
    return "zfp can do float and double only, and its type is another: take \"deflate:4\" for it";
  if (dims > kMostDimensionsOfZfp)
    return "zfp can do up to 4 dimensions, and it has " + std::to_string(dims) +
           ": take \"deflate:4\" for it";
  return "";
}

void check_filters(const leat_run& run) {
  expect_there(of_store(run), std::string("the store \"") + run.store + "\"");
  bool any_zfp = of_store(run).is_zfp();
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    const Compression own = compression_from(own_of(variable));
    const std::string whose = std::string("the variable \"") + variable.name + "\"";
    expect_there(own, whose);
    const std::string reason = why_not(own, variable);
    if (!reason.empty())
      throw std::runtime_error("compression=\"" + own.text + "\" of " + whose + ": " + reason);
    any_zfp = any_zfp || own.is_zfp();
  }
  if (any_zfp) guard_zfp();
}

Compression compression_of(const leat_run& run, const leat_variable& variable) {
  if (!own_of(variable).empty()) return compression_from(own_of(variable));
  const Compression general = of_store(run);
  return why_not(general, variable).empty() ? general : Compression{};
}

std::vector<StoredFilter> filters_of(hid_t creation) {
  std::vector<StoredFilter> found;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) found.push_back(filter_at(creation, static_cast<unsigned>(i)));
  return found;
}

// HDF5 has loaded the filter's library; its class is registered once more, under the same number,
// with a function of ours in front of the library's. It answers "not compressible" (0) where it
// must, and HDF5 stores the chunk without an optional filter then.

namespace {

H5Z_func_t filter_of_library;
thread_local ErrorOfZfp* meter = nullptr;

template <class Float>
bool all_finite(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i + sizeof(Float) <= bytes; i += sizeof(Float)) {
    Float value;
    std::memcpy(&value, at + i, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// By the header of zfp that H5Z-ZFP keeps as the dataset's settings: a word with its version, one
// with zfp's magic bytes, and in the lowest bits of the next one zfp_type - 1.
bool is_for_zfp(std::size_t count, const unsigned* values, const void* data, std::size_t bytes) {
  constexpr unsigned kTypeBits = 3, kFloat = 2, kDouble = 3;
  const unsigned type = count > 2 ? values[2] & kTypeBits : 0;
  if (type == kFloat) return all_finite<float>(data, bytes);
  if (type == kDouble) return all_finite<double>(data, bytes);
  return all_finite<float>(data, bytes) && all_finite<double>(data, bytes);
}

// A filter replaces the memory that it is given, as HDF5 does.
void measure(std::size_t count, const unsigned* values, const std::vector<char>& given,
             const void* compressed, std::size_t bytes) {
  void* data = H5allocate_memory(bytes, false);
  if (!data) return;
  std::memcpy(data, compressed, bytes);
  std::size_t room = bytes;
  const std::size_t made = filter_of_library(H5Z_FLAG_REVERSE, count, values, bytes, &room, &data);
  if (made >= given.size()) meter->look(given.data(), data, given.size());
  H5free_memory(data);
}

std::size_t guarded(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                    std::size_t* room, void** data) {
  const bool reads = (flags & H5Z_FLAG_REVERSE) != 0;
  if (!reads && !is_for_zfp(count, values, *data, bytes)) return 0;
  if (reads || !meter) return filter_of_library(flags, count, values, bytes, room, data);
  const auto* const from = static_cast<const char*>(*data);
  const std::vector<char> given(from, from + bytes);
  const std::size_t made = filter_of_library(flags, count, values, bytes, room, data);
  if (made > 0) measure(count, values, given, *data, made);
  return made;
}

// The class of zfp when it is this library that has it.
const H5Z_class2_t* class_in(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  using Type = H5PL_type_t (*)();
  using Info = const void* (*)();
  const auto type = reinterpret_cast<Type>(dlsym(handle, "H5PLget_plugin_type"));
  const auto info = reinterpret_cast<Info>(dlsym(handle, "H5PLget_plugin_info"));
  const bool is_filter = type && info && type() == H5PL_TYPE_FILTER;
  const auto* kind = is_filter ? static_cast<const H5Z_class2_t*>(info()) : nullptr;
  if (kind && kind->id == kZfp) return kind;  // and the library stays
  dlclose(handle);
  return nullptr;
}

int add_name(dl_phdr_info* library, std::size_t, void* names) {
  if (library->dlpi_name && *library->dlpi_name)
    static_cast<std::vector<std::string>*>(names)->push_back(library->dlpi_name);
  return 0;
}

H5Z_class2_t find_class() {
  check(H5Zfilter_avail(kZfp), "looking for the filter zfp");
  std::vector<std::string> libraries;
  dl_iterate_phdr(add_name, &libraries);
  for (const std::string& each : libraries) {
    if (const H5Z_class2_t* found = class_in(each.c_str())) return *found;
  }
  throw std::runtime_error("the library of the filter zfp is not where HDF5 has it from");
}

}  // namespace

void guard_zfp() {
  static const herr_t done = [] {
    H5Z_class2_t ours = find_class();
    filter_of_library = ours.filter;
    ours.filter = guarded;
    return check(H5Zregister(&ours), "the filter zfp");
  }();
  (void)done;
}

namespace {

template <class Float>
double largest_difference(const void* given, const void* expanded, std::size_t bytes) {
  const auto *a = static_cast<const unsigned char*>(given),
             *b = static_cast<const unsigned char*>(expanded);
  double largest = 0;
  for (std::size_t i = 0; i + sizeof(Float) <= bytes; i += sizeof(Float)) {
    Float was, is;
    std::memcpy(&was, a + i, sizeof was);
    std::memcpy(&is, b + i, sizeof is);
    largest = std::max(largest, std::abs(static_cast<double>(was) - static_cast<double>(is)));
  }
  return largest;
}

}  // namespace

bool is_lossy(const Compression& compression) {
  return compression.is_zfp() && compression.text != "zfp:reversible";
}

ErrorOfZfp::ErrorOfZfp(std::uint32_t leat_scalar) : type_(leat_scalar) { meter = this; }

ErrorOfZfp::~ErrorOfZfp() { meter = nullptr; }

void ErrorOfZfp::look(const void* given, const void* expanded, std::size_t bytes) {
  const double now = type_ == LEAT_FLOAT32 ? largest_difference<float>(given, expanded, bytes)
                                           : largest_difference<double>(given, expanded, bytes);
  largest_ = std::max(largest_, now);
}

}  // namespace leat::hdf5
