// SPDX-License-Identifier: Apache-2.0
// Writes large pieces of data past the page cache, from the memory that they lie in: that takes a
// seventh of the CPU time of a write through it, and as long as the disk does.
//
// The disk takes whole pages, from memory that lies to pages as the place in the file does. What is
// before the first page and behind the last one goes through the page cache: no page is written in
// both ways. Who reads what was written so reads it from the disk.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

/// On which large pieces begin, of memory and of files alike.
inline constexpr std::uint64_t kPage = 4096;

class DirectIo {
 public:
  DirectIo() = default;
  DirectIo(const DirectIo&) = delete;
  DirectIo& operator=(const DirectIo&) = delete;
  ~DirectIo() { close(); }
  /// Opens what `file` is once more. 0, or the errno for which it goes through the page cache.
  int open(int file);
  bool is_open() const { return direct_ >= 0; }
  /// The errno for which a write went through the page cache, and all others do; 0: none.
  int refusal() const { return refusal_; }
  /// Whether this piece is one for which it is worth while.
  bool fits(std::uint64_t address, const void* from, std::size_t bytes) const;
  /// Where such a piece in this memory is to lie behind the begin of a page.
  static std::uint64_t phase_of(const void* from);
  /// The smallest piece for which it is worth while.
  static constexpr std::size_t kSmallest = 1024ull * 1024;

  /// Writes a piece that fits. 0 or an errno. Not is_open() any more: the file system refuses.
  int write(std::uint64_t address, const void* from, std::size_t bytes);

 private:
  void close();
  int write_pages(std::uint64_t address, const char* from, std::size_t bytes);

  int file_ = -1, direct_ = -1, refusal_ = 0;
};

}  // namespace leat
