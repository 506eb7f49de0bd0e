/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a LAMMPS input deck, as it is, and hands the atoms over to Leat every few steps. LAMMPS itself is not changed:
 * this program drives it through its C library interface.
 *
 *     mpirun -n 2 leat_lammps --every 100 crack.xml in.crack
 *
 * Atoms move from rank to rank, so each rank's number of atoms changes from step to step.
 */
#include <lammps/library.h>
#include <leat_mpi.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
  const char *xml, *deck, *dump;
  int every, steps; /* steps: 0 for as many as the deck says */
};

static void stop(const char* why) {
  fprintf(stderr, "leat_lammps: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Formats a LAMMPS command and lets LAMMPS run it. */
static void command(void* lammps, const char* format, ...) {
  char text[256], error[256];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  lammps_command(lammps, text);
  if (!lammps_has_error(lammps)) return;
  lammps_get_last_error_message(lammps, error, sizeof error);
  stop(error);
}

/* region leat: all that Leat needs to know of a step */
static void hand_over_atoms(void* lammps) {
  const int atoms = *(int*)lammps_extract_global(lammps, "nlocal");
  double** x = lammps_extract_atom(lammps, "x"); /* x[0] is the first of 3 * atoms numbers */
  double** v = lammps_extract_atom(lammps, "v");
  leat_set_int("atoms", atoms);
  leat_write("x", atoms > 0 ? x[0] : NULL);
  leat_write("v", atoms > 0 ? v[0] : NULL);
  leat_write("id", lammps_extract_atom(lammps, "id"));
  leat_write("type", lammps_extract_atom(lammps, "type"));
  leat_end_iteration();
}
/* end region */

/* In the place of `run N`: the same N steps in pieces. "pre no" continues where the last piece ended, without setting up
 * anew, so the trajectory is that of one long run to the last bit; tests/integration/test_lammps.py compares them. */
static void run_in_pieces(void* lammps, int steps, int every) {
  command(lammps, "run 0 post no");
  hand_over_atoms(lammps);
  for (int done = 0; done < steps; done += every) {
    command(lammps, "run %d pre no post no", done + every < steps ? every : steps - done);
    if (done + every <= steps) hand_over_atoms(lammps);
  }
}

/* With --dump: LAMMPS alone, one long run, its own dump of the same steps. */
static void run_with_dump(void* lammps, int steps, const struct options* o) {
  command(lammps, "dump leat all custom %d %s id type x y z vx vy vz", o->every, o->dump);
  command(lammps, "dump_modify leat sort id format float %%.17g");
  command(lammps, "run %d", steps);
}

static void run_deck(void* lammps, const struct options* o) {
  char line[1024];
  int steps;
  FILE* deck = fopen(o->deck, "r");
  if (!deck) stop("cannot read the deck");
  while (fgets(line, sizeof line, deck)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#' || line[0] == '\0') continue;
    if (line[strlen(line) - 1] == '&') stop("a deck with '&' lines is beyond this example");
    if (sscanf(line, "run %d", &steps) != 1) {
      command(lammps, "%s", line);
      continue;
    }
    if (o->steps > 0) steps = o->steps;
    if (o->dump) {
      run_with_dump(lammps, steps, o);
    } else {
      run_in_pieces(lammps, steps, o->every);
    }
  }
  fclose(deck);
}

static struct options read_options(int count, char** words) {
  struct options o = {NULL, NULL, NULL, 100, 0};
  for (int i = 1; i < count; ++i) {
    const int has_value = i + 1 < count;
    if (has_value && strcmp(words[i], "--every") == 0)
      o.every = atoi(words[++i]);
    else if (has_value && strcmp(words[i], "--steps") == 0)
      o.steps = atoi(words[++i]);
    else if (has_value && strcmp(words[i], "--dump") == 0)
      o.dump = words[++i];
    else if (!o.xml)
      o.xml = words[i];
    else
      o.deck = words[i];
  }
  if (!o.deck || o.every < 1)
    stop("usage: leat_lammps [--every K] [--steps N] [--dump FILE] LEAT.xml DECK");
  return o;
}

int main(int count, char** words) {
  char* arguments[] = {"leat_lammps", "-screen", "none", "-log", "none"};
  void* lammps;
  int failed = 0;
  MPI_Comm simulation = MPI_COMM_WORLD;
  MPI_Init(&count, &words);
  const struct options o = read_options(count, words);
  if (!o.dump) {
    const leat_status status = leat_split(o.xml, MPI_COMM_WORLD, &simulation);
    if (status == LEAT_SERVED) return MPI_Finalize();
    if (status != LEAT_OK) return MPI_Finalize(), 1;
  }
  lammps = lammps_open(5, arguments, simulation, NULL);
  if (!lammps) stop("LAMMPS does not start");
  if (lammps_extract_setting(lammps, "tagint") != 4)
    stop("this LAMMPS has 64-bit atom ids: make id an int64 in the XML");
  if (!o.dump) failed = leat_init_mpi(o.xml, simulation) != LEAT_OK;
  if (!failed) run_deck(lammps, &o);
  if (!failed && !o.dump) failed = leat_finalize() != LEAT_OK;
  lammps_close(lammps);
  MPI_Finalize();
  return failed;
}
