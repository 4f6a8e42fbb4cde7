/* Streaming input files: see input.h. */
#include "store/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define READ_SIZE ((size_t)1 << 20)   /* bytes of a compressed file read at once */
#define FIRST_SIZE ((size_t)16 << 10) /* read when a file is opened; many are no longer */
#define SKIP_SIZE ((size_t)256 << 10) /* decoded and thrown away at once: stays in the cache */

struct input {
    struct store_file *file;
    const char *path; /* of the file */
    enum codec codec;
    struct store_version version; /* as it was opened */
    uint64_t offset;              /* of the next byte to be read from the file */
    uint64_t decoded;
    unsigned char *first;    /* the whole file, read when it was opened, or NULL */
    struct decoder *decoder; /* NULL for plain files */
    unsigned char *buffer;   /* compressed bytes: [at, at + n) are still to be decoded */
    size_t capacity, at, n;
    unsigned char *discard;
    bool at_end; /* the file has been read to its end */
    input_window_fn watch;
    void *watch_ctx;
    uint64_t window; /* that was told */
};

/* Reads up to n bytes at offset; less only at the end of the file. */
static sluice_status file_read(struct input *in, uint64_t offset, void *buffer, size_t n,
                               size_t *got, struct sluice_error *err)
{
    struct store_extent extent = { offset, n, buffer, 0 };

    if (in->first != NULL) {
        uint64_t size = in->version.size;
        *got = offset >= size ? 0 : n < size - offset ? n : (size_t)(size - offset);
        if (*got > 0) {
            memcpy(buffer, in->first + offset, *got);
        }
        return SLUICE_OK;
    }
    TRY(store_read(in->file, &extent, 1, err));
    *got = extent.got;
    return SLUICE_OK;
}

/* Reads the file's begin; in->first stays when that is all of it. What is known of the file is
 * asked behind that, so that it holds for what was read. */
static sluice_status read_first(struct input *in, size_t *n, struct sluice_error *err)
{
    struct store_extent extent = { 0, FIRST_SIZE, NULL, 0 };

    *n = 0;
    in->first = malloc(FIRST_SIZE);
    if (in->first == NULL) {
        return error_nomem(err, "an input buffer");
    }
    extent.data = in->first;
    TRY(store_read(in->file, &extent, 1, err));
    *n = extent.got;
    return store_look(in->file, &in->version, err);
}

static sluice_status input_setup(struct input *in, struct sluice_error *err)
{
    size_t n = 0;

    TRY(read_first(in, &n, err));
    TRY(codec_detect(in->first, n, in->path, &in->codec, err));
    if (n != in->version.size) {
        free(in->first);
        in->first = NULL;
        store_sequential(in->file);
    }
    if (in->codec == CODEC_PLAIN) {
        return SLUICE_OK;
    }
    in->capacity = in->version.size < READ_SIZE
                       ? (size_t)in->version.size + 1
                       : READ_SIZE; /* + 1: the end shows in the first read */
    in->buffer = malloc(in->capacity);
    if (in->buffer == NULL) {
        return error_nomem(err, "an input buffer");
    }
    return decoder_create(in->codec, &in->decoder, err);
}

sluice_status input_open(const char *path, struct input **out, struct sluice_error *err)
{
    struct input *in = calloc(1, sizeof *in);
    sluice_status status;

    *out = NULL;
    if (in == NULL) {
        return error_nomem(err, "an input");
    }
    status = store_open(path, &in->file, NULL, err);
    if (status == SLUICE_OK) {
        in->path = store_name(in->file);
        status = input_setup(in, err);
    }
    if (status != SLUICE_OK) {
        input_close(in);
        return status;
    }
    *out = in;
    return SLUICE_OK;
}

void input_close(struct input *in)
{
    if (in == NULL) {
        return;
    }
    store_close(in->file);
    decoder_destroy(in->decoder);
    free(in->first);
    free(in->buffer);
    free(in->discard);
    free(in);
}

enum codec input_codec(const struct input *in)
{
    return in->codec;
}

const char *input_path(const struct input *in)
{
    return in->path;
}

uint64_t input_size(const struct input *in)
{
    return in->version.size;
}

const struct store_version *input_version(const struct input *in)
{
    return &in->version;
}

bool input_touched(const struct input *in)
{
    struct store_version now;

    return in->first == NULL && (store_look(in->file, &now, NULL) != SLUICE_OK ||
                                 !store_version_holds(&in->version, &now));
}

uint64_t input_position(const struct input *in)
{
    return in->decoded;
}

uint64_t input_position_raw(const struct input *in)
{
    return in->decoder == NULL ? in->decoded : in->offset - in->n;
}

void input_watch_window(struct input *in, input_window_fn fn, void *ctx)
{
    in->watch = fn;
    in->watch_ctx = ctx;
}

static sluice_status input_fill(struct input *in, struct sluice_error *err)
{
    size_t got;

    TRY(file_read(in, in->offset, in->buffer, in->capacity, &got, err));
    in->at = 0;
    in->n = got;
    in->offset += got;
    in->at_end = got < in->capacity;
    return SLUICE_OK;
}

/* Names the file and both places of a fault. */
static sluice_status input_fault(const struct input *in, struct sluice_error *err)
{
    return error_prefix(err, "%s, near byte %" PRIu64 " of the file (%" PRIu64 " decoded)",
                        in->path, input_position_raw(in), in->decoded);
}

static sluice_status input_truncated(const struct input *in, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s is truncated: it ends at byte %" PRIu64 " (%" PRIu64
                     " decoded) inside a %s; copy it again "
                     "or compress it again",
                     in->path, in->offset, in->decoded,
                     in->codec == CODEC_GZIP ? "gzip member" : "zstd frame");
}

/* One step of decoding into [out, out + n); *got may be 0. *end: nothing comes any more. */
static sluice_status input_decode(struct input *in, unsigned char *out, size_t n, size_t *got,
                                  bool *end, struct sluice_error *err)
{
    struct decoder_step step;
    sluice_status status;
    bool inside;

    if (in->n == 0 && !in->at_end) {
        TRY(input_fill(in, err));
    }
    step = (struct decoder_step){ in->buffer + in->at, in->n, out, n };
    inside = !decoder_at_boundary(in->decoder);
    status = decoder_run(in->decoder, &step, err);
    *got = n - step.out_n;
    in->decoded += *got;
    if (status != SLUICE_OK) {
        in->at += in->n - step.in_n;
        in->n = step.in_n;
        return status == SLUICE_E_NOMEM ? status : input_fault(in, err);
    }
    *end = false;
    if (*got == 0 && in->n == 0 && in->at_end) {
        if (!decoder_at_boundary(in->decoder)) {
            return input_truncated(in, err);
        }
        *end = !inside;
    }
    in->at += in->n - step.in_n;
    in->n = step.in_n;
    /* The window is there by now, but its pages are only taken as it fills. */
    if (in->watch != NULL && decoder_window(in->decoder) > in->window) {
        in->window = decoder_window(in->decoder);
        return in->watch(in->watch_ctx, in->window, err);
    }
    return SLUICE_OK;
}

sluice_status input_read(struct input *in, void *buffer, size_t n, size_t *got,
                         struct sluice_error *err)
{
    unsigned char *out = buffer;
    size_t have = 0;
    bool end = false;

    *got = 0;
    if (in->decoder == NULL) {
        TRY(file_read(in, in->decoded, buffer, n, got, err));
        in->decoded += *got;
        return SLUICE_OK;
    }
    while (have < n && !end) {
        size_t step;
        TRY(input_decode(in, out + have, n - have, &step, &end, err));
        have += step;
    }
    *got = have;
    return SLUICE_OK;
}

sluice_status input_skip(struct input *in, uint64_t n, uint64_t *skipped, struct sluice_error *err)
{
    *skipped = 0;
    if (in->decoder == NULL) {
        struct store_version now;
        uint64_t size;
        TRY(store_look(in->file, &now, err));
        size = now.size;
        *skipped = in->decoded >= size ? 0 : size - in->decoded < n ? size - in->decoded : n;
        in->decoded += *skipped;
        return SLUICE_OK;
    }
    if (in->discard == NULL) {
        in->discard = malloc(SKIP_SIZE);
        if (in->discard == NULL) {
            return error_nomem(err, "an input buffer");
        }
    }
    while (*skipped < n) {
        size_t want = n - *skipped < SKIP_SIZE ? (size_t)(n - *skipped) : SKIP_SIZE;
        size_t got;
        TRY(input_read(in, in->discard, want, &got, err));
        *skipped += got;
        if (got < want) {
            break;
        }
    }
    return SLUICE_OK;
}

sluice_status input_seek(struct input *in, uint64_t raw, uint64_t decoded, struct sluice_error *err)
{
    if (raw > in->version.size || (in->decoder == NULL && raw != decoded)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s has %" PRIu64 " bytes, expected a place to read from at byte %" PRIu64
                         "; it changed "
                         "since it was examined: run again",
                         in->path, in->version.size, raw);
    }
    in->decoded = decoded;
    if (in->decoder != NULL) {
        decoder_reset(in->decoder, raw);
        in->offset = raw;
        in->at = 0;
        in->n = 0;
        in->at_end = false;
    }
    return SLUICE_OK;
}

sluice_status input_read_all(const char *path, void **data, uint64_t *size,
                             struct sluice_error *err)
{
    struct input *input = NULL;
    struct buf out = BUF_INIT;
    sluice_status status = input_open(path, &input, err);

    while (status == SLUICE_OK) {
        size_t got = 0;
        if (!buf_reserve(&out, READ_SIZE)) {
            status = error_nomem(err, "a file");
            break;
        }
        status = input_read(input, out.data + out.size, READ_SIZE, &got, err);
        if (status != SLUICE_OK || got == 0) {
            break;
        }
        out.size += got;
    }
    input_close(input);
    if (status != SLUICE_OK) {
        buf_deinit(&out);
        return status;
    }
    *size = out.size;
    *data = buf_take(&out);
    return *data == NULL ? error_nomem(err, "a file") : SLUICE_OK;
}

sluice_status input_lend(void *ctx, const char *path, const void **data, uint64_t *size,
                         struct sluice_error *err)
{
    void *bytes = NULL;
    sluice_status status = input_read_all(path, &bytes, size, err);

    (void)ctx;
    *data = bytes;
    return status;
}

void input_take_back(void *ctx, const void *data)
{
    (void)ctx;
    free((void *)(uintptr_t)data);
}
