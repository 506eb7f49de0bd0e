// SPDX-License-Identifier: Apache-2.0
// Compression: what is asked for, which of HDF5's filters are there, and what must not go through zfp.
#pragma once

#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

// What compression="..." asks for, as HDF5 wants to hear it. The texts are those of the type
// "compression" in leat.xsd, which documents them.

constexpr H5Z_filter_t kZfp = 32013;

struct Compression {
  std::string text;              ///< as asked for
  H5Z_filter_t filter = 0;       ///< HDF5's registered number of it; 0: none
  bool shuffle = false;          ///< bytes of equal weight are put together first
  std::vector<unsigned> values;  ///< the filter's own settings

  explicit operator bool() const { return filter != 0; }
  bool is_zfp() const { return filter == kZfp; }
};

/// Of "none", "" (the same), "deflate:4", "zfp:rate=8", ...; throws for what is none of them.
Compression compression_from(const std::string& text);

/// Puts it into a list for creating a dataset of chunks.
void compress_with(const Compression& compression, hid_t creation, const std::string& dataset);

/// The filters that compression="..." knows, by name.
struct KnownFilter {
  const char* name;
  H5Z_filter_t number;
  const char* grammar;  ///< what to write
};
const std::vector<KnownFilter>& known_filters();

// Which of HDF5's filters are there, which variables they can do, and which a dataset goes through.

/// Throws when the filter of compression="..." of the store or of a variable is not there (names
/// those that are, and the folders in which HDF5 looked), or when a variable asks for one that
/// cannot do its type or dimensions.
void check_filters(const leat_run& run);

/// "" when HDF5 has the filter here; else what to do about it. `whose`: of the store "out".
std::string why_not_there(const Compression& compression, const std::string& whose);

/// "" when the filter can do variables of this type (enum leat_scalar) and so many dimensions.
std::string why_not_for(const Compression& compression, std::uint32_t type, std::uint32_t dims);

/// "" when HDF5 can expand what the filter of this number has compressed; else what to do, behind
/// the name of a dataset. `name`: that it is stored under.
std::string why_cannot_expand(H5Z_filter_t number, const std::string& name);

/// What a variable of the store is compressed with: its own, else the store's where that can be
/// used for it.
Compression compression_of(const leat_run& run, const leat_variable& variable);

/// A filter that the chunks of a dataset go through, whoever has written it.
struct StoredFilter {
  H5Z_filter_t number = H5Z_FILTER_ERROR;  ///< HDF5's registered one
  unsigned flags = 0;
  std::vector<unsigned> values{};  ///< its own settings
  std::string name{};              ///< that it is stored under, "" for none
};

/// Those of a list for the creation of a dataset, in the order in which data are written.
std::vector<StoredFilter> filters_of(hid_t creation);

// Keeps NaNs and infinities away from zfp.

/// Makes HDF5 store chunks that hold a NaN or an infinity as they are, without zfp: what zfp makes
/// of the numbers beside one is wrong by any amount, whatever accuracy was asked for. Fill values
/// are NaNs, so this is about blocks that are missing, too. Readers see by HDF5's own means which
/// chunks those are. For all files of this process, until it ends. Throws when zfp is not there.
void guard_zfp();

// What a filter loses.

/// Whether values that come back from it may be others.
bool is_lossy(const Compression& compression);

/// While it lives, what zfp makes of chunks of this type is expanded at once, in this thread, and compared with what it was given: what
/// readers will see, whichever chunks it is in.
class ErrorOfZfp {
 public:
  explicit ErrorOfZfp(std::uint32_t leat_scalar);
  ErrorOfZfp(const ErrorOfZfp&) = delete;
  ~ErrorOfZfp();
  /// The largest difference so far.
  double largest() const { return largest_; }
  void look(const void* given, const void* expanded, std::size_t bytes);

 private:
  std::uint32_t type_;
  double largest_ = 0;
};

}  // namespace leat::hdf5
