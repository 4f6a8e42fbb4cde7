/* What the tests of sdk/text share: where data is, and the JSON lines of tests/data/text. Include
 * after cmocka.h. */
#ifndef TESTS_UNIT_TEXT_KIT_H
#define TESTS_UNIT_TEXT_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text_utf8.h"

/* The folder of expected results that are kept in the tree. */
static inline void kit_data_path(const char *name, char out[4096])
{
    const char *dir = getenv("SLUICE_DATA_DIR"), *src = getenv("SRC");
    if (dir != NULL) {
        snprintf(out, 4096, "%s/text/%s", dir, name);
    } else {
        snprintf(out, 4096, "%s%stests/data/text/%s", src != NULL ? src : "",
                 src != NULL ? "/" : "", name);
    }
}

/* Unpacks one member of an archive of real data into memory; the test is skipped, saying so, when
 * there is none. The caller frees. */
static inline char *kit_archive(const char *archive, const char *member, size_t *len)
{
    const char *dir = getenv("SLUICE_TEST_DATA"), *tmp = getenv("TMPDIR");
    char command[16384], path[8192], folder[4096];
    snprintf(path, sizeof path, "%s/%s", dir != NULL ? dir : "../shared/data", archive);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("no %s; set SLUICE_TEST_DATA to the folder that holds it\n", path);
        skip();
    }
    fclose(file);
    snprintf(folder, sizeof folder, "%s/text-kit-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "tar --zstd -xOf '%s' '%s' >'%s/out'", path, member, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/out", folder);
    file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *len = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*len + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *len, file), *len);
    data[*len] = '\0';
    fclose(file);
    remove(path);
    remove(folder);
    return data;
}

/* A small generator, so that cases are the same everywhere (SplitMix64). */
static inline uint64_t kit_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Finds "key": "…" in a line of flat JSON and writes its value as UTF-8 into out (as long as the
 * line); false when there is no such key. Knows the escapes that Python's json.dumps writes. */
static inline bool kit_json(const char *line, const char *key, char *out, size_t *len)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\": \"", key);
    const char *p = strstr(line, pattern);
    if (p == NULL) {
        return false;
    }
    char *to = out;
    for (p += strlen(pattern); *p != '"'; p++) {
        assert_true(*p != '\0' && *p != '\n');
        if (*p != '\\') {
            *to++ = *p;
            continue;
        }
        static const char names[] = "nrtbf\"\\/", values[] = "\n\r\t\b\f\"\\/";
        const char *name = strchr(names, *++p);
        if (name != NULL) {
            *to++ = values[name - names];
            continue;
        }
        assert_int_equal(*p, 'u');
        unsigned high = 0, low = 0;
        assert_int_equal(sscanf(p, "u%4x", &high), 1);
        p += 4;
        if (high >= 0xD800 && high < 0xDC00) {
            assert_int_equal(sscanf(p, "%*c\\u%4x", &low), 1);
            p += 6;
            high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
        to += text_utf8_encode(high, to);
    }
    *len = (size_t)(to - out);
    return true;
}

/* Runs check(line) on each line of a file of tests/data/text; returns how many there were. */
static inline size_t kit_lines(const char *name, void (*check)(const char *line))
{
    char path[4096], *line = NULL;
    size_t capacity = 0, count = 0;
    kit_data_path(name, path);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot open %s; run from the repository's root or set SLUICE_DATA_DIR", path);
    }
    while (getline(&line, &capacity, file) > 0) {
        check(line);
        count++;
    }
    free(line);
    fclose(file);
    return count;
}

#endif
