// SPDX-License-Identifier: Apache-2.0
// Format: ELF-64, System V ABI, chapters 4 and 5.
#include "lib/os/shared_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::os {
namespace {

// Reads at places that the file itself names, and may name wrongly.
class ElfFile {
 public:
  explicit ElfFile(int fd) : fd_(fd) {}

  bool read(std::uint64_t offset, void* to, std::size_t bytes) const {
    return ::pread(fd_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

  bool is_library_of_this_machine() {
    return read(0, &header_, sizeof header_) &&
           std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
           header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_type == ET_DYN &&
           header_.e_machine == this_machine() && header_.e_shentsize == sizeof(Elf64_Shdr) &&
           header_.e_phentsize == sizeof(Elf64_Phdr);
  }

  std::optional<Elf64_Sym> find(const std::string& name) const {
    const std::optional<Elf64_Shdr> symbols = section_of_type(SHT_DYNSYM);
    Elf64_Shdr strings;
    if (!symbols || !section(symbols->sh_link, &strings)) return {};
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!read(symbols->sh_offset + at, &symbol, sizeof symbol)) return {};
      if (symbol.st_shndx != SHN_UNDEF && is_called(strings.sh_offset + symbol.st_name, name))
        return symbol;
    }
    return {};
  }

  // Where in the file the bytes lie that will be loaded at `address`.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::size_t bytes) const {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr part;
      if (!read(header_.e_phoff + i * sizeof part, &part, sizeof part)) return {};
      if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
          address - part.p_vaddr + bytes <= part.p_filesz) {
        return part.p_offset + (address - part.p_vaddr);
      }
    }
    return {};
  }

 private:
  static Elf64_Half this_machine() {
    static const Elf64_Half machine = [] {
      Elf64_Ehdr self{};
      const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
      return ElfFile(fd.get()).read(0, &self, sizeof self) ? self.e_machine : Elf64_Half{EM_NONE};
    }();
    return machine;
  }

  bool section(unsigned index, Elf64_Shdr* to) const {
    return index < header_.e_shnum && read(header_.e_shoff + index * sizeof *to, to, sizeof *to);
  }

  std::optional<Elf64_Shdr> section_of_type(Elf64_Word type) const {
    Elf64_Shdr each;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      if (section(i, &each) && each.sh_type == type) return each;
    }
    return {};
  }

  bool is_called(std::uint64_t offset, const std::string& name) const {
    std::vector<char> text(name.size() + 1);
    return read(offset, text.data(), text.size()) &&
           std::memcmp(text.data(), name.c_str(), text.size()) == 0;
  }

  int fd_;
  Elf64_Ehdr header_{};
};

std::atomic<int> apart{0};  // a flag of dlopen

Error refused(const std::string& path, const std::string& why) {
  return {Status::ERROR_CONFIG, "the plugin \"" + path + "\" cannot be used: " + why};
}

}  // namespace

Result<void> peek_exported(const std::string& path, const std::string& symbol, void* to,
                           std::size_t bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return refused(path, errno_text(errno));
  ElfFile file(fd.get());
  if (!file.is_library_of_this_machine()) {
    return refused(path, "it is not a shared library for this machine");
  }
  const std::optional<Elf64_Sym> found = file.find(symbol);
  if (!found) return refused(path, "it does not export \"" + symbol + "\"");
  if (found->st_size < bytes) return refused(path, "its \"" + symbol + "\" is too short");
  const std::optional<std::uint64_t> offset = file.offset_of(found->st_value, bytes);
  if (!offset || !file.read(*offset, to, bytes)) {
    return refused(path, "its \"" + symbol + "\" is not a constant in the file");
  }
  return {};
}

void keep_libraries_apart() noexcept {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  apart = RTLD_DEEPBIND;
#endif
}

Result<const void*> load_symbol(const std::string& path, const std::string& symbol) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | apart);
  if (!library) return refused(path, ::dlerror());
  const void* address = ::dlsym(library, symbol.c_str());
  if (!address) return refused(path, "it does not export \"" + symbol + "\"");
  return address;
}

}  // namespace leat::os
