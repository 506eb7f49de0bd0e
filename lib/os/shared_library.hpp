// SPDX-License-Identifier: Apache-2.0
// Looking into a shared library without running it, and loading it.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/status.hpp"

namespace leat::os {

/// Copies the first `bytes` of the object that the ELF file at `path` exports as `symbol`, as they
/// lie in the file, before any relocation. Nothing of the library is loaded, so none of its code
/// runs, not even constructors. Errors say what the file is instead: missing, not a shared library
/// of this machine, without that symbol.
Result<void> peek_exported(const std::string& path, const std::string& symbol, void* to,
                           std::size_t bytes);

/// Loads a library for good (it is never unloaded: code of it may be on some thread's stack) and
/// returns the address of `symbol`. Symbols of one library are not visible to others; all are bound
/// now, so that a missing one shows here.
Result<const void*> load_symbol(const std::string& path, const std::string& symbol);

/// From here on libraries that are loaded look for symbols in themselves and in what they need
/// first: the program has libraries of its own, and maybe the same one of another build. Not under
/// a sanitizer, which has to come first.
void keep_libraries_apart() noexcept;

}  // namespace leat::os
