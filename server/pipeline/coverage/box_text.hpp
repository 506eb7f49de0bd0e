// SPDX-License-Identifier: Apache-2.0
// Boxes of a variable's global array, for people.
#pragma once

#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/boxes.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

/// What of the global array is the block's own: its ghosts are not.
Box own_box(const model::Layout& layout, const Block& block) noexcept;
/// The whole global array.
Box whole_box(const model::Layout& layout, const Block& block) noexcept;

/// "(y=0:4, x=8:16)", as numpy counts; with order="fortran" "(x=9:16, y=1:4)", as Fortran does.
std::string text_of(const model::Layout& layout, const Box& box);
/// The first some of them.
std::string text_of(const model::Layout& layout, const std::vector<Box>& boxes);
/// "ranks 0-3: (y=0:4, x=8:16)": who wrote which.
std::string text_of_writers(const model::Layout& layout, const std::vector<Block>& blocks);

}  // namespace leat::server
