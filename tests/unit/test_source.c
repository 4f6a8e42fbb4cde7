/* Chunks of splits, and the feeder behind them: every line of a file exactly once, whatever the
 * cuts, the codec, the order of ranges and the number of threads. */
#include "inputfiles.h"

#include <pthread.h>

#include "run/source/source.h"
#include "store/statcache.h"

/* ---- a file in some form ---- */

enum form { PLAIN, ZSTD_ONE, ZSTD_STREAMED, ZSTD_MANY, GZIP_ONE, GZIP_MANY, FORMS };

struct sample {
    char *text;
    size_t n;
    char *path;
    struct listing_file listed;
    struct listing listing; /* of it alone */
    struct statcache *cache;
    struct source_files *all;
    const struct source_file *file;
};

static void sample_stat(struct sample *s)
{
    struct stat st;

    assert_int_equal(stat(s->path, &st), 0);
    s->listed = (struct listing_file){ .path = s->path,
                                       .name = "name/of/file",
                                       .version.size = (uint64_t)st.st_size,
                                       .version.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                                           st.st_mtim.tv_nsec };
}

/* Gives the cache frames that are closer together than a probe lists them. */
static void sample_frames(struct sample *s, const char *folder, const struct input_frame *frames,
                          size_t n)
{
    char *path = str_printf("%s/cache", folder);
    struct input_info info;

    unlink(path);
    assert_int_equal(statcache_open(path, &s->cache, NULL), SLUICE_OK);
    free(path);
    assert_int_equal(probe_file(&s->listed, PROBE_DECODING, NULL, &info, NULL), SLUICE_OK);
    free(info.frames);
    info.frames = malloc(n * sizeof *frames);
    memcpy(info.frames, frames, n * sizeof *frames);
    info.n_frames = n;
    assert_int_equal(statcache_put(s->cache, &s->listed, &info, NULL), SLUICE_OK);
    input_info_deinit(&info);
}

static void sample_init(struct sample *s, const char *folder, enum form form, const char *text,
                        size_t n)
{
    struct buf out = BUF_INIT;
    struct input_frame frames[64];
    size_t n_frames = 0;

    memset(s, 0, sizeof *s);
    s->text = malloc(n + 1);
    memcpy(s->text, text, n);
    s->n = n;
    switch (form) {
    case PLAIN:
        buf_append(&out, text, n);
        break;
    case ZSTD_ONE:
    case ZSTD_STREAMED:
        zstd_frame(&out, text, n, form == ZSTD_STREAMED);
        break;
    case GZIP_ONE:
        gzip_member(&out, text, n, true, 6);
        break;
    default:
        for (size_t at = 0; at < n || at == 0;) {
            size_t piece = 1 + chance(n / 4 + 1);
            piece = piece < n - at ? piece : n - at;
            if (at > 0 && n_frames < 64) {
                frames[n_frames++] = (struct input_frame){ out.size, at };
            }
            if (form == ZSTD_MANY) {
                zstd_frame(&out, text + at, piece, chance(2) == 0);
            } else {
                gzip_member(&out, text + at, piece, false, 6);
            }
            at += piece > 0 ? piece : 1;
        }
        break;
    }
    s->path = file_write(folder, "sample", out.size > 0 ? out.data : "", out.size);
    sample_stat(s);
    if (form == ZSTD_MANY && n_frames > 0) {
        sample_frames(s, folder, frames, n_frames);
    }
    s->listing = (struct listing){ .files = &s->listed, .n = 1 };
    assert_int_equal(source_files_create(&s->listing, NULL, s->cache, &s->all, NULL), SLUICE_OK);
    s->file = source_files_all(s->all);
    buf_deinit(&out);
}

static void sample_deinit(struct sample *s)
{
    source_files_destroy(s->all);
    statcache_close(s->cache);
    free(s->text);
    free(s->path);
}

/* ---- what came out ---- */

/* A line, or one that was refused. */
struct line {
    uint64_t begin, end; /* without '\n' */
    bool refused;
};

struct lines {
    struct line *items;
    size_t n, capacity;
    const struct sample *sample;
    uint32_t file;
};

static void lines_add(struct lines *lines, uint64_t begin, uint64_t end, bool refused)
{
    if (lines->n == lines->capacity) {
        lines->capacity = lines->capacity * 2 + 16;
        lines->items = realloc(lines->items, lines->capacity * sizeof *lines->items);
    }
    lines->items[lines->n++] = (struct line){ begin, end, refused };
}

static sluice_status line_refused(void *ctx, uint32_t file, uint64_t begin, uint64_t end,
                                  const char *head, size_t n, struct sluice_error *err)
{
    struct lines *lines = ctx;

    (void)err;
    assert_int_equal(file, lines->file);
    assert_true(end <= lines->sample->n && begin < end);
    assert_true(n <= SOURCE_HEAD &&
                (n == SOURCE_HEAD || n <= end - begin || head[end - begin] == '\n'));
    assert_memory_equal(head, lines->sample->text + begin, n < end - begin ? n : end - begin);
    lines_add(lines, begin, end, true);
    return SLUICE_OK;
}

static int by_begin(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The truth. */
static void lines_expected(const struct sample *s, uint64_t max_record, struct lines *out)
{
    size_t at = s->n >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < s->n) {
        const char *newline = memchr(s->text + at, '\n', s->n - at);
        size_t end = newline != NULL ? (size_t)(newline - s->text) : s->n;
        lines_add(out, at, end, end - at > max_record);
        at = end + 1;
    }
}

/* Checks a chunk's promises and takes its lines. */
static void chunk_check(const struct sample *s, const struct sluice_chunk *chunk,
                        struct lines *lines)
{
    static const char zeros[SLUICE_PADDING];
    size_t at = 0;

    assert_true(chunk->n > 0 && chunk->offset + chunk->n <= s->n);
    assert_memory_equal(chunk->data, s->text + chunk->offset, chunk->n);
    assert_memory_equal(chunk->data + chunk->n, zeros, SLUICE_PADDING);
    assert_true(chunk->data[chunk->n - 1] == '\n' || chunk->offset + chunk->n == s->n);
    assert_string_equal(chunk->uri, "name/of/file");
    assert_int_equal(chunk->consumed, chunk->n);
    if ((chunk->flags & SLUICE_CHUNK_FIRST) != 0) {
        assert_true(chunk->offset == 0 || (chunk->offset == 3 && s->text[0] == '\xef'));
    }
    while (at < chunk->n) {
        const char *newline = memchr(chunk->data + at, '\n', chunk->n - at);
        size_t end = newline != NULL ? (size_t)(newline - chunk->data) : chunk->n;
        lines_add(lines, chunk->offset + at, chunk->offset + end, false);
        at = end + 1;
    }
}

/* The lines of one range, in order. */
static void range_lines(struct feeder *feeder, const struct sample *s, struct split_range range,
                        uint64_t max_record, uint64_t chunk_size, struct lines *out)
{
    struct split split = { .ranges = &range, .n_ranges = 1 };
    struct source_options options = { .cut = SPLIT_CUT_NEWLINE,
                                      .max_record = max_record,
                                      .target_chunk = chunk_size,
                                      .too_long = line_refused,
                                      .ctx = out };
    struct sluice_error err = ERROR_INIT;
    struct source *source;
    size_t first = out->n;
    bool more = true;

    out->sample = s;
    assert_int_equal(source_open(feeder, s->file, &split, &options, &source, &err), SLUICE_OK);
    while (more) {
        struct sluice_chunk chunk;
        sluice_status status = source_next(source, &chunk, &more, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(status, SLUICE_OK);
        if (more) {
            chunk_check(s, &chunk, out);
        }
    }
    for (size_t i = first; i < out->n; i++) {
        bool marked = out->items[i].begin == 3 && range.begin == 0; /* behind a byte order mark */
        assert_true(out->items[i].begin >= range.begin &&
                    (range.last || out->items[i].begin < range.end || marked));
        assert_true(i == first || out->items[i].begin > out->items[i - 1].end);
    }
    source_close(source);
}

static void lines_equal(struct lines *got, const struct lines *expected)
{
    lines_add(got, UINT64_MAX, UINT64_MAX, false);
    got->n--;
    qsort(got->items, got->n, sizeof *got->items, by_begin);
    for (size_t i = 0; i < got->n && i < expected->n; i++) {
        assert_int_equal(got->items[i].begin, expected->items[i].begin);
        assert_int_equal(got->items[i].end, expected->items[i].end);
        assert_int_equal(got->items[i].refused, expected->items[i].refused);
    }
    assert_int_equal(got->n, expected->n);
}

/* ---- texts and cuts ---- */

static size_t random_text(char *text, size_t n, unsigned line)
{
    size_t at = 0;

    if (chance(4) == 0 && n >= 3) {
        memcpy(text, "\xef\xbb\xbf", 3);
        at = 3;
    }
    while (at < n) {
        size_t length = chance(12) == 0 ? chance(line * 10 + 1) : chance(line + 1);
        for (; length > 0 && at < n; length--) {
            text[at++] = (char)(' ' + chance(90));
        }
        if (at < n && chance(30) != 0) {
            text[at++] = '\n';
        }
    }
    return n;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Random ranges that cover [0, n). */
static size_t random_ranges(uint64_t n, struct split_range *ranges, size_t max, bool know_size)
{
    uint64_t cuts[64];
    size_t k = 0;
    size_t n_ranges = 0;
    uint64_t begin = 0;

    for (size_t i = 0; i + 1 < max && n > 1; i++) {
        /* Beyond the end too, when nobody knows where that is. */
        cuts[k++] = 1 + chance(know_size ? n - 1 : n + n / 4);
    }
    qsort(cuts, k, sizeof *cuts, by_value);
    for (size_t i = 0; i < k; i++) {
        if (cuts[i] > begin) {
            ranges[n_ranges++] = (struct split_range){ begin, cuts[i], 0, false };
            begin = cuts[i];
        }
    }
    ranges[n_ranges++] = (struct split_range){ begin, SPLIT_TO_END, 0, true };
    return n_ranges;
}

static void test_every_line_once(void **state)
{
    char *folder = temp_folder();
    char *text = malloc(60000);

    (void)state;
    for (int round = 0; round < 1500; round++) {
        size_t n = random_text(text, chance(5) == 0 ? chance(60000) : chance(3000),
                               1 + (unsigned)chance(200));
        enum form form = (enum form)(round % FORMS);
        bool know_size = chance(2) == 0;
        uint64_t max_record = chance(3) == 0 ? 1 + chance(300) : 100000;
        uint64_t chunk_size = 1 + chance(chance(2) == 0 ? 50 : 5000);
        struct feeder_options options = { .max_idle = 1 + chance(3), .alone = chance(2) == 0 };
        struct lines got = { 0 };
        struct lines expected = { 0 };
        struct split_range ranges[64];
        size_t n_ranges;
        struct feeder *feeder;
        struct sample s;
        sample_init(&s, folder, form, text, n);
        n_ranges = random_ranges(n, ranges, 1 + chance(60), know_size);
        if (chance(3) == 0) { /* out of order, as after a resume */
            for (size_t i = n_ranges; i > 1; i--) {
                size_t k = chance(i);
                struct split_range swap = ranges[i - 1];
                ranges[i - 1] = ranges[k];
                ranges[k] = swap;
            }
        }
        assert_int_equal(feeder_create(&options, &feeder, NULL), SLUICE_OK);
        for (size_t i = 0; i < n_ranges; i++) {
            range_lines(feeder, &s, ranges[i], max_record, chunk_size, &got);
        }
        lines_expected(&s, max_record, &expected);
        lines_equal(&got, &expected);
        feeder_destroy(feeder);
        sample_deinit(&s);
        free(got.items);
        free(expected.items);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

/* All pairs of cuts of a small file. */
static void test_all_cuts(void **state)
{
    static const char text[] = "\xef\xbb\xbfone\n\ntwo\r\nthree and a bit\n\n\nfour";
    const size_t n = sizeof text - 1;
    char *folder = temp_folder();

    (void)state;
    for (int form = 0; form < FORMS; form++) {
        struct sample s;
        sample_init(&s, folder, (enum form)form, text, n);
        for (uint64_t a = 1; a < n; a++) {
            for (uint64_t b = a; b < n; b++) {
                struct split_range ranges[3] = { { 0, a, 0, false },
                                                 { a, b, 0, false },
                                                 { b, n, 0, true } };
                struct lines got = { 0 };
                struct lines expected = { 0 };
                struct feeder *feeder;
                uint64_t max_record = 1 + (a * 7 + b) % 20;
                assert_int_equal(
                    feeder_create(&(struct feeder_options){ .alone = (a + b) % 2 == 1 }, &feeder,
                                  NULL),
                    SLUICE_OK);
                for (int i = 0; i < 3; i++) {
                    if (ranges[i].begin < ranges[i].end) {
                        range_lines(feeder, &s, ranges[i], max_record, 1 + a % 9, &got);
                    }
                }
                lines_expected(&s, max_record, &expected);
                lines_equal(&got, &expected);
                feeder_destroy(feeder);
                free(got.items);
                free(expected.items);
            }
        }
        sample_deinit(&s);
    }
    folder_remove(folder);
    free(folder);
}

/* Lines far longer than ranges, buffers and max_record, across many ranges. */
static void test_overlong(void **state)
{
    const size_t n = 3000000;
    char *folder = temp_folder();
    char *text = malloc(n);

    (void)state;
    memset(text, 'x', n);
    text[10] = '\n';
    text[1500000] = '\n';
    text[1500001] = '\n';
    text[1600000] = '\n';
    for (int form = 0; form < FORMS; form++) {
        for (int max = 0; max < 6; max++) {
            static const uint64_t limits[] = { 50, 99997, 99998, 50, 99997, 99998 };
            struct feeder_options options = { .alone = max >= 3 };
            struct sample s;
            struct feeder *feeder;
            struct lines got = { 0 };
            struct lines expected = { 0 };
            sample_init(&s, folder, (enum form)form, text, n);
            assert_int_equal(feeder_create(&options, &feeder, NULL), SLUICE_OK);
            for (uint64_t at = 0; at < n; at += 70000) {
                bool last = at + 70000 >= n;
                range_lines(feeder, &s, (struct split_range){ at, last ? n : at + 70000, 0, last },
                            limits[max], 0, &got);
            }
            if (form != PLAIN) {
                assert_true(feeder_memory(feeder) < 5000000);
            }
            lines_expected(&s, limits[max], &expected);
            assert_int_equal(expected.n, 5);
            assert_int_equal(expected.items[3].refused, max % 3 < 2 ? 1 : 0);
            lines_equal(&got, &expected);
            feeder_destroy(feeder);
            sample_deinit(&s);
            free(got.items);
            free(expected.items);
        }
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

/* ---- what a range holds ---- */

static struct hash128 range_digest(const struct sample *s, struct split_range range,
                                   uint64_t max_record, uint64_t chunk_size, bool alone)
{
    struct split split = { .ranges = &range, .n_ranges = 1 };
    struct source_options options = { .cut = SPLIT_CUT_NEWLINE,
                                      .max_record = max_record,
                                      .target_chunk = chunk_size,
                                      .digest = true };
    struct feeder_options feeding = { .alone = alone };
    struct feeder *feeder;
    struct source *source;
    struct sluice_chunk chunk;
    struct hash128 digest;
    bool more = true;

    assert_int_equal(feeder_create(&feeding, &feeder, NULL), SLUICE_OK);
    assert_int_equal(source_open(feeder, s->file, &split, &options, &source, NULL), SLUICE_OK);
    while (more) {
        assert_int_equal(source_next(source, &chunk, &more, NULL), SLUICE_OK);
    }
    digest = source_digest(source);
    source_close(source);
    feeder_destroy(feeder);
    return digest;
}

/* It depends on the bytes of the range's lines and on where they are: not on the codec, on sizes of
 * chunks or on how the range was decoded. */
static void test_digest(void **state)
{
    char *folder = temp_folder();
    char *text = malloc(4000);

    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t n = random_text(text, 500 + chance(3000), 60);
        uint64_t max_record = chance(2) == 0 ? 1 + chance(60) : 100000;
        struct split_range ranges[64];
        struct hash128 first[64];
        size_t n_ranges = random_ranges(n, ranges, 1 + chance(8), chance(2) == 0);
        size_t differ = 0;
        for (int form = 0; form < FORMS + 1; form++) {
            struct sample s;
            if (form == FORMS) { /* another text */
                text[n / 2] = text[n / 2] == 'x' ? 'y' : 'x';
            }
            sample_init(&s, folder, form == FORMS ? PLAIN : (enum form)form, text, n);
            for (size_t i = 0; i < n_ranges; i++) {
                struct hash128 digest =
                    range_digest(&s, ranges[i], max_record, 1 + chance(500), chance(2) == 0);
                first[i] = form == 0 ? digest : first[i];
                assert_true(form == FORMS || hash_equal(digest, first[i]));
                differ += !hash_equal(digest, first[i]);
            }
            sample_deinit(&s);
        }
        assert_true(differ > 0 || max_record < 100000);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

/* ---- many files in a split, not cut ---- */

static void test_many_files(void **state)
{
    static const char *const texts[] = { "a\nb\n", "", "\n", "no end", "\xef\xbb\xbf", "last\n" };
    char *folder = temp_folder();
    struct sample s[6];
    struct listing_file listed[6];
    struct listing listing = { .files = listed, .n = 6 };
    struct source_files *files;
    struct split_range ranges[6];
    struct split split = { .ranges = ranges, .n_ranges = 6 };
    struct source_options options = { .cut = SPLIT_CUT_NEWLINE };
    struct feeder *feeder;
    struct source *source;
    struct buf all = BUF_INIT;
    bool more = true;

    (void)state;
    for (int i = 0; i < 6; i++) {
        char *inside = str_printf("%s/%d", folder, i);
        mkdir(inside, 0700);
        sample_init(&s[i], inside, (enum form)(strlen(texts[i]) > 0 ? i % FORMS : 0), texts[i],
                    strlen(texts[i]));
        listed[i] = s[i].listed;
        ranges[i] = (struct split_range){ 0, SPLIT_TO_END, (uint32_t)i, true };
        free(inside);
    }
    assert_int_equal(feeder_create(NULL, &feeder, NULL), SLUICE_OK);
    assert_int_equal(source_files_create(&listing, NULL, NULL, &files, NULL), SLUICE_OK);
    assert_int_equal(source_open(feeder, source_files_all(files), &split, &options, &source, NULL),
                     SLUICE_OK);
    for (;;) {
        struct sluice_chunk chunk;
        assert_int_equal(source_next(source, &chunk, &more, NULL), SLUICE_OK);
        if (!more) {
            break;
        }
        buf_printf(&all, "%u:%u:%.*s;", chunk.file, chunk.flags, (int)chunk.n, chunk.data);
    }
    assert_string_equal(buf_str(&all), "0:3:a\nb\n;2:3:\n;3:3:no end;5:3:last\n;");
    assert_int_equal(source_position_raw(source),
                     s[0].listed.version.size + s[2].listed.version.size +
                         s[3].listed.version.size + s[4].listed.version.size +
                         s[5].listed.version.size);
    source_close(source);
    feeder_destroy(feeder);
    source_files_destroy(files);
    for (int i = 0; i < 6; i++) {
        sample_deinit(&s[i]);
    }
    buf_deinit(&all);
    folder_remove(folder);
    free(folder);
}

/* A reader of records "LENGTH:BYTES" that consumes whole records only. */
static void test_uncut(void **state)
{
    char *folder = temp_folder();

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct buf text = BUF_INIT;
        struct buf got = BUF_INIT;
        struct feeder *feeder;
        struct source *source;
        struct sample s;
        struct split_range range = { 0, SPLIT_TO_END, 0, true };
        struct split split = { .ranges = &range, .n_ranges = 1 };
        struct source_options options = { .cut = SPLIT_CUT_NONE,
                                          .target_chunk = 1 + chance(60),
                                          .max_record = 600 };
        bool last = false;
        bool more;
        size_t chunks = 0;
        uint64_t at = 0;
        for (size_t k = chance(40); k > 0; k--) {
            size_t n = chance(500);
            buf_printf(&text, "%zu:", n);
            for (; n > 0; n--) {
                buf_putc(&text, (char)('a' + chance(26)));
            }
        }
        sample_init(&s, folder, (enum form)(round % FORMS), buf_str(&text), text.size);
        assert_int_equal(feeder_create(NULL, &feeder, NULL), SLUICE_OK);
        assert_int_equal(source_open(feeder, s.file, &split, &options, &source, NULL), SLUICE_OK);
        for (;;) {
            static const char zeros[SLUICE_PADDING];
            struct sluice_chunk chunk;
            size_t used = 0;
            assert_int_equal(source_next(source, &chunk, &more, NULL), SLUICE_OK);
            if (!more) {
                break;
            }
            assert_false(last);
            last = (chunk.flags & SLUICE_CHUNK_LAST) != 0;
            assert_int_equal(chunk.offset, at);
            assert_int_equal((chunk.flags & SLUICE_CHUNK_FIRST) != 0, chunks++ == 0);
            assert_memory_equal(chunk.data + chunk.n, zeros, SLUICE_PADDING);
            for (;;) {
                char *colon;
                size_t n = strtoul(chunk.data + used, &colon, 10);
                if (*colon != ':' || (size_t)(colon - chunk.data) + 1 + n > chunk.n) {
                    break;
                }
                buf_append(&got, chunk.data + used, (size_t)(colon - chunk.data) + 1 + n - used);
                used = (size_t)(colon - chunk.data) + 1 + n;
            }
            assert_int_equal(source_consumed(source, chunk.n + 1, NULL), SLUICE_E_INTERNAL);
            assert_int_equal(source_consumed(source, used, NULL), SLUICE_OK);
            at += used;
        }
        assert_true(last);
        assert_int_equal(got.size, text.size);
        assert_memory_equal(buf_str(&got), s.text, text.size);
        source_close(source);
        feeder_destroy(feeder);
        sample_deinit(&s);
        buf_deinit(&text);
        buf_deinit(&got);
    }
    folder_remove(folder);
    free(folder);
}

static void test_uncut_too_long(void **state)
{
    char *folder = temp_folder();
    char text[5000];
    struct sluice_error err = ERROR_INIT;
    struct split_range range = { 0, SPLIT_TO_END, 0, true };
    struct split split = { .ranges = &range, .n_ranges = 1 };
    struct source_options options = { .cut = SPLIT_CUT_NONE,
                                      .target_chunk = 100,
                                      .max_record = 1000 };
    struct feeder *feeder;
    struct source *source;
    struct sample s;
    struct sluice_chunk chunk;
    sluice_status status;
    bool more = true;
    uint64_t most = 0;

    (void)state;
    memset(text, 'x', sizeof text);
    sample_init(&s, folder, GZIP_ONE, text, sizeof text);
    assert_int_equal(feeder_create(NULL, &feeder, NULL), SLUICE_OK);
    assert_int_equal(source_open(feeder, s.file, &split, &options, &source, NULL), SLUICE_OK);
    while ((status = source_next(source, &chunk, &more, &err)) == SLUICE_OK && more) {
        most = chunk.n;
        assert_int_equal(source_consumed(source, 0, NULL), SLUICE_OK);
    }
    assert_int_equal(status, SLUICE_E_DATA);
    assert_int_equal(most, 1000);
    assert_non_null(strstr(err.message, s.path));
    assert_non_null(strstr(err.message, "max_record"));
    source_close(source);
    feeder_destroy(feeder);
    sample_deinit(&s);
    folder_remove(folder);
    free(folder);
}

/* ---- faults ---- */

/* Reads what is left. */
static sluice_status read_rest(struct source *source, struct sluice_error *err)
{
    struct sluice_chunk chunk;
    sluice_status status;
    bool more = true;

    do {
        status = source_next(source, &chunk, &more, err);
    } while (status == SLUICE_OK && more);
    return status;
}

static sluice_status read_all(const struct source_file *file, struct split_range range,
                              struct sluice_error *err)
{
    struct split split = { .ranges = &range, .n_ranges = 1 };
    struct source_options options = { .cut = SPLIT_CUT_NEWLINE };
    struct feeder *feeder;
    struct source *source;
    sluice_status status;

    assert_int_equal(feeder_create(NULL, &feeder, NULL), SLUICE_OK);
    assert_int_equal(source_open(feeder, file, &split, &options, &source, NULL), SLUICE_OK);
    status = read_rest(source, err);
    source_close(source);
    feeder_destroy(feeder);
    return status;
}

static void test_changed_file(void **state)
{
    char *folder = temp_folder();
    char text[3000];

    (void)state;
    memset(text, '\n', sizeof text);
    for (int form = 0; form < FORMS; form++) {
        struct sample s;
        struct sluice_error err = ERROR_INIT;
        sample_init(&s, folder, (enum form)form, text, sizeof text);
        for (int part = 0; part < 3; part++) {
            struct split_range range = { part * 1000u, part * 1000u + 1000, 0, part == 2 };
            assert_int_equal(read_all(s.file, range, &err), SLUICE_OK);
        }
        /* That it was touched is enough: nobody knows what is in it now. */
        file_age(s.path, 100);
        for (int part = 0; part < 3; part++) {
            struct split_range range = { part * 1000u, part * 1000u + 1000, 0, part == 2 };
            err.message[0] = '\0';
            assert_int_equal(read_all(s.file, range, &err), SLUICE_E_DATA);
            assert_non_null(strstr(err.message, s.path));
        }
        assert_int_equal(truncate(s.path, 10), 0);
        assert_int_equal(read_all(s.file, (struct split_range){ 0, 3000, 0, true }, &err),
                         SLUICE_E_DATA);
        assert_int_equal(unlink(s.path), 0);
        assert_int_equal(read_all(s.file, (struct split_range){ 0, 3000, 0, true }, &err),
                         SLUICE_E_DATA);
        sample_deinit(&s);
    }
    folder_remove(folder);
    free(folder);
}

/* Somebody writes to a file in the middle of reading it: the same size, so that only what was read
 * tells. One whose name is gone does no harm: what is open is read to its end. */
static sluice_status read_while(struct sample *s, bool plain, bool removed,
                                struct sluice_error *err)
{
    struct split_range ranges[] = { { 0, 10000, 0, false }, { 10000, 20000, 0, false } };
    struct split split = { .ranges = ranges, .n_ranges = plain ? 1 : 2 };
    struct source_options options = { .cut = SPLIT_CUT_NEWLINE };
    struct feeder *feeder;
    struct source *source;
    struct sluice_chunk chunk;
    bool more = true;
    size_t n;
    char *bytes = file_read_all(s->path, &n);
    int fd = open(s->path, O_WRONLY);
    sluice_status status;

    assert_true(fd >= 0);
    file_age(s->path, 50);
    sample_stat(s);
    assert_int_equal(feeder_create(NULL, &feeder, NULL), SLUICE_OK);
    assert_int_equal(source_open(feeder, s->file, &split, &options, &source, NULL), SLUICE_OK);
    assert_int_equal(source_next(source, &chunk, &more, NULL), SLUICE_OK);
    bytes[n / 2] = (char)(bytes[n / 2] ^ 1);
    if (removed) {
        assert_int_equal(unlink(s->path), 0);
    } else {
        assert_int_equal(pwrite(fd, bytes, n, 0), n);
    }
    status = read_rest(source, err);
    close(fd);
    source_close(source);
    feeder_destroy(feeder);
    free(bytes);
    return status;
}

static void test_changed_while_read(void **state)
{
    char *folder = temp_folder();
    char text[60000]; /* more than is read when a file is opened, compressed too */

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = i % 20 == 19 ? '\n' : (char)(' ' + chance(64));
    }
    for (int form = 0; form < FORMS; form++) {
        struct sample s;
        struct sluice_error err = ERROR_INIT;
        sample_init(&s, folder, (enum form)form, text, sizeof text);
        assert_int_equal(read_while(&s, form == PLAIN, false, &err), SLUICE_E_DATA);
        assert_non_null(strstr(err.message, s.path));
        sample_deinit(&s);
        sample_init(&s, folder, (enum form)form, text, sizeof text);
        assert_int_equal(read_while(&s, true, true, &err), SLUICE_OK);
        sample_deinit(&s);
    }
    folder_remove(folder);
    free(folder);
}

static int32_t cancel_after(void *ctx)
{
    int *calls = ctx;

    return --*calls < 0;
}

static void test_cancelled(void **state)
{
    char *folder = temp_folder();
    char *text = calloc(20, 1000000);
    struct sample s;

    (void)state;
    sample_init(&s, folder, ZSTD_STREAMED, text, 20000000);
    for (int after = 0; after < 8; after++) {
        int calls = after;
        struct feeder_options options = { .cancelled = cancel_after, .ctx = &calls };
        struct feeder *feeder;
        struct feed feed;
        sluice_status status;
        assert_int_equal(feeder_create(&options, &feeder, NULL), SLUICE_OK);
        status = feeder_take(feeder, s.file, 10000000, 19000000, 100, NULL, &feed, NULL);
        assert_int_equal(status, after < 7 ? SLUICE_E_CANCELLED : SLUICE_OK);
        if (status == SLUICE_OK) {
            assert_int_equal(feed.n, 0);
            feeder_release(feeder, &feed);
        }
        feeder_destroy(feeder);
    }
    sample_deinit(&s);
    free(text);
    folder_remove(folder);
    free(folder);
}

/* ---- threads ---- */

#define THREADS 6

struct crew {
    pthread_mutex_t mutex;
    struct feeder *feeder;
    const struct sample *sample;
    const struct split_range *ranges;
    size_t n, next;
    struct lines lines[THREADS];
};

struct worker {
    struct crew *crew;
    size_t number;
};

static void *worker_main(void *ctx)
{
    struct worker *worker = ctx;
    struct crew *crew = worker->crew;

    for (;;) {
        size_t task;
        pthread_mutex_lock(&crew->mutex);
        task = crew->next++;
        pthread_mutex_unlock(&crew->mutex);
        if (task >= crew->n) {
            return NULL;
        }
        range_lines(crew->feeder, crew->sample, crew->ranges[task], 3000, 2000,
                    &crew->lines[worker->number]);
    }
}

static void test_threads(void **state)
{
    char *folder = temp_folder();
    char *text = malloc(400000);

    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t n = random_text(text, 200000 + chance(200000), 100);
        struct feeder_options options = { .max_idle = 1 + chance(4) };
        struct split_range ranges[64];
        struct crew crew = { .mutex = PTHREAD_MUTEX_INITIALIZER, .ranges = ranges };
        struct worker workers[THREADS];
        pthread_t threads[THREADS];
        struct lines got = { 0 };
        struct lines expected = { 0 };
        struct sample s;
        sample_init(&s, folder, (enum form)(1 + round % (FORMS - 1)), text, n);
        crew.sample = &s;
        crew.n = random_ranges(n, ranges, 2 + chance(60), true);
        assert_int_equal(feeder_create(&options, &crew.feeder, NULL), SLUICE_OK);
        for (size_t i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){ &crew, i };
            assert_int_equal(pthread_create(&threads[i], NULL, worker_main, &workers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            for (size_t k = 0; k < crew.lines[i].n; k++) {
                struct line line = crew.lines[i].items[k];
                lines_add(&got, line.begin, line.end, line.refused);
            }
            free(crew.lines[i].items);
        }
        lines_expected(&s, 3000, &expected);
        lines_equal(&got, &expected);
        feeder_destroy(crew.feeder);
        sample_deinit(&s);
        free(got.items);
        free(expected.items);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_line_once),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_all_cuts),
        cmocka_unit_test(test_overlong),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_uncut),
        cmocka_unit_test(test_uncut_too_long),
        cmocka_unit_test(test_changed_file),
        cmocka_unit_test(test_changed_while_read),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
