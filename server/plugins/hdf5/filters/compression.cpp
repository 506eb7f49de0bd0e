// SPDX-License-Identifier: Apache-2.0
// Sources: HDF5's registered filters (https://github.com/HDFGroup/hdf5_plugins); for the settings
// of zfp the "generic interface" of https://h5z-zfp.readthedocs.io (H5Zzfp_plugin.h), for those of
// blosc the README of hdf5-blosc.
#include "server/plugins/hdf5/filters/compression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace leat::hdf5 {
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

}  // namespace leat::hdf5
