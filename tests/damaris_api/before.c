/* SPDX-License-Identifier: Apache-2.0 */
/* Each call where it must not be made, or with what it cannot take: prints the call's name and its code. */
#include <Damaris.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define SAY(name, call) printf("%s %d\n", #name, call)

static void on_signal(const char* name, int32_t source, int32_t iteration, const char* arguments) {
  (void)name, (void)source, (void)iteration, (void)arguments;
}

static void all_but_initialize(void) {
  int number = 0;
  int64_t position[3] = {0, 0, 0};
  double data[64] = {0};
  void* memory = NULL;
  MPI_Comm comm;
  DAMARIS_TYPE_STR type;
  SAY(damaris_start, damaris_start(&number));
  SAY(damaris_stop, damaris_stop());
  SAY(damaris_write, damaris_write("u", data));
  SAY(damaris_write_block, damaris_write_block("u", 0, data));
  SAY(damaris_alloc, damaris_alloc("u", &memory));
  SAY(damaris_alloc_block, damaris_alloc_block("u", 0, &memory));
  SAY(damaris_commit, damaris_commit("u"));
  SAY(damaris_commit_block, damaris_commit_block("u", 0));
  SAY(damaris_commit_iteration, damaris_commit_iteration("u", 0));
  SAY(damaris_commit_block_iteration, damaris_commit_block_iteration("u", 0, 0));
  SAY(damaris_clear, damaris_clear("u"));
  SAY(damaris_clear_block, damaris_clear_block("u", 0));
  SAY(damaris_clear_iteration, damaris_clear_iteration("u", 0));
  SAY(damaris_clear_block_iteration, damaris_clear_block_iteration("u", 0, 0));
  SAY(damaris_signal, damaris_signal("event"));
  SAY(damaris_bind, damaris_bind("event", on_signal));
  SAY(damaris_parameter_get, damaris_parameter_get("nx", &number, sizeof number));
  SAY(damaris_parameter_set, damaris_parameter_set("nx", &number, sizeof number));
  SAY(damaris_set_position, damaris_set_position("u", position));
  SAY(damaris_set_block_position, damaris_set_block_position("u", 0, position));
  SAY(damaris_client_comm_get, damaris_client_comm_get(&comm));
  SAY(damaris_end_iteration, damaris_end_iteration());
  SAY(damaris_get_iteration, damaris_get_iteration(&number));
  SAY(damaris_get_type, damaris_get_type("u", &type));
  SAY(damaris_finalize, damaris_finalize());
}

static void wrong_arguments(const char* config) {
  int is_client = -1;
  double data[64] = {0};
  void* memory = NULL;
  const int64_t outside[1] = {1000};
  SAY(initialize, damaris_initialize(config, MPI_COMM_WORLD));
  SAY(start_null, damaris_start(NULL));
  SAY(start, damaris_start(&is_client));
  SAY(write_null_name, damaris_write(NULL, data));
  SAY(write_null_data, damaris_write("u", NULL));
  SAY(write_unknown, damaris_write("pressure", data));
  SAY(write_negative_block, damaris_write_block("u", -1, data));
  SAY(alloc_null, damaris_alloc("u", NULL));
  SAY(alloc_unknown, damaris_alloc("pressure", &memory));
  SAY(commit_unknown, damaris_commit("pressure"));
  SAY(commit_without_alloc, damaris_commit("u"));
  SAY(clear_without_alloc, damaris_clear("u"));
  SAY(alloc, damaris_alloc("u", &memory));
  SAY(clear_without_commit, damaris_clear("u"));
  SAY(commit_after_all, damaris_commit("u"));
  SAY(signal_unknown, damaris_signal("snapshot"));
  SAY(signal_null, damaris_signal(NULL));
  SAY(bind_null_name, damaris_bind(NULL, on_signal));
  SAY(bind_null, damaris_bind("snapshot", NULL));
  SAY(get_null, damaris_parameter_get("nx", NULL, 4));
  SAY(get_nothing, damaris_parameter_get("nx", data, 0));
  SAY(get_unknown, damaris_parameter_get("ny", data, 4));
  SAY(set_unknown, damaris_parameter_set("ny", data, 4));
  SAY(position_null, damaris_set_position("u", NULL));
  SAY(position_unknown, damaris_set_position("pressure", outside));
  SAY(position_outside, damaris_set_position("u", outside));
  SAY(write_outside, damaris_write("u", data));
  SAY(comm_null, damaris_client_comm_get(NULL));
  SAY(iteration_null, damaris_get_iteration(NULL));
  SAY(end_iteration, damaris_end_iteration());
  SAY(finalize, damaris_finalize());
}

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[2], "before-mpi") == 0) {
    SAY(damaris_initialize, damaris_initialize(argv[1], MPI_COMM_WORLD));
    return 0;
  }
  MPI_Init(&argc, &argv);
  if (argc > 2 && strcmp(argv[2], "wrong") == 0) {
    wrong_arguments(argv[1]);
  } else if (argc > 2 && strcmp(argv[2], "bad-xml") == 0) {
    SAY(damaris_initialize, damaris_initialize(argv[1], MPI_COMM_WORLD));
    all_but_initialize();
  } else {
    all_but_initialize();
    SAY(damaris_initialize, damaris_initialize(NULL, MPI_COMM_WORLD));
    SAY(damaris_initialize_null_comm, damaris_initialize(argv[1], MPI_COMM_NULL));
  }
  MPI_Finalize();
  return 0;
}
