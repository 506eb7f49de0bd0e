/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For libraries that give Leat another interface, like libdamaris: what they must know of the XML before there is a session.
 */
#ifndef LEAT_DESCRIBE_H
#define LEAT_DESCRIBE_H

#include "leat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has leatd read the XML, and fills *text with what it says, one thing in a line, words separated by tabs; the caller frees it.
 *
 *     parameter  NAME  int|double|string  VALUE      without VALUE when it has none yet; \t, \n and \\ stand for such characters
 *     place      process|ranks|...  CORES            where the server lives, with "ranks" call leat_split; and its cores
 *     type       NAME  int32|float64|...             of each variable; char where it has the types of cells of a mesh
 *     variable   NAME  BLOCKS                        of the variables with a global array: blocks of a rank in an iteration
 *
 * There will be other lines: pass over what you do not know. No session is needed, none is begun; MPI is not used: one rank may
 * ask and tell the others. With libleat_stub, and with LEAT=off where there is no leatd, the text is empty.
 * Errors: CONFIG, with all errors of the XML in leat_last_error(); SERVER; TIMEOUT; ARGUMENT. *text is NULL then. */
LEAT_API leat_status leat_describe(const char* config, char** text);

#ifdef __cplusplus
}
#endif

#endif
