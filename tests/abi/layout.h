/* The layout of ABI 1.0, number by number, on machines with 64-bit pointers. Included after sluice.h (good.c) and after the frozen header
 * (old.c), so that neither can drift: a field that moved, grew or changed its number breaks the build of the tests. Later minors append
 * fields: add lines at the ends of their structs, and never change one that is here. Sizes are lower bounds for that reason. */
#ifndef TESTS_ABI_LAYOUT_H
#define TESTS_ABI_LAYOUT_H

#include <stddef.h>

#define AT(type, field, place) _Static_assert(offsetof(struct type, field) == (place), #type "." #field " moved")
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) >= (bytes), #type " shrank")
#define SAME(name, number) _Static_assert((name) == (number), #name " changed")

_Static_assert(sizeof(void *) == 8, "the numbers are those of 64-bit machines");

SIZE(ArrowSchema, 72);
AT(ArrowSchema, format, 0);
AT(ArrowSchema, name, 8);
AT(ArrowSchema, metadata, 16);
AT(ArrowSchema, flags, 24);
AT(ArrowSchema, n_children, 32);
AT(ArrowSchema, children, 40);
AT(ArrowSchema, dictionary, 48);
AT(ArrowSchema, release, 56);
AT(ArrowSchema, private_data, 64);

SIZE(ArrowArray, 80);
AT(ArrowArray, length, 0);
AT(ArrowArray, null_count, 8);
AT(ArrowArray, offset, 16);
AT(ArrowArray, n_buffers, 24);
AT(ArrowArray, n_children, 32);
AT(ArrowArray, buffers, 40);
AT(ArrowArray, children, 48);
AT(ArrowArray, dictionary, 56);
AT(ArrowArray, release, 64);
AT(ArrowArray, private_data, 72);

SIZE(sluice_error, 1024);
AT(sluice_error, size, 0);
AT(sluice_error, code, 4);
AT(sluice_error, row, 8);
AT(sluice_error, field, 16);
AT(sluice_error, message, 80);

SIZE(sluice_option, 72);
AT(sluice_option, name, 0);
AT(sluice_option, doc, 8);
AT(sluice_option, def, 16);
AT(sluice_option, choices, 24);
AT(sluice_option, since, 32);
AT(sluice_option, min, 40);
AT(sluice_option, max, 48);
AT(sluice_option, type, 56);
AT(sluice_option, flags, 60);
AT(sluice_option, offset, 64);

SIZE(sluice_host_api, 88);
AT(sluice_host_api, size, 0);
AT(sluice_host_api, abi_major, 8);
AT(sluice_host_api, abi_minor, 12);
AT(sluice_host_api, alloc, 16);
AT(sluice_host_api, realloc, 24);
AT(sluice_host_api, free, 32);
AT(sluice_host_api, log, 40);
AT(sluice_host_api, read_file, 48);
AT(sluice_host_api, seed, 56);
AT(sluice_host_api, scratch_dir, 64);
AT(sluice_host_api, memory_share, 72);
AT(sluice_host_api, cancelled, 80);

SIZE(sluice_plan, 80);
AT(sluice_plan, size, 0);
AT(sluice_plan, ctx, 8);
AT(sluice_plan, need, 16);
AT(sluice_plan, need_derived, 24);
AT(sluice_plan, metadata, 32);
AT(sluice_plan, add, 40);
AT(sluice_plan, output, 48);
AT(sluice_plan, note, 56);
AT(sluice_plan, column, 64);
AT(sluice_plan, wanted, 72);

SIZE(sluice_batch, 40);
AT(sluice_batch, size, 0);
AT(sluice_batch, port, 8);
AT(sluice_batch, reserved, 12);
AT(sluice_batch, array, 16);
AT(sluice_batch, rows, 24);
AT(sluice_batch, n, 32);

SIZE(sluice_chunk, 56);
AT(sluice_chunk, size, 0);
AT(sluice_chunk, data, 8);
AT(sluice_chunk, n, 16);
AT(sluice_chunk, offset, 24);
AT(sluice_chunk, uri, 32);
AT(sluice_chunk, file, 40);
AT(sluice_chunk, flags, 44);
AT(sluice_chunk, consumed, 48);

SIZE(sluice_verdict, 40);
AT(sluice_verdict, reason, 0);
AT(sluice_verdict, dup_of_length, 4);
AT(sluice_verdict, value, 8);
AT(sluice_verdict, limit, 16);
AT(sluice_verdict, dup_of, 24);
AT(sluice_verdict, similarity, 32);

SIZE(sluice_emit, 64);
AT(sluice_emit, size, 0);
AT(sluice_emit, ctx, 8);
AT(sluice_emit, verdicts, 16);
AT(sluice_emit, batch, 24);
AT(sluice_emit, bad, 32);
AT(sluice_emit, write, 40);
AT(sluice_emit, roll, 48);
AT(sluice_emit, measure, 56);

SIZE(sluice_io, 32);
AT(sluice_io, size, 0);
AT(sluice_io, ctx, 8);
AT(sluice_io, read, 16);
AT(sluice_io, write, 24);

SIZE(sluice_verdict_io, 1032);
AT(sluice_verdict_io, size, 0);
AT(sluice_verdict_io, ctx, 8);
AT(sluice_verdict_io, count, 16);
AT(sluice_verdict_io, outcome, 24);
AT(sluice_verdict_io, message, 28);

SIZE(sluice_stage, 256);
AT(sluice_stage, size, 0);
AT(sluice_stage, name, 8);
AT(sluice_stage, version, 16);
AT(sluice_stage, summary, 24);
AT(sluice_stage, doc, 32);
AT(sluice_stage, example, 40);
AT(sluice_stage, role, 48);
AT(sluice_stage, mode, 52);
AT(sluice_stage, flags, 56);
AT(sluice_stage, options, 64);
AT(sluice_stage, n_options, 72);
AT(sluice_stage, option_stride, 80);
AT(sluice_stage, config_size, 88);
AT(sluice_stage, reasons, 96);
AT(sluice_stage, provides, 104);
AT(sluice_stage, cut, 112);
AT(sluice_stage, conserves, 120);
AT(sluice_stage, bytes_shared, 128);
AT(sluice_stage, bytes_worker, 136);
AT(sluice_stage, bytes_per_input, 144);
AT(sluice_stage, state_version, 152);
AT(sluice_stage, open, 160);
AT(sluice_stage, prepare, 168);
AT(sluice_stage, worker_open, 176);
AT(sluice_stage, process, 184);
AT(sluice_stage, read, 192);
AT(sluice_stage, flush, 200);
AT(sluice_stage, save, 208);
AT(sluice_stage, load, 216);
AT(sluice_stage, merge, 224);
AT(sluice_stage, judge, 232);
AT(sluice_stage, worker_close, 240);
AT(sluice_stage, close, 248);

SIZE(sluice_plugin, 64);
AT(sluice_plugin, size, 0);
AT(sluice_plugin, abi_major, 8);
AT(sluice_plugin, abi_minor_built, 12);
AT(sluice_plugin, abi_minor_needed, 16);
AT(sluice_plugin, verdict_stride, 20);
AT(sluice_plugin, name, 24);
AT(sluice_plugin, version, 32);
AT(sluice_plugin, license, 40);
AT(sluice_plugin, stages, 48);
AT(sluice_plugin, libraries, 56);

SIZE(sluice_range, 16);
AT(sluice_range, lo, 0);
AT(sluice_range, hi, 8);

SIZE(sluice_list, 16);
AT(sluice_list, items, 0);
AT(sluice_list, n, 8);

SIZE(sluice_map, 24);
AT(sluice_map, keys, 0);
AT(sluice_map, values, 8);
AT(sluice_map, n, 16);

SAME(SLUICE_OK, 0);
SAME(SLUICE_E_CONFIG, 1);
SAME(SLUICE_E_SCHEMA, 2);
SAME(SLUICE_E_DATA, 3);
SAME(SLUICE_E_RETRY, 4);
SAME(SLUICE_E_NOMEM, 5);
SAME(SLUICE_E_CANCELLED, 6);
SAME(SLUICE_E_INTERNAL, 7);
SAME(SLUICE_E_IO, 8);
SAME(SLUICE_E_HALT, 9);
SAME(SLUICE_OPT_BOOL, 1);
SAME(SLUICE_OPT_INT, 2);
SAME(SLUICE_OPT_FLOAT, 3);
SAME(SLUICE_OPT_STRING, 4);
SAME(SLUICE_OPT_ENUM, 5);
SAME(SLUICE_OPT_SIZE, 6);
SAME(SLUICE_OPT_DURATION, 7);
SAME(SLUICE_OPT_PATH, 8);
SAME(SLUICE_OPT_COLUMN, 9);
SAME(SLUICE_OPT_RANGE, 10);
SAME(SLUICE_OPT_LIST, 11);
SAME(SLUICE_OPT_MAP, 12);
SAME(SLUICE_OPT_NODE, 13);
SAME(SLUICE_OPTF_POSITIONAL, 1);
SAME(SLUICE_OPTF_NO_OUTPUT, 2);
SAME(SLUICE_OPTF_DEPRECATED, 4);
SAME(SLUICE_OPTF_REQUIRED, 8);
SAME(SLUICE_OPTF_OUTPUT_PATH, 16);
SAME(SLUICE_LOG_DEBUG, 0);
SAME(SLUICE_LOG_INFO, 1);
SAME(SLUICE_LOG_WARN, 2);
SAME(SLUICE_LOG_ERROR, 3);
SAME(SLUICE_PADDING, 64);
SAME(SLUICE_CHUNK_FIRST, 1);
SAME(SLUICE_CHUNK_LAST, 2);
SAME(SLUICE_GATE_PASS, 0);
SAME(SLUICE_GATE_WARN, 1);
SAME(SLUICE_GATE_HALT, 2);
SAME(SLUICE_ROLE_READER, 1);
SAME(SLUICE_ROLE_FILTER, 2);
SAME(SLUICE_ROLE_ANNOTATOR, 3);
SAME(SLUICE_ROLE_TRANSFORM, 4);
SAME(SLUICE_ROLE_GATE, 5);
SAME(SLUICE_ROLE_WRITER, 6);
SAME(SLUICE_MODE_STATELESS, 0);
SAME(SLUICE_MODE_ORDERED, 1);
SAME(SLUICE_MODE_KEYED, 2);
SAME(SLUICE_MODE_GLOBAL, 3);
SAME(SLUICE_STAGE_RECORDED, 1);
SAME(SLUICE_STAGE_MAY_BLOCK, 2);
SAME(SLUICE_STAGE_SIDE_INPUT, 4);
SAME(SLUICE_STAGE_SIDE_BY_SPLIT, 8);
SAME(SLUICE_STAGE_CONSUMES, 16);
SAME(SLUICE_STAGE_HIDDEN, 32);

/* Members of config structs of plugins, so they can never grow. */
_Static_assert(sizeof(struct sluice_range) == 16, "sluice_range changed its size");
_Static_assert(sizeof(struct sluice_list) == 16, "sluice_list changed its size");
_Static_assert(sizeof(struct sluice_map) == 24, "sluice_map changed its size");

#undef AT
#undef SIZE
#undef SAME

#endif
