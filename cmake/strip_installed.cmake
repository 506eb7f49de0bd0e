# SPDX-License-Identifier: Apache-2.0
# Run at the end of each installation, with LEAT_BUILD, LEAT_STRIP_PROGRAM and LEAT_OBJCOPY: takes the debug information out
# of what was just installed and leaves it in LEAT_BUILD/debug, named and placed as gdb and addr2line look for it beside the
# program: .debug/<name>.debug. The component `debug` installs that.
function(leat_strip file place)
  cmake_path(GET place PARENT_PATH folder)
  cmake_path(GET place FILENAME name)
  # Installations may run side by side: each makes a file of its own, the name gets a whole one.
  string(RANDOM LENGTH 12 turn)
  set(work "${LEAT_BUILD}/CMakeFiles/debug-${turn}")
  set(kept "${LEAT_BUILD}/debug/${folder}/.debug")
  file(MAKE_DIRECTORY "${work}" "${kept}")
  execute_process(COMMAND "${LEAT_OBJCOPY}" --only-keep-debug "${file}" "${work}/${name}.debug" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${LEAT_STRIP_PROGRAM}" "${file}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${LEAT_OBJCOPY}" "--add-gnu-debuglink=${work}/${name}.debug" "${file}" COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME "${work}/${name}.debug" "${kept}/${name}.debug")
  file(REMOVE_RECURSE "${work}")
endfunction()

function(leat_strip_installed)
  foreach(installed IN LISTS CMAKE_INSTALL_MANIFEST_FILES)
    set(file "$ENV{DESTDIR}${installed}")
    if(IS_SYMLINK "${file}" OR IS_DIRECTORY "${file}" OR NOT EXISTS "${file}")
      continue()
    endif()
    file(READ "${file}" magic LIMIT 4 HEX)
    if(magic STREQUAL "7f454c46")
      file(RELATIVE_PATH place "${CMAKE_INSTALL_PREFIX}" "${installed}")
      leat_strip("${file}" "${place}")
    endif()
  endforeach()
endfunction()
leat_strip_installed()
