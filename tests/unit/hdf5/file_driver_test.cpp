// SPDX-License-Identifier: Apache-2.0
// HDF5 on a File that is memory: each of its calls in turn is refused.
#include "server/plugins/hdf5/base/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace leat::hdf5 {
namespace {

class MemoryFile final : public File {
 public:
  int allocate(std::uint64_t bytes, bool, std::uint64_t* address) override {
    if (is_refused()) return ENOSPC;
    *address = end_;
    end_ += bytes;
    return 0;
  }
  int set_end(std::uint64_t end) override {
    end_ = end;
    return 0;
  }
  std::uint64_t end() const override { return end_; }
  std::uint64_t size() const override { return std::max<std::uint64_t>(end_, bytes_.size()); }
  int read(std::uint64_t address, void* to, std::size_t bytes) override {
    if (is_refused()) return EIO;
    reserve(address + bytes);
    std::memcpy(to, &bytes_[address], bytes);
    return 0;
  }
  int write(std::uint64_t address, const void* from, std::size_t bytes, bool) override {
    if (is_refused()) return ENOSPC;
    reserve(address + bytes);
    std::memcpy(&bytes_[address], from, bytes);
    return 0;
  }

  void refuse(int call) { refused_ = calls_ + call; }
  int calls() const { return calls_; }

 private:
  bool is_refused() { return ++calls_ == refused_; }
  void reserve(std::uint64_t end) { bytes_.resize(std::max<std::uint64_t>(end, bytes_.size())); }

  std::vector<unsigned char> bytes_;
  std::uint64_t end_ = 0;
  int calls_ = 0, refused_ = 0;
};

const std::vector<double> kValues = [] {
  std::vector<double> values(5000);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}();

Id create(MemoryFile* file) {
  return Id(H5Fcreate("memory", H5F_ACC_TRUNC, H5P_DEFAULT, access_list(file)), "create");
}

// Throws what HDF5 says.
void write_values(hid_t file, const std::string& name) {
  const hsize_t extent = kValues.size();
  const Id space(H5Screate_simple(1, &extent, nullptr), "space");
  const Id dataset(H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT),
                   "dataset");
  check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, kValues.data()),
        "values");
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "flush");
}

std::vector<double> values_in(hid_t file, const std::string& name) {
  const Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "dataset");
  std::vector<double> values(kValues.size());
  check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        "values");
  return values;
}

TEST(FileDriver, has_in_any_file_what_hdf5_has_written) {
  be_quiet();
  MemoryFile memory;
  {
    const Id file = create(&memory);
    write_values(file, "a");
    write_values(file, "b");
  }
  const Id file(H5Fopen("memory", H5F_ACC_RDONLY, access_list(&memory)), "open");
  EXPECT_EQ(values_in(file, "a"), kValues);
  EXPECT_EQ(values_in(file, "b"), kValues);
}

TEST(FileDriver, says_each_refusal_and_leaves_what_was_written_before) {
  be_quiet();
  MemoryFile counted;
  const Id counted_file = create(&counted);
  write_values(counted_file, "a");
  const int before = counted.calls();
  write_values(counted_file, "b");
  const int calls = counted.calls() - before;
  ASSERT_GT(calls, 3);
  for (int call = 1; call <= calls; ++call) {
    MemoryFile memory;
    const Id file = create(&memory);
    write_values(file, "a");
    memory.refuse(call);
    try {
      write_values(file, "b");
      ADD_FAILURE() << "call " << call << " was refused, and nobody was told";
    } catch (const std::exception& e) {
      const std::string said = e.what();
      EXPECT_TRUE(said.find(std::strerror(ENOSPC)) != std::string::npos ||
                  said.find(std::strerror(EIO)) != std::string::npos)
          << said;
    }
    EXPECT_EQ(values_in(file, "a"), kValues) << "call " << call;
  }
}

}  // namespace
}  // namespace leat::hdf5
