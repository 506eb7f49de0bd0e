#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind x every rank x every way to pass an array. As a program: writes matrix.f90 and matrix.xml into the folder that is
named. As a module: cases() says what must be in the file."""
import pathlib
import sys

import numpy as np

# name: Fortran type, XML type, numpy type, element number i in Fortran
KINDS = {
    "int8": ("integer(int8)", "int8", "i1", "int(mod(i, 100), int8)"),
    "int16": ("integer(int16)", "int16", "i2", "int(mod(i, 100), int16)"),
    "int32": ("integer(int32)", "int32", "i4", "int(mod(i, 100), int32)"),
    "int64": ("integer(int64)", "int64", "i8", "int(mod(i, 100), int64)"),
    "real32": ("real(real32)", "float", "f4", "real(mod(i, 100), real32)"),
    "real64": ("real(real64)", "double", "f8", "real(mod(i, 100), real64)"),
    "complex32": ("complex(real32)", "complex64", "c8", "cmplx(mod(i, 100), -mod(i, 100), real32)"),
    "complex64": ("complex(real64)", "complex128", "c16", "cmplx(mod(i, 100), -mod(i, 100), real64)"),
    "logical1": ("logical(int8)", "int8", "i1", "logical(mod(i, 3) == 0, int8)"),
    "logical4": ("logical(int32)", "int32", "i4", "logical(mod(i, 3) == 0, int32)"),
    "char1": ("character(1)", "char", "S1", "achar(65 + mod(i, 26))"),
    "char3": ("character(3)", "char", "S1", "repeat(achar(65 + mod(i, 26)), 2) // '!'"),
}
SIZES = [5, 4, 3, 2, 2, 2, 2]
VARIANTS = ["contiguous", "strided", "negative", "pointer", "explicit", "zero"]


def section(variant, rank):
    """The section in Fortran and in numpy."""
    fortran, python = [], []
    for d in range(rank):
        n = SIZES[d]
        if variant == "strided":
            fortran.append(f"1:{n}:2"), python.append(slice(0, n, 2))
        elif variant == "negative" and d in (0, rank - 1):
            fortran.append(f"{n}:1:-1"), python.append(slice(None, None, -1))
        elif variant == "pointer":
            fortran.append("2:"), python.append(slice(1, None))
        elif variant == "zero" and d == 0:
            fortran.append("1:0"), python.append(slice(0, 0))
        else:
            fortran.append(":"), python.append(slice(None))
    return ", ".join(fortran), tuple(python)


def combinations():
    for kind in KINDS:
        for rank in range(8):
            for variant in VARIANTS if rank else VARIANTS[:1]:
                yield kind, rank, variant


def parent(kind, rank):
    """The whole array, in Fortran's order."""
    count = int(np.prod(SIZES[:rank], dtype=int))
    i = np.arange(1, count + 1)
    dtype = KINDS[kind][2]
    if kind.startswith("logical"):
        values = (i % 3 == 0).astype(dtype)
    elif kind.startswith("char"):
        values = np.array([bytes([65 + n % 26]) for n in i], "S1")
    elif kind.startswith("complex"):
        values = ((i % 100) - 1j * (i % 100)).astype(dtype)
    else:
        values = (i % 100).astype(dtype)
    return values.reshape(SIZES[:rank], order="F")


def cases():
    """(variable, expected elements in the file's order, expected extents in the file's order)."""
    for kind, rank, variant in combinations():
        part = parent(kind, rank)[section(variant, rank)[1]]
        expected, extents = part.ravel(order="F"), list(part.shape[::-1])
        if kind == "char3":
            expected = np.array([c for e in expected for c in (e, e, b"!")], "S1")
            extents.append(3)
        yield f"{kind}_{rank}_{variant}", expected, extents


def program():
    lines = ["! Made by tests/fortran/matrix.py.", "program matrix", "  use leat", "  use, intrinsic :: iso_fortran_env",
             "  implicit none", "  integer :: stat", "  call leat_init('matrix.xml', stat)", "  if (stat /= 0) error stop 1"]
    lines += [f"  call write_{kind}()" for kind in KINDS]
    lines += ["  call leat_end_iteration()", "  call leat_finalize(stat)", "  if (stat /= 0) error stop 2", "contains"]
    for kind, (type_, _, _, element) in KINDS.items():
        names = [f"a{rank}({','.join(':' * rank)})" for rank in range(1, 8)]
        lines += [f"  subroutine write_{kind}()", "    integer :: i"]
        lines += [f"    {type_}, allocatable, target :: {n}" for n in names] + [f"    {type_} :: a0"]
        lines += [f"    {type_}, pointer :: {n.replace('a', 'p', 1)}" for n in names]
        lines += ["    i = 1", f"    a0 = {element}", f"    call leat_write('{kind}_0_contiguous', a0)"]
        for rank in range(1, 8):
            shape = ", ".join(map(str, SIZES[:rank]))
            count = int(np.prod(SIZES[:rank]))
            lines += [f"    allocate(a{rank}({shape}))",
                      f"    a{rank} = reshape([({element}, i=1, {count})], [{shape}])"]
            for variant in VARIANTS:
                name, part = f"{kind}_{rank}_{variant}", section(variant, rank)[0]
                if variant == "pointer":
                    lines += [f"    p{rank} => a{rank}({part})", f"    call leat_write('{name}', p{rank})"]
                elif variant == "explicit":
                    lines += [f"    call explicit_{kind}_{rank}('{name}', a{rank}, {shape})"]
                elif variant == "contiguous":
                    lines += [f"    call leat_write('{name}', a{rank})"]
                else:
                    lines += [f"    call leat_write('{name}  ', a{rank}({part}))"]
        lines += ["  end subroutine"]
        for rank in range(1, 8):
            n = ", ".join(f"n{d}" for d in range(1, rank + 1))
            lines += [f"  subroutine explicit_{kind}_{rank}(name, a, {n})", "    character(*), intent(in) :: name",
                      f"    integer, intent(in) :: {n}", f"    {type_}, intent(in) :: a({n})",
                      "    call leat_write(name, a)", "  end subroutine"]
    return "\n".join(lines + ["end program", ""])


def xml():
    layouts, variables = [], []
    for kind, (_, type_, _, _) in KINDS.items():
        for rank in range(8):
            dims = ",".join(["?"] * rank + (["3"] if kind == "char3" else []))
            layouts.append(f'<layout name="{kind}_{rank}" type="{type_}"' + f' dimensions="{dims}"/>')
    for kind, rank, variant in combinations():
        variables.append(f'<variable name="{kind}_{rank}_{variant}" layout="{kind}_{rank}"/>')
    return ('<simulation name="matrix"><architecture><buffer size="16MiB"/></architecture><data>\n'
            + "\n".join(layouts + variables) + '\n</data><storage><store name="out" type="hdf5"/></storage></simulation>\n')


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    (folder / "matrix.f90").write_text(program())
    (folder / "matrix.xml").write_text(xml())
