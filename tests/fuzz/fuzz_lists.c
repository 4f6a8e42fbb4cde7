/* Fuzzes what reads lists and URLs: the first byte chooses a suffix list, a set of lines, word
 * lists, a frequency table or patterns; the first half of the rest is the file, the second half
 * what is looked up. Beside what the sanitizers find: every entry of a set is in it, dense and
 * sparse automata agree, addresses stand where the finder says. */
#include <stdlib.h>
#include <string.h>

#include "clean/pii_scan.h"
#include "quality/unigram_table.h"
#include "text/text_patterns.h"
#include "text/text_utf8.h"
#include "url/url_list.h"
#include "url/url_suffix.h"
#include "url/url_words.h"

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void *host_alloc(struct sluice_host *host, uint64_t n)
{
    (void)host;
    return malloc((size_t)n);
}

static void host_free(struct sluice_host *host, void *p)
{
    (void)host;
    free(p);
}

static void suffixes(const char *file, size_t n, const char *url, size_t m)
{
    struct url_suffixes *s;
    struct text_buffer host = { 0 }, scratch = { 0 };
    struct url_parts parts;

    if (url_suffixes_build(file, n, n % 2, &s, NULL) == SLUICE_OK) {
        require(url_host(url, m, &host, NULL) == SLUICE_OK && host.len <= m);
        require(url_split(s, host.data, host.len, &scratch, &parts, NULL) == SLUICE_OK);
        require(parts.suffix.end <= host.len && parts.domain.end <= host.len &&
                parts.subdomain.end <= host.len);
        url_suffixes_destroy(s);
    }
    text_buffer_deinit(&host);
    text_buffer_deinit(&scratch);
}

static void set(const char *file, size_t n, const char *key, size_t m)
{
    const struct sluice_host_api api = { .alloc = host_alloc, .free = host_free };
    struct url_set found;
    struct text_list lines = { file, n, 0, 0 };
    const char *entry;
    size_t length;

    if (url_set_build(&found, file, n, 0, &api, NULL, NULL) == SLUICE_OK) {
        int is_there = 0;
        while (url_lines_next(&lines, &entry, &length)) {
            require(url_set_has(&found, entry, length));
            is_there |= length == m && memcmp(entry, key, m) == 0;
        }
        require(url_set_has(&found, key, m) == is_there);
        url_set_free(&found, &api, NULL);
    }
}

static void words(const char *file, size_t n, const char *url, size_t m)
{
    struct url_words *w;
    struct url_seen seen = { 0 };
    struct url_found found;

    require(url_words_create(&w, NULL) == SLUICE_OK);
    for (int kind = 0; kind < 3; kind++) {
        require(url_words_add(w, (enum url_word_kind)kind, file, n, kind == 1, NULL) == SLUICE_OK);
    }
    require(url_words_finish(w, NULL) == SLUICE_OK);
    require(url_words_find(w, url, m, n % 2, &seen, &found, NULL) == SLUICE_OK);
    require(found.soft >= 0 && (!found.soft || found.hard));
    url_seen_deinit(&seen);
    url_words_destroy(w);
}

static void frequencies(const char *file, size_t n, const char *word, size_t m)
{
    struct unigram_table *table;

    if (unigram_table_build(file, n, &table, NULL) == SLUICE_OK) {
        require(unigram_table_log(table, word, m) <= 0);
        unigram_table_destroy(table);
    }
}

static int same(const struct text_pattern_match *a, const struct text_pattern_match *b)
{
    return a->begin == b->begin && a->end == b->end && a->pattern == b->pattern;
}

static void patterns(const char *file, size_t n, const char *text, size_t m)
{
    struct text_string found[64];
    struct text_list lines = { file, n, 0, 0 };
    struct text_patterns *dense, *sparse;
    struct text_patterns_scan left, right;
    struct text_pattern_match a, b;
    size_t count = 0;

    while (count < 64 && text_list_next(&lines, &found[count], NULL)) {
        count += found[count].len > 0;
    }
    require(text_patterns_build(found, count, n & 3, 0, &dense, NULL) == SLUICE_OK);
    require(text_patterns_build(found, count, n & 3, 1, &sparse, NULL) == SLUICE_OK);
    text_patterns_scan(&left, dense, text, m);
    text_patterns_scan(&right, sparse, text, m);
    while (text_patterns_next(&left, &a)) {
        require(text_patterns_next(&right, &b) && same(&a, &b));
        require(a.end <= m && a.begin < a.end && found[a.pattern].len == a.end - a.begin);
    }
    require(!text_patterns_next(&right, &b));
    if (text_patterns_leftmost(dense, text, m, 0, &a)) {
        require(text_patterns_leftmost(sparse, text, m, 0, &b) && same(&a, &b));
    }
    text_patterns_destroy(dense);
    text_patterns_destroy(sparse);
}

static void addresses(const char *text, size_t n)
{
    struct pii_match match;
    uint32_t address;

    for (size_t from = 0; pii_next_email(text, n, from, &match); from = match.end) {
        require(match.begin >= from && match.end <= n &&
                memchr(text + match.begin, '@', match.end - match.begin) != NULL);
    }
    for (size_t from = 0; pii_next_ipv4(text, n, from, &match); from = match.end) {
        require(match.begin >= from && match.end <= n && match.end - match.begin >= 7 &&
                match.end - match.begin <= 15);
        (void)pii_read_ipv4(text + match.begin, match.end - match.begin, &address);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const all[])(const char *, size_t, const char *,
                               size_t) = { suffixes, set, words, frequencies, patterns };

    if (size < 1) {
        return 0;
    }
    size_t n = (size - 1) / 2, m = size - 1 - n;
    char *file = malloc(n + 1),
         *text = malloc(m + 1); /* apart, so that reads behind them are seen */
    require(file != NULL && text != NULL);
    memcpy(file, data + 1, n);
    memcpy(text, data + 1 + n, m);
    if (data[0] % 6 == 5) {
        if (text_utf8_valid(text, m, NULL)) {
            addresses(text, m);
        }
    } else if (text_utf8_valid(file, n, NULL) && text_utf8_valid(text, m, NULL)) {
        all[data[0] % 6](file, n, text, m);
    }
    free(file);
    free(text);
    return 0;
}
