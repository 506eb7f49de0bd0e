/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of plugin ABI 1, written down by hand, from C. A plugin compiled years ago relies on
 * each of them: structs only grow at their end; anything else is a new LEAT_PLUGIN_ABI. */
#include <stddef.h>
#include <stdio.h>

#include "server/include/plugin.h"

static int failures = 0;

static void expect(const char* what, size_t got, size_t wanted) {
  if (got == wanted) return;
  printf("%s is %zu, was %zu in ABI 1\n", what, got, wanted);
  ++failures;
}

#define AT(type, member, offset) expect(#type "." #member, offsetof(type, member), offset)

static void entry(void) {
  expect("LEAT_PLUGIN_ABI", LEAT_PLUGIN_ABI, 1);
  AT(leat_plugin, abi, 0);
  AT(leat_plugin, size, 4);
  AT(leat_plugin, name, 8);
  AT(leat_plugin, open, 16);
  AT(leat_plugin, iteration, 24);
  AT(leat_plugin, close, 32);
  AT(leat_plugin, results, 40);
  AT(leat_plugin, on_signal, 48);
  AT(leat_plugin, check, 80);
  AT(leat_plugin, makes_whole, 88);
  AT(leat_plugin, changes_values, 96);
  AT(leat_host, size, 0);
  AT(leat_host, context, 8);
  AT(leat_host, log, 16);
  AT(leat_host, ledger, 24);
  AT(leat_host, progress, 32);
  AT(leat_host, publish, 40);
  AT(leat_host, mpi_comm, 48);
  AT(leat_host, reduce, 56);
  AT(leat_host, shared_file, 64);
  AT(leat_host, set, 72);
}

static void results(void) {
  AT(leat_result, size, 0);
  AT(leat_result, name, 8);
  AT(leat_result, unit, 16);
  AT(leat_result, type, 24);
  AT(leat_result, dims, 28);
  AT(leat_result, dimension, 32);
  AT(leat_result, extent, 96);
  AT(leat_result, data, 160);
  AT(leat_result, bytes, 168);
  AT(leat_result_set, size, 0);
  AT(leat_result_set, source, 8);
  AT(leat_result_set, iteration, 16);
  AT(leat_result_set, results, 24);
  AT(leat_result_set, result_count, 32);
  AT(leat_result_set, result_stride, 40);
  AT(leat_result_set, source_kind, 48);
  AT(leat_result_set, of_run, 52);
}

static void run(void) {
  AT(leat_run, size, 0);
  AT(leat_run, simulation, 8);
  AT(leat_run, session, 16);
  AT(leat_run, store, 24);
  AT(leat_run, xml, 32);
  AT(leat_run, ranks, 40);
  AT(leat_run, node_ranks, 44);
  AT(leat_run, variables, 48);
  AT(leat_run, variable_count, 56);
  AT(leat_run, variable_stride, 64);
  AT(leat_run, options, 72);
  AT(leat_run, option_count, 80);
  AT(leat_run, resumed, 88);
  AT(leat_run, time_parameter, 92);
  AT(leat_run, time_unit, 96);
  AT(leat_run, calendar, 104);
  AT(leat_run, description, 112);
  AT(leat_run, meshes, 120);
  AT(leat_run, mesh_count, 128);
  AT(leat_run, mesh_stride, 136);
  AT(leat_run, first_rank, 144);
  AT(leat_run, run_number, 148);
  AT(leat_run, in_simulation, 152);
  AT(leat_run, succession, 156);
  AT(leat_run, own_ranks, 160);
  expect("sizeof(leat_run)", sizeof(leat_run), 168);
  expect("sizeof(leat_option)", sizeof(leat_option), 16);
}

static void variable(void) {
  expect("LEAT_PLUGIN_MAX_DIMS", LEAT_PLUGIN_MAX_DIMS, 8);
  AT(leat_dimension, name, 0);
  AT(leat_dimension, ghost_low, 8);
  AT(leat_dimension, ghost_high, 16);
  AT(leat_dimension, varying, 24);
  expect("sizeof(leat_dimension)", sizeof(leat_dimension), 32);
  AT(leat_variable, size, 0);
  AT(leat_variable, name, 8);
  AT(leat_variable, unit, 16);
  AT(leat_variable, description, 24);
  AT(leat_variable, type, 32);
  AT(leat_variable, dims, 36);
  AT(leat_variable, dimension, 40);
  AT(leat_variable, has_global, 296);
  AT(leat_variable, time_varying, 300);
  AT(leat_variable, options, 304);
  AT(leat_variable, option_count, 312);
  AT(leat_variable, mesh, 320);
  AT(leat_variable, centering, 324);
  AT(leat_variable, standard_name, 328);
  AT(leat_variable, cell_methods, 336);
  AT(leat_variable, comment, 344);
}

static void mesh(void) {
  AT(leat_mesh, size, 0);
  AT(leat_mesh, name, 8);
  AT(leat_mesh, unit, 16);
  AT(leat_mesh, description, 24);
  AT(leat_mesh, kind, 32);
  AT(leat_mesh, dims, 36);
  AT(leat_mesh, origin, 40);
  AT(leat_mesh, spacing, 64);
  AT(leat_mesh, coordinate_count, 88);
  AT(leat_mesh, coordinate, 92);
  AT(leat_mesh, connectivity, 104);
  AT(leat_mesh, offsets, 108);
  AT(leat_mesh, types, 112);
  AT(leat_mesh, cell_type, 116);
  AT(leat_mesh, ratio, 120);
  AT(leat_mesh, levels, 124);
}

/* A run as a host of before gave it: nothing behind what it had may be looked at. */
static void older_host(void) {
  leat_run run = {0};
  leat_variable variable = {0};
  run.size = offsetof(leat_run, time_parameter);
  run.mesh_count = 1;
  leat_block block = {0};
  variable.size = offsetof(leat_variable, mesh);
  block.size = offsetof(leat_block, has_level);
  block.has_level = 1;
  expect("level of an older host's block", leat_block_has_level(&block), 0);
  expect("meshes of an older host", leat_run_mesh_count(&run), 0);
  run.first_rank = 3;
  expect("first rank of an older host", leat_run_first_rank(&run) == -1, 1);
  expect("time of an older host", leat_run_time_parameter(&run) == -1, 1);
  expect("comment of an older host's variable", *leat_variable_comment(&variable), 0);
  expect("mesh of an older host's variable", leat_variable_mesh(&run, &variable) == NULL, 1);
}

static void reduction(void) {
  AT(leat_column, size, 0);
  AT(leat_column, type, 8);
  AT(leat_column, op, 12);
  AT(leat_column, count, 16);
  AT(leat_column, terms, 24);
  AT(leat_column, values, 32);
  AT(leat_column, sizes, 40);
  AT(leat_reduction, size, 0);
  AT(leat_reduction, iteration, 8);
  AT(leat_reduction, columns, 16);
  AT(leat_reduction, column_count, 24);
  AT(leat_reduction, column_stride, 32);
  AT(leat_reduction, servers, 40);
  AT(leat_reduction, servers_missing, 44);
  AT(leat_reduction, is_first, 48);
  AT(leat_reduction, server, 52);
  expect("LEAT_REDUCE_SUM", LEAT_REDUCE_SUM, 1);
  expect("LEAT_REDUCE_MAX", LEAT_REDUCE_MAX, 3);
  expect("LEAT_REDUCE_GATHER", LEAT_REDUCE_GATHER, 4);
  leat_host older = {0};
  older.size = offsetof(leat_host, reduce);
  expect("reductions of an older host", leat_host_reduce(&older, NULL, 0, NULL, NULL) == -1, 1);
  older.size = offsetof(leat_host, shared_file);
  expect("shared files of an older host", leat_host_shared_file(&older, 4) == -1, 1);
  older.size = offsetof(leat_host, set);
  expect("steering by an older host", leat_host_set(&older, NULL) == -1, 1);
}

static void iteration(void) {
  AT(leat_block, size, 0);
  AT(leat_block, variable, 8);
  AT(leat_block, block, 12);
  AT(leat_block, rank, 16);
  AT(leat_block, has_position, 20);
  AT(leat_block, extent, 24);
  AT(leat_block, position, 88);
  AT(leat_block, global, 152);
  AT(leat_block, data, 216);
  AT(leat_block, bytes, 224);
  AT(leat_block, checksum, 232);
  AT(leat_block, has_checksum, 236);
  AT(leat_block, has_level, 240);
  AT(leat_block, level, 244);
  AT(leat_iteration_data, size, 0);
  AT(leat_iteration_data, iteration, 8);
  AT(leat_iteration_data, blocks, 16);
  AT(leat_iteration_data, block_count, 24);
  AT(leat_iteration_data, block_stride, 32);
  AT(leat_iteration_data, complete, 40);
  AT(leat_iteration_data, parameters, 48);
  AT(leat_iteration_data, parameter_count, 56);
  AT(leat_iteration_data, parameter_stride, 64);
  AT(leat_iteration_data, waiting, 72);
  AT(leat_iteration_data, died, 80);
  AT(leat_iteration_data, died_count, 88);
  AT(leat_iteration_data, has_window, 96);
  AT(leat_iteration_data, window, 104);
  AT(leat_iteration_data, meshes, 120);
  AT(leat_iteration_data, mesh_stride, 128);
  AT(leat_parameter, size, 0);
  AT(leat_parameter, name, 8);
  AT(leat_parameter, type, 16);
  AT(leat_parameter, has_value, 20);
  AT(leat_parameter, integer, 24);
  AT(leat_parameter, real, 32);
  AT(leat_parameter, text, 40);
}

static void scalars(void) {
  expect("LEAT_INT8", LEAT_INT8, 1);
  expect("LEAT_UINT8", LEAT_UINT8, 5);
  expect("LEAT_FLOAT32", LEAT_FLOAT32, 9);
  expect("LEAT_FLOAT64", LEAT_FLOAT64, 10);
  expect("LEAT_COMPLEX128", LEAT_COMPLEX128, 12);
  expect("LEAT_CHAR", LEAT_CHAR, 13);
  expect("LEAT_MESH_UNIFORM", LEAT_MESH_UNIFORM, 1);
  expect("LEAT_MESH_POINTS", LEAT_MESH_POINTS, 5);
  expect("LEAT_MESH_AMR", LEAT_MESH_AMR, 6);
  expect("LEAT_ZONAL", LEAT_ZONAL, 1);
  expect("LEAT_NODAL", LEAT_NODAL, 2);
}

int main(void) {
  entry();
  results();
  run();
  variable();
  mesh();
  older_host();
  reduction();
  iteration();
  scalars();
  return failures == 0 ? 0 : 1;
}
