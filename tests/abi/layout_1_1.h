/* What ABI 1.1 appended to 1.0, number by number, as layout.h has those of 1.0: included after today's sluice.h (asks_now.c) and after the
 * frozen header (asks_1_1.c). Never change a line. */
#ifndef TESTS_ABI_LAYOUT_1_1_H
#define TESTS_ABI_LAYOUT_1_1_H

#include "tests/abi/layout.h"

#define AT(type, field, place) _Static_assert(offsetof(struct type, field) == (place), #type "." #field " moved")
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) >= (bytes), #type " shrank")
#define SAME(name, number) _Static_assert((name) == (number), #name " changed")

SAME(SLUICE_ASK_BYTES, 1u);
SAME(SLUICE_ASK_HTTP, 2u);

SIZE(sluice_plan, 88);
AT(sluice_plan, described, 80);

SIZE(sluice_emit, 104);
AT(sluice_emit, absent, 64);
AT(sluice_emit, ask, 72);
AT(sluice_emit, unit, 80);
AT(sluice_emit, describe, 88);
AT(sluice_emit, skipped, 96);

SIZE(sluice_ask, 40);
AT(sluice_ask, size, 0);
AT(sluice_ask, kind, 8);
AT(sluice_ask, flags, 12);
AT(sluice_ask, tag, 16);
AT(sluice_ask, payload, 24);
AT(sluice_ask, n, 32);

SIZE(sluice_extent, 16);
AT(sluice_extent, offset, 0);
AT(sluice_extent, n, 8);

SIZE(sluice_answer, 56);
AT(sluice_answer, size, 0);
AT(sluice_answer, tag, 8);
AT(sluice_answer, status, 16);
AT(sluice_answer, code, 20);
AT(sluice_answer, flags, 24);
AT(sluice_answer, reserved, 28);
AT(sluice_answer, data, 32);
AT(sluice_answer, n, 40);
AT(sluice_answer, type, 48);

SIZE(sluice_answers, 48);
AT(sluice_answers, size, 0);
AT(sluice_answers, items, 8);
AT(sluice_answers, n, 16);
AT(sluice_answers, stride, 24);
AT(sluice_answers, batch, 32);
AT(sluice_answers, scan, 40);

SIZE(sluice_file, 32);
AT(sluice_file, size, 0);
AT(sluice_file, uri, 8);
AT(sluice_file, bytes, 16);
AT(sluice_file, file, 24);
AT(sluice_file, flags, 28);

SIZE(sluice_unit, 48);
AT(sluice_unit, size, 0);
AT(sluice_unit, begin, 8);
AT(sluice_unit, end, 16);
AT(sluice_unit, bytes, 24);
AT(sluice_unit, rows, 32);
AT(sluice_unit, skip, 40);

SIZE(sluice_scan, 72);
AT(sluice_scan, size, 0);
AT(sluice_scan, file, 8);
AT(sluice_scan, begin, 16);
AT(sluice_scan, end, 24);
AT(sluice_scan, unit, 32);
AT(sluice_scan, call, 40);
AT(sluice_scan, description, 48);
AT(sluice_scan, description_size, 56);
AT(sluice_scan, more, 64);
AT(sluice_scan, reserved, 68);

SIZE(sluice_stage, 288);
AT(sluice_stage, bytes_per_batch, 256);
AT(sluice_stage, resume, 264);
AT(sluice_stage, survey, 272);
AT(sluice_stage, scan, 280);

SIZE(sluice_host_api, 96);
AT(sluice_host_api, map, 88);

_Static_assert(sizeof(struct sluice_extent) == 16, "it never grows");

#undef AT
#undef SIZE
#undef SAME

#endif
