/* text_tables.h — the generated tables behind text_class.h, and their inline lookup.
 *
 * Private to sdk/text. Promises: no read outside the tables for any 32-bit value.
 */
#ifndef TEXT_TABLES_H
#define TEXT_TABLES_H

#include <stdint.h>

#define TEXT_TABLE_TOP 272 /* 0x110000 >> 12 */

extern const uint8_t text_table_top[TEXT_TABLE_TOP];
extern const uint16_t text_table_middle[];
extern const uint8_t text_table_last[];
extern const uint32_t text_table_sets[];
extern const uint32_t text_table_ascii[128];
extern const uint8_t text_table_simplify[256];
/* Byte k of entry m is the place of the k-th bit of m; the rest are 0. */
extern const uint64_t text_table_compress[256];

/* text_classes(cp), inlined. */
static inline uint32_t text_table_classes(uint32_t cp)
{
    if (cp < 128) {
        return text_table_ascii[cp];
    }
    if (cp >= 0x110000) {
        return 0;
    }
    uint32_t middle = ((uint32_t)text_table_top[cp >> 12] << 6) + ((cp >> 6) & 63);
    uint32_t last = ((uint32_t)text_table_middle[middle] << 6) + (cp & 63);
    return text_table_sets[text_table_last[last]];
}

#endif
