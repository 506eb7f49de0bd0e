#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the module leat that are made, into the folder that is named: leat_calls_names.inc and leat_calls_bodies.inc,
the calls of client-api/api/calls.def that take no more than a translation of their arguments; leat_alloc_names.inc and
leat_alloc_bodies.inc, one specific procedure of leat_alloc per type and rank, since Fortran has no pointer of any type; and
leat_module_names.inc and leat_module_bodies.inc of the module leat_module, likewise."""
import pathlib
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "client-api/api"))
from calls_table import calls  # noqa: E402 - its folder is no package

# How an argument is declared by the function of C, by the procedure of the module, and how the second gives it to the first.
C = {"TEXT": "character(kind=c_char), intent(in) :: {}(*)", "BLOCK": "integer(c_int32_t), value :: {}",
     "RANKS": "integer(c_int32_t), value :: {}", "INT": "integer(c_int32_t), value :: {}", "LONG": "integer(c_int64_t), value :: {}",
     "REAL": "real(c_double), value :: {}", "NUMBERS": "type(list_t), intent(in) :: {}", "POSITION": "type(list_t), intent(in) :: {}",
     "REALS": "type(list_t), intent(in) :: {}",
     "LONG_TO": "integer(c_int64_t), intent(inout) :: {}", "REAL_TO": "real(c_double), intent(inout) :: {}"}
TAKEN = {"TEXT": "character(*), intent(in) :: {}", "BLOCK": "integer, intent(in), optional :: {}",
         "RANKS": "integer, intent(in), optional :: {}", "INT": "integer, intent(in) :: {}",
         "LONG": "integer(int{kind}), intent(in) :: {}", "REAL": "real(real{kind}), intent(in) :: {}",
         "NUMBERS": "integer(int{kind}), intent(in) :: {}(:)", "POSITION": "integer(int{kind}), intent(in) :: {}(:)",
         "REALS": "real(real{kind}), intent(in) :: {}(:)",
         "LONG_TO": "integer(int{kind}), intent(inout) :: {}", "REAL_TO": "real(real{kind}), intent(inout) :: {}"}
GIVEN = {"TEXT": "trim({}) // c_null_char", "BLOCK": "number_of({})", "RANKS": "number_of({})", "INT": "int({}, c_int32_t)",
         "LONG": "int({}, c_int64_t)", "REAL": "real({}, c_double)", "NUMBERS": "list_of(wide)", "POSITION": "list_of(wide)",
         "REALS": "reals_of(wide)",
         "LONG_TO": "wide", "REAL_TO": "wide"}
OF_ANY_KIND = ("LONG", "REAL", "NUMBERS", "POSITION", "REALS", "LONG_TO", "REAL_TO")
LOCALS = {"NUMBERS": "integer(c_int64_t), target :: wide(size({0}))", "POSITION": "integer(c_int64_t), target :: wide(size({0}))",
          "REALS": "real(c_double), target :: wide(size({0}))",
          "LONG_TO": "integer(c_int64_t) :: wide", "REAL_TO": "real(c_double) :: wide"}
BEFORE = {"NUMBERS": "wide = int({}, c_int64_t)", "POSITION": "wide = int({}, c_int64_t) - 1",
          "REALS": "wide = real({}, c_double)", "LONG_TO": "wide = int({}, c_int64_t)",
          "REAL_TO": "wide = real({}, c_double)"}
OPTIONAL = ["integer(c_int), intent(out), optional :: stat", "character(*), intent(inout), optional :: errmsg"]

TYPES = [("int8", "integer(int8)", 1), ("int16", "integer(int16)", 2), ("int32", "integer(int32)", 3),
         ("int64", "integer(int64)", 4), ("real32", "real(real32)", 9), ("real64", "real(real64)", 10),
         ("complex32", "complex(real32)", 11), ("complex64", "complex(real64)", 12)]
RANKS = range(8)
ALLOC = """
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

# Of modules of graphs.
MODULE_TYPES = [each for each in TYPES if each[0] in ("int32", "int64", "real32", "real64")]
MODULE_RANKS = range(4)
GET = """
  subroutine get_{name}_{rank}(port, data, part, stat, errmsg)
    character(*), intent(in) :: port
    {type}, pointer, intent(out) :: data{colons}
    integer, intent(in), optional :: part
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(part_t) :: found
    nullify(data)
    call find(port, part, {code}_c_int, "{type}", {rank}_c_int, found, stat, errmsg)
    if (c_associated(found%data)) call c_f_pointer(found%data, data{shape})
  end subroutine
"""
PUT = """
  subroutine put_{name}_{rank}(port, data, unit, names, stat, errmsg)
    character(*), intent(in) :: port
    {type}, intent(in), target{contiguous} :: data{colons}
    character(*), intent(in), optional :: unit, names(:)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call hand_over(port, c_loc(data), {code}_c_int, shape(data, c_int64_t), unit, names, stat, errmsg)
  end subroutine
"""
MEMORY = """
  subroutine memory_{name}_{rank}(data, extent, stat, errmsg)
    {type}, pointer, intent(out) :: data{colons}
    integer, intent(in) :: extent({rank})
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: memory
    nullify(data)
    call report(put_memory_c(product(int(extent, c_int64_t)) * (storage_size(data) / 8), memory), stat, errmsg)
    if (c_associated(memory)) call c_f_pointer(memory, data, extent)
  end subroutine
"""


def comment(call):
    return "".join(f"  ! {line}\n" for line in textwrap.wrap(call.purpose, 116))


def of_any_kind(call):
    """The argument of which there is a procedure for each kind, if there is one."""
    return next((a for a in call.arguments if a.role in OF_ANY_KIND), None)


def procedures(call):
    return [f"{call.name}_32", f"{call.name}_64"] if of_any_kind(call) else [f"leat_{call.name}"]


def interface(call):
    names = ", ".join(a.name for a in call.arguments)
    declared = "".join(f"      {C[a.role].format(a.name)}\n" for a in call.arguments)
    head = f'    integer(c_int) function {call.name}_c({names}) bind(C, name="leat_{call.function}")'
    return f"{head}\n      import\n{declared}    end function\n"


def generic(call):
    if not of_any_kind(call):
        return ""
    return f"\n  interface leat_{call.name}\n    module procedure {', '.join(procedures(call))}\n  end interface\n"


def ends(call, argument, kind):
    """What is done with the status of the function of C."""
    given = ", ".join(GIVEN[a.role].format(a.name) for a in call.arguments)
    called = f"{call.name}_c({given})"
    if not argument or not argument.role.endswith("_TO"):
        return [f"call report({called}, &", "  stat, errmsg)"]
    if argument.role == "REAL_TO":
        return [f"status = {called}", f"{argument.name} = real(wide, real{kind})", "call report(status, stat, errmsg)"]
    subject = call.arguments[0].name if call.arguments[0].role == "TEXT" else f'"{argument.name}"'
    return [f"status = {called}", f"if (wide > huge({argument.name}) .or. wide < -huge({argument.name}) - 1_int64) then",
            f'  call report_misfit("leat_{call.name}", {subject}, stat, errmsg)', "else",
            f"  {argument.name} = int(wide, int{kind})", "  call report(status, stat, errmsg)", "end if"]


def body(call, name):
    argument, kind = of_any_kind(call), name[-2:]
    order = [a.name for a in call.in_order_of_languages()] + ["stat", "errmsg"]
    lines = [TAKEN[a.role].format(a.name, kind=kind) for a in call.in_order_of_languages()] + OPTIONAL
    if argument and argument.role in LOCALS:
        lines.append(LOCALS[argument.role].format(argument.name))
        if argument.role.endswith("_TO"):
            lines.append("integer(c_int) :: status")
        lines.append(BEFORE[argument.role].format(argument.name))
    lines += ends(call, argument, kind)
    inside = "".join(f"    {line}\n" for line in lines)
    return f"\n{comment(call)}  subroutine {name}({', '.join(order)})\n{inside}  end subroutine\n"


def calls_parts():
    made = [call for call in calls() if call.is_made_for("Fortran")]
    public = "".join(f"  public :: leat_{call.name}\n" for call in made)
    names = public + "\n  interface\n" + "\n".join(map(interface, made)) + "  end interface\n" + "".join(map(generic, made))
    return names, "".join(body(call, name) for call in made for name in procedures(call))


def alloc_parts():
    names = [f"alloc_{name}_{rank}" for name, _, _ in TYPES for rank in RANKS]
    interfaces = "  interface leat_alloc\n" + "".join(f"    module procedure {n}\n" for n in names) + "  end interface\n"
    return interfaces, "".join(
        ALLOC.format(name=name, type=type_, code=code, rank=rank, colons="(" + ",".join(":" * rank) + ")" if rank else "",
                     shape=f", extent(1:{rank})" if rank else "")
        for name, type_, code in TYPES for rank in RANKS)


def procedures_of(template, ranks):
    return "".join(
        template.format(name=name, type=type_, code=code, rank=rank, colons="(" + ",".join(":" * rank) + ")" if rank else "",
                        contiguous=", contiguous" if rank else "",
                        shape=f", found%extent({rank}:1:-1)" if rank else "")  # which are in the order of C
        for name, type_, code in MODULE_TYPES for rank in ranks)


def module_parts():
    made = [("get", "get", GET, MODULE_RANKS), ("put", "put", PUT, MODULE_RANKS), ("put_memory", "memory", MEMORY, MODULE_RANKS[1:])]
    names = "".join(
        f"  interface leat_{generic_}\n"
        + "".join(f"    module procedure {kind}_{name}_{rank}\n" for name, _, _ in MODULE_TYPES for rank in ranks) + "  end interface\n"
        for generic_, kind, _, ranks in made)
    return names, "".join(procedures_of(template, ranks) for _, _, template, ranks in made)


def main(folder):
    for part, (names, bodies) in (("calls", calls_parts()), ("alloc", alloc_parts()), ("module", module_parts())):
        (folder / f"leat_{part}_names.inc").write_text(names)
        (folder / f"leat_{part}_bodies.inc").write_text(bodies)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
