#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes leat_alloc_names.inc and leat_alloc_bodies.inc into the folder that is named: one specific procedure of leat_alloc
per type and rank, since Fortran has no pointer of any type."""
import pathlib
import sys

TYPES = [("int8", "integer(int8)", 1), ("int16", "integer(int16)", 2), ("int32", "integer(int32)", 3),
         ("int64", "integer(int64)", 4), ("real32", "real(real32)", 9), ("real64", "real(real64)", 10),
         ("complex32", "complex(real32)", 11), ("complex64", "complex(real64)", 12)]
RANKS = range(8)

BODY = """
  subroutine alloc_{name}_{rank}(variable, data, block, stat, errmsg)
    character(*), intent(in) :: variable
    {type}, pointer, intent(out) :: data{colons}
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: memory
    integer(c_int64_t) :: extent(7)
    nullify(data)
    call report(alloc_c(variable, {code}_c_int, {rank}_c_int, memory, extent, number_of(block)), stat, &
      errmsg)
    if (c_associated(memory)) call c_f_pointer(memory, data{shape})
  end subroutine
"""


def main(folder):
    names = [f"alloc_{name}_{rank}" for name, _, _ in TYPES for rank in RANKS]
    interface = "  interface leat_alloc\n" + "".join(f"    module procedure {n}\n" for n in names) + "  end interface\n"
    bodies = "".join(
        BODY.format(name=name, type=type_, code=code, rank=rank,
                    colons="(" + ",".join(":" * rank) + ")" if rank else "",
                    shape=f", extent(1:{rank})" if rank else "")
        for name, type_, code in TYPES for rank in RANKS)
    (folder / "leat_alloc_names.inc").write_text(interface)
    (folder / "leat_alloc_bodies.inc").write_text(bodies)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
