# SPDX-License-Identifier: Apache-2.0
# leat_need(<package> DEBIAN <its package> FOR <what needs it> [OPTION <which turns that off>] [COMPONENTS ...]):
# find_package that says what to do when it finds nothing. A macro, since find_package sets variables where it is called.
macro(leat_need package)
  cmake_parse_arguments(NEED "" "DEBIAN;FOR;OPTION" "COMPONENTS" ${ARGN})
  if(NEED_COMPONENTS)
    find_package(${package} QUIET COMPONENTS ${NEED_COMPONENTS})
  else()
    find_package(${package} QUIET)
  endif()
  leat_found(${package} "${${package}_FOUND}" "${NEED_DEBIAN}" "${NEED_FOR}" "${NEED_OPTION}")
endmacro()

# Ends the configuration when `found` is false.
function(leat_found package found debian for option)
  if(NOT found)
    set(without "")
    if(option)
      set(without " -D${option}=OFF builds Leat without it.")
    endif()
    message(FATAL_ERROR "${package} is not found: ${for} needs it. On Debian: apt-get install ${debian}. "
      "Elsewhere -DCMAKE_PREFIX_PATH=<folder> says where it is.${without}")
  endif()
endfunction()
