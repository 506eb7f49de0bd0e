// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "server/include/plugin.hpp"
#include "server/plugins/common/whole_io.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"

namespace leat::hdf5::xdmf {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

// What makes it one of ours, and of this file.
std::string first_lines(const std::string& file_name) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + comment_text(mark_of(file_name)) + "\n";
}

bool is_sidecar_of(const std::string& sidecar, const std::string& file_name) {
  const std::string wanted = first_lines(file_name);
  const Descriptor fd(FilePlace(sidecar).open(O_RDONLY));
  std::string found(wanted.size(), '\0');
  return fd.is_open() && read_whole(fd, found.data(), found.size(), 0) == 0 && found == wanted;
}

TemporaryFile temporary_for(const std::string& sidecar, const std::string& maker) {
  return TemporaryFile(fs::path(sidecar).parent_path() / ("." + name_of(sidecar) + "." + maker));
}

void replace_all(std::string* text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size())
    text->replace(at, what.size(), by);
}

// Line by line: it may be long.
void copy_for(const std::string& from, const std::string& file_name, const std::string& to,
              const std::string& new_name) {
  std::ifstream read(from, std::ios::binary);
  std::ofstream write(to, std::ios::binary | std::ios::trunc);
  std::string line;
  for (int number = 0; std::getline(read, line); ++number) {
    if (number == 1)
      line = comment_text(mark_of(new_name));
    else
      replace_all(&line, ">" + escaped(file_name) + ":/", ">" + escaped(new_name) + ":/");
    write << line << '\n';
  }
  write.close();
  if (!write || read.bad()) throw std::runtime_error("cannot write " + to);
}

// By a run whose file it is. One that does not say what its run is has wanted none.
bool is_wanted_in(const std::string& path) {
  be_quiet();
  try {
    const Id file = open_plain(path, path);
    return is_wanted(DescribedRun(file).run());
  } catch (const std::exception&) {
    innermost_error();
    return false;
  }
}

}  // namespace

bool is_wanted(const leat_run& run) {
  return option(run.options, run.option_count, "xdmf", "false") == "true";
}

std::string sidecar_of(const std::string& path) {
  return fs::path(path).replace_extension(".xmf").string();
}

Facts make_sidecar(hid_t file, const leat_run& run, const std::string& path,
                   const std::string& maker, const std::function<void()>& progress) {
  const std::string sidecar = sidecar_of(path);
  if (fs::exists(fs::symlink_status(sidecar)) && !is_sidecar_of(sidecar, name_of(path)))
    throw std::runtime_error(sidecar + " is there, and is not the sidecar of " + name_of(path) +
                             ": move it away, or give the run another name with file=\"...\"");
  TemporaryFile temporary = temporary_for(sidecar, maker);
  Facts facts = write_document(file, run, temporary.open_path(), name_of(path), progress);
  if (facts.steps > 0) temporary.rename_to(sidecar);
  return facts;
}

Facts make_sidecar(const std::string& path, const std::string& maker) {
  be_quiet();
  const Id file = open_of_leat(path);
  const DescribedRun described(file);
  return make_sidecar(file, described.run(), path, maker, is_alive);
}

std::string remade_sidecar(const std::string& path, const std::string& maker) {
  if (!is_sidecar_of(sidecar_of(path), name_of(path)) && !is_wanted_in(path)) return "";
  try {
    const Facts facts = make_sidecar(path, maker);
    return facts.steps > 0 ? described(path, facts) : "";
  } catch (const std::exception& e) {
    return sidecar_of(path) + " could not be made: " + e.what() + "\n";
  }
}

std::string described(const std::string& path, const Facts& facts) {
  return sidecar_of(path) + ": " + std::to_string(facts.steps) +
         (facts.steps == 1 ? " step\n" : " steps\n");
}

// The new one is there before the old one goes; it refers to nothing until the file has its name.
void set_aside_sidecar(const std::string& path, const std::string& kept) {
  const std::string sidecar = sidecar_of(path);
  if (!is_sidecar_of(sidecar, name_of(path))) return;
  try {
    TemporaryFile temporary = temporary_for(sidecar_of(kept), "kept");
    copy_for(sidecar, name_of(path), temporary.open_path(), name_of(kept));
    temporary.rename_to(sidecar_of(kept));
  } catch (const std::exception&) {
    // `leat xdmf` makes it again.
  }
  remove_sidecar(path);
}

void remove_sidecar(const std::string& path) {
  std::error_code failed;
  if (is_sidecar_of(sidecar_of(path), name_of(path))) fs::remove(sidecar_of(path), failed);
}

}  // namespace leat::hdf5::xdmf
