/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of leat.h from strict C11: what it returns when it is right, and for each way of being
 * wrong. */
#include "client-api/api/leat_build.h"

#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#include "tests/api/expect.h"

static const double kRow[4] = {1, 2, 3, 4};

static void all_calls_return(leat_status status) {
  int64_t whole = 77;
  double real = 7.5;
  char text[5] = "mine";
  void* memory = NULL;
  const int64_t two[1] = {2};
  EXPECT(leat_write("row", kRow), status);
  EXPECT(leat_write_block("row", 1, kRow), status);
  EXPECT(leat_write_typed("row", 1, kRow, LEAT_TYPE_FLOAT64), status);
  EXPECT(leat_alloc("row", &memory), status);
  EXPECT(leat_alloc_block("row", 1, &memory), status);
  EXPECT(leat_commit("row"), status);
  EXPECT(leat_commit_block("row", 1), status);
  EXPECT(leat_set_extent("free", 0, two), status);
  EXPECT(leat_set_position("row", 0, two), status);
  EXPECT(leat_set_level("patches", 0, 0, two), status);
  EXPECT(leat_signal("snapshot"), status);
  EXPECT(leat_idle_begin("anywhere"), LEAT_OK);
  EXPECT(leat_idle_end(), LEAT_OK);
  EXPECT(leat_after_collective(0), LEAT_OK);
  EXPECT(leat_end_iteration(), status);
  EXPECT(leat_set_int("n", 1), status);
  EXPECT(leat_set_double("x", 1), status);
  EXPECT(leat_set_string("s", "text"), status);
  EXPECT(leat_get_int("n", &whole), status);
  EXPECT(leat_get_double("x", &real), status);
  EXPECT(leat_get_string("s", text, sizeof text, NULL), status);
  EXPECT_TRUE(whole == 77 && real == 7.5 && strcmp(text, "mine") == 0);
  EXPECT(leat_wanted("row"), status);
  EXPECT_TRUE(leat_iteration() == -1);
}

static int write_in_thread(void* status) {
  *(leat_status*)status = leat_write("row", kRow);
  return (int)strlen(leat_last_error());
}

static void before_init(void) {
  thrd_t thread;
  leat_status status = LEAT_OK;
  int length = 0;
  EXPECT_TRUE(leat_last_error()[0] == '\0');
  all_calls_return(LEAT_ERROR_STATE);
  EXPECT_SAYS("before leat_init");
  EXPECT(leat_finalize(), LEAT_ERROR_STATE);
  thrd_create(&thread, write_in_thread, &status);
  thrd_join(thread, &length);
  EXPECT_TRUE(status == LEAT_ERROR_STATE && length > 0);
}

static void wrong_init(const char* config) {
  leat_ranks ranks;
  memset(&ranks, 0, sizeof ranks);
  EXPECT(leat_init(NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_init("no/such/file.xml"), LEAT_ERROR_CONFIG);
  EXPECT_SAYS("no/such/file.xml");
  EXPECT(leat_init_ranks(config, NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_init_ranks(config, &ranks), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("struct_size");
  ranks.struct_size = sizeof ranks;
  ranks.size = ranks.node_size = 1;
  ranks.rank = 3;
  EXPECT(leat_init_ranks(config, &ranks), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("rank 3 of 1");
  ranks.rank = 0;
  ranks.session = "../escape";
  EXPECT(leat_init_ranks(config, &ranks), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("no session name");
}

static void wrong_lists(void) {
  const int64_t nine[9] = {0};
  leat_list list;
  memset(&list, 0, sizeof list);
  list.struct_size = sizeof list;
  list.numbers = nine;
  for (list.count = -1; list.count <= 9; ++list.count) {
    EXPECT(leat_set_position_list("row", 0, &list),
           list.count == 1 ? LEAT_OK : LEAT_ERROR_ARGUMENT);
    EXPECT(leat_set_extent_list("free", 7, &list), list.count == 1 ? LEAT_OK : LEAT_ERROR_ARGUMENT);
  }
  EXPECT_SAYS("has 1 dimension (free_0): as many numbers are needed, and 9 were given");
  list.struct_size = 8;
  EXPECT(leat_set_position_list("row", 0, &list), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_extent_list("free", 0, NULL), LEAT_ERROR_ARGUMENT);
}

static void wrong_levels(void) {
  const int64_t two[2] = {2, 2}, far[1] = {INT64_MAX};
  leat_list list;
  memset(&list, 0, sizeof list);
  list.struct_size = sizeof list;
  list.numbers = two;
  list.count = 2;
  EXPECT(leat_set_level(NULL, 0, 0, two), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_level("patchs", 0, 0, two), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_SAYS("declares no mesh \"patchs\"; did you mean \"patches\"?");
  EXPECT(leat_set_level("line", 0, 0, two), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("those of type=\"amr\" have");
  EXPECT(leat_set_level("patches", 0, -1, two), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_level("patches", 0, 2, two), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("has no level 2: levels count from 0 to 1, as levels=\"2\" says");
  EXPECT(leat_set_level("patches", 2147483648u, 0, two), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_level("patches", 0, 0, NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_level("patches", 0, 0, far), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_level_list("patches", 0, 0, &list), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("has 1 dimension, and the position has 2");
  EXPECT(leat_set_level_list("patches", 0, 0, NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write("rho", kRow), LEAT_ERROR_SHAPE);
  EXPECT_SAYS("call leat_set_level(\"patches\", ...) before writing this block");
  EXPECT(leat_set_position("rho", 0, two), LEAT_ERROR_STATE);
  EXPECT_SAYS("say it by leat_set_level");
}

static void wrong_names_and_pointers(void) {
  void* memory = NULL;
  const int64_t minus[1] = {-1}, two[1] = {2};
  EXPECT(leat_write(NULL, kRow), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write("rwo", kRow), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_SAYS("did you mean \"row\"");
  EXPECT(leat_wanted("rwo"), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT(leat_signal(NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_signal("snap"), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_SAYS("declares no event \"snap\"");
  EXPECT(leat_alloc("row", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_alloc("rwo", &memory), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_TRUE(memory == NULL);
  EXPECT(leat_commit("row"), LEAT_ERROR_STATE);
  EXPECT_SAYS("leat_alloc");
  EXPECT(leat_set_extent("free", 0, NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_extent("free", 0, minus), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("cannot be negative");
  EXPECT(leat_set_extent("free", 2147483648u, two), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("2147483648");
  EXPECT(leat_set_position("row", UINT32_MAX, two), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_alloc_block("row", 2147483648u, &memory), LEAT_ERROR_ARGUMENT);
  EXPECT_TRUE(memory == NULL);
  EXPECT(leat_commit_block("row", 2147483648u), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write_block("row", 2147483648u, kRow), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("numbers of blocks end at 2147483647");
  EXPECT(leat_set_position("row", 0, NULL), LEAT_ERROR_ARGUMENT);
  wrong_lists();
  wrong_levels();
  EXPECT(leat_set_int(NULL, 1), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_set_int("nn", 1), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_SAYS("did you mean \"n\"");
  EXPECT(leat_set_int("x", 1), LEAT_ERROR_TYPE);
  EXPECT_SAYS("leat_set_double");
  EXPECT(leat_set_string("n", "text"), LEAT_ERROR_TYPE);
}

static void wrong_gets(void) {
  int64_t whole = 77;
  double real = 7.5;
  char text[5] = "mine";
  uint64_t needed = 0;
  EXPECT(leat_get_double("x", &real), LEAT_ERROR_STATE);
  EXPECT_SAYS("parameter \"x\" has no value yet");
  EXPECT_SAYS("leat_set_double");
  EXPECT(leat_get_int("nn", &whole), LEAT_ERROR_UNKNOWN_NAME);
  EXPECT_SAYS("did you mean \"n\"");
  EXPECT(leat_get_int(NULL, &whole), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_get_int("n", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_get_int("x", &whole), LEAT_ERROR_TYPE);
  EXPECT_SAYS("is declared double");
  EXPECT_SAYS("use leat_get_double");
  EXPECT(leat_get_double("s", &real), LEAT_ERROR_TYPE);
  EXPECT(leat_get_string("x", text, sizeof text, NULL), LEAT_ERROR_TYPE);
  EXPECT(leat_get_string("given", NULL, 5, NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_get_string("given", text, sizeof text, &needed), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("needs 6 bytes");
  EXPECT_TRUE(needed == 6 && whole == 77 && real == 7.5 && strcmp(text, "mine") == 0);
}

static void right_gets(void) {
  int64_t whole = 0;
  double real = 0;
  char text[16] = "";
  uint64_t needed = 0;
  EXPECT(leat_get_string("given", NULL, 0, &needed), LEAT_OK);
  EXPECT_TRUE(needed == 6);
  EXPECT(leat_get_string("given", text, 6, NULL), LEAT_OK);
  EXPECT_TRUE(strcmp(text, "value") == 0);
  EXPECT(leat_get_int("n", &whole), LEAT_OK);
  EXPECT(leat_get_double("n", &real), LEAT_OK);
  EXPECT_TRUE(whole == 4 && real == 4);
  EXPECT(leat_get_double("x", &real), LEAT_OK);
  EXPECT(leat_get_string("s", text, sizeof text, NULL), LEAT_OK);
  EXPECT_TRUE(real == 0.5 && strcmp(text, "some text") == 0);
}

static void right_calls(void) {
  const int64_t none[1] = {0}, two[1] = {2}, below[1] = {-8};
  void *memory = NULL, *again = NULL;
  EXPECT(leat_set_int("n", 4), LEAT_OK);
  EXPECT(leat_set_double("x", 0.5), LEAT_OK);
  EXPECT(leat_set_string("s", "some text"), LEAT_OK);
  right_gets();
  EXPECT(leat_wanted("row"), LEAT_OK);
  EXPECT(leat_wanted("unstored"), LEAT_UNWANTED);
  EXPECT(leat_signal("snapshot"), LEAT_OK);
  EXPECT(leat_idle_begin(NULL), LEAT_OK);
  EXPECT(leat_idle_begin("within"), LEAT_OK);
  for (int i = 0; i < 3; ++i) EXPECT(leat_idle_end(), LEAT_OK);
  for (int ranks = -1; ranks < 3; ++ranks) EXPECT(leat_after_collective(ranks), LEAT_OK);
  EXPECT(leat_write("unstored", kRow), LEAT_OK);
  EXPECT(leat_write("row", kRow), LEAT_OK);
  EXPECT(leat_write_block("row", 7, kRow), LEAT_OK);
  EXPECT(leat_alloc_block("row", 8, &memory), LEAT_OK);
  EXPECT_TRUE(memory != NULL && (uintptr_t)memory % 64 == 0);
  EXPECT(leat_alloc_block("row", 8, &again), LEAT_OK);
  EXPECT_TRUE(again == memory);
  if (memory) memcpy(memory, kRow, sizeof kRow);
  EXPECT(leat_commit_block("row", 8), LEAT_OK);
  EXPECT(leat_set_level("patches", 0, 1, below), LEAT_OK);
  EXPECT(leat_write("rho", kRow), LEAT_OK);
  EXPECT(leat_set_extent("free", 0, none), LEAT_OK);
  EXPECT(leat_write("free", NULL), LEAT_OK);
  EXPECT(leat_set_extent("free", 0, two), LEAT_OK);
  EXPECT(leat_write("free", kRow), LEAT_OK);
  EXPECT_TRUE(leat_iteration() == 0);
  EXPECT(leat_end_iteration(), LEAT_OK);
  EXPECT_TRUE(leat_iteration() == 1);
}

static leat_array array_of(const void* data, leat_type type, int64_t extent, int64_t stride) {
  leat_array array;
  memset(&array, 0, sizeof array);
  array.struct_size = sizeof array;
  array.data = (void*)(uintptr_t)data;
  array.type = type;
  array.dims = 1;
  array.extent[0] = extent;
  array.stride[0] = stride;
  return array;
}

static void right_arrays(void) {
  const double spaced[8] = {1, 0, 2, 0, 3, 0, 4, 0};
  leat_array array = array_of(spaced, LEAT_TYPE_FLOAT64, 4, 2 * sizeof(double));
  EXPECT(leat_write_array("row", 0, &array), LEAT_OK);
  array = array_of(spaced, LEAT_TYPE_FLOAT64, 3, 8);
  EXPECT(leat_write_array("free", 0, &array), LEAT_OK);
  memset(&array, 0, sizeof array);
  array.struct_size = sizeof array;
  EXPECT(leat_alloc_array("row", 1, &array), LEAT_OK);
  EXPECT_TRUE(array.data != NULL && array.dims == 1 && array.extent[0] == 4 &&
              array.stride[0] == 8);
  EXPECT_TRUE(array.type == LEAT_TYPE_FLOAT64);
  if (array.data) memcpy(array.data, kRow, sizeof kRow);
  EXPECT(leat_commit_block("row", 1), LEAT_OK);
}

static void wrong_arrays(void) {
  leat_array array = array_of(kRow, LEAT_TYPE_FLOAT32, 4, 4);
  EXPECT(leat_write_array("row", 0, &array), LEAT_ERROR_TYPE);
  EXPECT_SAYS("\"row\" is declared double (row_0=4)");
  EXPECT_SAYS("got float (4)");
  array = array_of(kRow, LEAT_TYPE_FLOAT64, 3, 8);
  EXPECT(leat_write_array("row", 0, &array), LEAT_ERROR_SHAPE);
  EXPECT(leat_write_array("row", 0, NULL), LEAT_ERROR_ARGUMENT);
  array.type = 99;
  EXPECT(leat_write_array("row", 0, &array), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_alloc_array("row", 0, NULL), LEAT_ERROR_ARGUMENT);
}

static int with_server(const char* config) {
  before_init();
  wrong_init(config);
  EXPECT(leat_init(config), LEAT_OK);
  EXPECT(leat_init(config), LEAT_ERROR_STATE);
  EXPECT_SAYS("already initialised");
  wrong_names_and_pointers();
  wrong_gets();
  right_calls();
  wrong_arrays();
  EXPECT(leat_set_int("n", 5), LEAT_ERROR_STATE);
  EXPECT(leat_finalize(), LEAT_ERROR_LOST);
  EXPECT_SAYS("writes of this rank failed");
  all_calls_return(LEAT_ERROR_STATE);
  EXPECT_SAYS("after leat_finalize");
  EXPECT(leat_finalize(), LEAT_ERROR_STATE);

  EXPECT(leat_init(config), LEAT_OK);
  EXPECT(leat_set_int("n", 4), LEAT_OK);
  right_arrays();
  EXPECT(leat_finalize(), LEAT_OK);

  /* What failed to be written is not forgotten at the end. */
  EXPECT(leat_init(config), LEAT_OK);
  EXPECT(leat_set_int("n", 4), LEAT_OK);
  EXPECT(leat_write("row", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_finalize(), LEAT_ERROR_LOST);
  EXPECT_SAYS("\"row\" of iteration 0");
  return failures;
}

/* What a simulation computes in when there is no segment: as large as it wants, and each block's own. */
static void scratch_memory_is_real(void) {
  enum { kBlocks = 40 };
  const size_t bytes = 20u << 20;
  unsigned char* blocks[kBlocks];
  void *first = NULL, *again = NULL, *other = NULL;
  for (uint32_t b = 0; b < kBlocks; ++b) {
    void* memory = NULL;
    EXPECT(leat_alloc_block("many", b, &memory), LEAT_OK);
    EXPECT_TRUE(memory != NULL && (uintptr_t)memory % 64 == 0);
    if (!memory) return;
    blocks[b] = memory;
    memset(blocks[b], (int)b, b < 4 ? bytes : 4096);
  }
  for (uint32_t b = 0; b < kBlocks; ++b) {
    EXPECT_TRUE(blocks[b][0] == b && blocks[b][(b < 4 ? bytes : 4096) - 1] == b);
    EXPECT(leat_commit_block("many", b), LEAT_OK);
  }
  EXPECT(leat_alloc("first", &first), LEAT_OK);
  EXPECT(leat_alloc("first", &again), LEAT_OK);
  EXPECT(leat_alloc("other", &other), LEAT_OK);
  EXPECT_TRUE(first == again && first != other);
  EXPECT(leat_commit("first"), LEAT_OK);
  EXPECT(leat_commit("other"), LEAT_OK);
  EXPECT(leat_commit("other"), LEAT_OK);
}

/* LEAT=off, or libleat_stub: every call is right and does nothing, but that leat_alloc gives memory. */
static int without_server(void) {
  leat_array array = {.struct_size = sizeof array, .data = &array};
  int64_t whole = 77;
  double real = 7.5;
  char text[5] = "mine";
  uint64_t needed = 0;
  EXPECT(leat_init("no/such/file.xml"), LEAT_OK);
  EXPECT(leat_write("anything", kRow), LEAT_OK);
  EXPECT(leat_write_block("anything", 3, kRow), LEAT_OK);
  EXPECT(leat_write_typed("anything", 3, kRow, 99), LEAT_OK);
  scratch_memory_is_real();
  EXPECT(leat_alloc_array("anything", 3, &array), LEAT_UNWANTED);
  EXPECT_TRUE(array.data == NULL);
  EXPECT(leat_commit("anything"), LEAT_OK);
  EXPECT(leat_commit_block("anything", 3), LEAT_OK);
  EXPECT(leat_set_extent("anything", 0, NULL), LEAT_OK);
  EXPECT(leat_set_position("anything", 0, NULL), LEAT_OK);
  EXPECT(leat_set_extent_list("anything", 0, NULL), LEAT_OK);
  EXPECT(leat_set_position_list("anything", 0, NULL), LEAT_OK);
  EXPECT(leat_set_level("anything", 0, 0, NULL), LEAT_OK);
  EXPECT(leat_set_level_list("anything", 0, 0, NULL), LEAT_OK);
  EXPECT(leat_set_int("n", 1), LEAT_OK);
  EXPECT(leat_set_double("x", 1), LEAT_OK);
  EXPECT(leat_set_string("s", "text"), LEAT_OK);
  EXPECT(leat_count("anything", &whole), LEAT_OK);
  EXPECT(leat_get_int("n", &whole), LEAT_OK);
  EXPECT(leat_get_double("x", &real), LEAT_OK);
  EXPECT(leat_get_string("s", text, sizeof text, &needed), LEAT_OK);
  EXPECT_TRUE(whole == 77 && real == 7.5 && strcmp(text, "mine") == 0 && needed == 0);
  EXPECT(leat_wanted("anything"), LEAT_UNWANTED);
  EXPECT(leat_read("anything", &real), LEAT_UNWANTED);
  EXPECT(leat_read_block("anything", 1, &real), LEAT_UNWANTED);
  EXPECT((leat_read)("anything", &real), LEAT_UNWANTED);
  EXPECT_TRUE(real == 7.5);
  EXPECT(leat_signal("anything"), LEAT_OK);
  EXPECT(leat_idle_begin("anywhere"), LEAT_OK);
  EXPECT(leat_idle_end(), LEAT_OK);
  EXPECT(leat_after_collective(0), LEAT_OK);
  EXPECT(leat_start_at(-1), LEAT_OK);
  EXPECT(leat_end_iteration(), LEAT_OK);
  EXPECT(leat_finalize(), LEAT_OK);
  EXPECT_TRUE(leat_last_error()[0] == '\0');
  EXPECT(leat_alloc("anything", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_alloc_block("anything", 3, NULL), LEAT_ERROR_ARGUMENT);
  return failures;
}

static void status_names(void) {
  EXPECT_TRUE(strcmp(leat_status_name(LEAT_OK), "LEAT_OK") == 0);
  EXPECT_TRUE(strcmp(leat_status_name(LEAT_UNWANTED), "LEAT_UNWANTED") == 0);
  EXPECT_TRUE(strcmp(leat_status_name(LEAT_ERROR_INTERNAL), "LEAT_ERROR_INTERNAL") == 0);
  EXPECT_TRUE(leat_status_name((leat_status)1234) != NULL);
}

int main(int count, char** arguments) {
  const int off = count < 2;
  status_names();
  return (off ? without_server() : with_server(arguments[1])) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
