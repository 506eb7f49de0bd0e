// SPDX-License-Identifier: Apache-2.0
// Messages from one process to another through files in a folder that both see, be they on nodes of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace leat::comm {

// A stream has files "<name>.0", "<name>.1", ... of some MiB each. One process writes them, another one reads them: nothing is locked.
// The next file is made before the last frame of the one before says that there is one, so that no client of a
// network file system looks for it too early and remembers that it is not there. The reader removes a file that it has
// read to its end, which tells the writer that it may make another one.
//
// A frame is a message with its number in the stream, its length and the CRC-32C of these and of the name. Pages of a
// file may reach a reader in any order, or a part of them never: a frame is taken when it is whole, and not before.
//
// Each call opens the files it needs and closes them, since that is when network file systems look at the server for what is
// new, and tell of a disk that is full. `folder` is the descriptor of a folder below which the name is.

constexpr std::size_t kMostBytesOfFrame = std::size_t{64} << 20;

class FileWriter {
 public:
  enum class State {
    good,
    late,  ///< it cannot be written now, and is to be tried again; `why` says why
    gone   ///< the reader, or somebody else, has removed it
  };

  explicit FileWriter(std::string name);
  /// False when it is too long. Written by write().
  bool send(std::string_view message);
  /// The last one; the reader removes the file then.
  void end();
  State write(int folder, std::string* why);
  /// Whether the file that is written now is still there.
  bool is_there(int folder) const;
  /// Bytes that are not written yet.
  std::size_t unsent() const;
  bool has_unsent() const { return parts_.size() > 1 || !parts_.front().bytes.empty(); }

 private:
  struct Part {
    std::uint32_t file = 0;
    bool is_made = false;
    std::uint64_t begin = 0;  // of `bytes`, in the file
    std::string bytes{};
  };

  std::string path(std::uint32_t file) const { return name_ + '.' + std::to_string(file); }
  void put(std::uint32_t kind, std::string_view message);
  State make(int folder, Part* part, std::string* why) const;
  State write_part(int folder, Part* part, std::string* why) const;

  std::string name_;
  std::uint32_t next_ = 0;  // number of the next frame
  std::deque<Part> parts_{Part{}};
};

class FileReader {
 public:
  enum class State {
    good,
    late,   ///< it cannot be read now, and is to be tried again; `why` says why
    gone,   ///< the writer, or somebody else, has removed it
    ended,  ///< after these messages there are none
    broken  ///< what is there has been no frame for too long
  };

  /// `patience_ns`: how long a frame may be there in part.
  FileReader(std::string name, std::int64_t patience_ns);
  /// Adds what has come.
  State read(int folder, std::int64_t now_ns, std::vector<std::string>* messages, std::string* why);
  /// The file that is read now: there is nothing more to be read of it.
  void remove(int folder) const;

 private:
  enum class Taken { nothing, some, next_file, end };

  std::string path() const { return name_ + '.' + std::to_string(file_); }
  Taken take_frames(std::string_view bytes, std::vector<std::string>* messages);
  bool is_torn_for_long(std::int64_t now_ns);

  std::string name_;
  std::int64_t patience_ns_;
  std::uint32_t file_ = 0, next_ = 0;  // number of the file, of the next frame
  std::uint64_t begin_ = 0;            // of the next frame, in the file
  std::size_t needed_ = 0;             // bytes of the next frame, as far as is known
  std::int64_t torn_since_ns_ = 0;
};

}  // namespace leat::comm
