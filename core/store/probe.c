/* Probing input files: see probe.h. */
#include "store/probe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/statcache.h"
#include "store/zstdwalk.h"

#define READ_SIZE ((size_t)1 << 20)
#define FRAME_SPACING (UINT64_C(1) << 20) /* decoded bytes between two places worth remembering */

struct frames {
    struct input_frame *items;
    size_t n, capacity;
    uint64_t decoded; /* of all frames so far; INPUT_UNKNOWN once one does not state its size */
    bool failed;
    bool foreign; /* the file is of a format that nobody here decodes */
};

void input_info_deinit(struct input_info *info)
{
    free(info->frames);
    info->frames = NULL;
    info->n_frames = 0;
}

/* A frame ended at these positions; another may begin there. */
static void frames_add(struct frames *frames, uint64_t raw, uint64_t decoded)
{
    uint64_t last = frames->n > 0 ? frames->items[frames->n - 1].decoded : 0;

    if (frames->failed || decoded - last < FRAME_SPACING) {
        return;
    }
    if (frames->n == frames->capacity) {
        size_t capacity = frames->capacity == 0 ? 16 : frames->capacity * 2;
        struct input_frame *items = realloc(frames->items, capacity * sizeof *items);
        if (items == NULL) {
            frames->failed = true;
            return;
        }
        frames->items = items;
        frames->capacity = capacity;
    }
    frames->items[frames->n++] = (struct input_frame){ raw, decoded };
}

static sluice_status frames_walked(void *ctx, uint64_t begin, uint64_t end, uint64_t decoded_size,
                                   struct sluice_error *err)
{
    struct frames *frames = ctx;

    (void)begin;
    (void)err;
    if (frames->decoded != INPUT_UNKNOWN) {
        if (decoded_size == INPUT_UNKNOWN) {
            frames->decoded = INPUT_UNKNOWN;
        } else {
            /* No overflow: the walk has seen that every size stated is at most 2^15 times the
             * frame's bytes. */
            frames->decoded += decoded_size;
            frames_add(frames, end, frames->decoded);
        }
    }
    return SLUICE_OK;
}

static sluice_status probe_unchanged(struct store_file *opened, const struct listing_file *file,
                                     struct sluice_error *err)
{
    struct store_version now;

    TRY(store_look(opened, &now, err));
    if (!store_version_holds(&file->version, &now)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s changed while it was examined (%" PRIu64 " bytes, now %" PRIu64
                         "); run again when nobody "
                         "writes to it",
                         file->path, file->version.size, now.size);
    }
    return SLUICE_OK;
}

/* Reads the whole file once: codec, hash, frames. */
static sluice_status probe_read(struct store_file *opened, const struct listing_file *file,
                                enum probe_for what, struct hasher *hasher, unsigned char *buffer,
                                size_t capacity, struct input_info *out, struct frames *frames,
                                struct sluice_error *err)
{
    struct zstdwalk walk;
    uint64_t offset = 0;

    zstdwalk_init(&walk);
    for (;;) {
        struct store_extent extent = { offset, capacity, buffer, 0 };
        size_t n;
        TRY(store_read(opened, &extent, 1, err));
        n = extent.got;
        if (offset == 0) {
            sluice_status status = codec_detect(buffer, n, file->path, &out->codec, err);
            if (status != SLUICE_OK && what == PROBE_STORED) {
                out->codec = CODEC_PLAIN;
                frames->foreign = true;
            } else if (status != SLUICE_OK) {
                return status;
            }
        }
        if (n == 0) {
            break;
        }
        hasher_add(hasher, buffer, n);
        if (out->codec == CODEC_ZSTD &&
            zstdwalk_feed(&walk, buffer, n, frames_walked, frames, err) != SLUICE_OK) {
            return error_prefix(err, "%s", file->path);
        }
        offset += n;
        if (n < capacity) {
            break;
        }
    }
    if (out->codec == CODEC_ZSTD && zstdwalk_end(&walk, err) != SLUICE_OK) {
        return error_prefix(err, "%s", file->path);
    }
    out->size = offset;
    out->window = walk.window;
    out->hash = hasher_digest(hasher);
    return SLUICE_OK;
}

static sluice_status probe_uncached(const struct listing_file *file, enum probe_for what,
                                    struct hasher *hasher, unsigned char *buffer, size_t capacity,
                                    struct frames *frames, struct input_info *out,
                                    struct sluice_error *err)
{
    struct store_file *opened;
    bool found;
    sluice_status status;

    TRY(store_open(file->path, &opened, &found, err));
    if (!found && store_version_vague(&file->version)) {
        return listing_missing(file->path, err);
    }
    if (!found) {
        return error_set(err, SLUICE_E_IO,
                         "%s can't be opened: it is gone since it was listed; run again when "
                         "nobody changes its folder",
                         file->path);
    }
    if (file->version.size >= READ_SIZE) {
        store_sequential(opened);
    }
    status = probe_read(opened, file, what, hasher, buffer, capacity, out, frames, err);
    if (status != SLUICE_OK) {
        /* Where the file is another by now, that is the reason. */
        sluice_status changed = probe_unchanged(opened, file, err);
        store_close(opened);
        return changed != SLUICE_OK ? changed : status;
    }
    if (status == SLUICE_OK && out->codec == CODEC_PLAIN) {
        frames->decoded = out->size;
    } else if (status == SLUICE_OK && out->codec == CODEC_GZIP) {
        frames->decoded = INPUT_UNKNOWN;
    }
    if (status == SLUICE_OK && frames->decoded == INPUT_UNKNOWN) {
        frames->n = 0;
    }
    if (status == SLUICE_OK) {
        status = probe_unchanged(opened, file, err);
    }
    store_close(opened);
    return status;
}

sluice_status probe_file(const struct listing_file *file, enum probe_for what,
                         struct statcache *cache, struct input_info *out, struct sluice_error *err)
{
    struct frames frames = { .items = NULL };
    size_t capacity = file->version.size < READ_SIZE ? (size_t)file->version.size + 1 : READ_SIZE;
    struct hasher *hasher;
    unsigned char *buffer;
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (file->version.size == 0) { /* whatever an older cache says of it */
        TRY(codec_detect("", 0, file->path, &out->codec, err));
    }
    if (cache != NULL && statcache_get(cache, file, out)) {
        return SLUICE_OK;
    }
    hasher = hasher_create();
    buffer = malloc(capacity);
    if (hasher == NULL || buffer == NULL) {
        status = error_nomem(err, "a buffer to examine files");
    } else {
        status = probe_uncached(file, what, hasher, buffer, capacity, &frames, out, err);
    }
    hasher_destroy(hasher);
    free(buffer);
    if (status == SLUICE_OK && frames.failed) {
        status = error_nomem(err, "a list of zstd frames");
    }
    if (frames.n > 0 && frames.items[frames.n - 1].decoded == frames.decoded) {
        frames.n--; /* nothing follows */
    }
    if (status == SLUICE_OK) {
        out->decoded_size = frames.decoded;
        out->n_frames = frames.n;
        if (frames.n > 0) {
            out->frames = frames.items;
            frames.items = NULL;
        }
        /* To whoever decodes, such a file is an error, which the cache would hide. */
        if (cache != NULL && !frames.foreign) {
            status = statcache_put(cache, file, out, err);
        }
    }
    free(frames.items);
    if (status != SLUICE_OK) {
        input_info_deinit(out);
    }
    return status;
}

/* ---- text form: codec,size,decoded or -,window,hash[,raw+decoded...] ---- */

void input_info_format(const struct input_info *info, struct buf *out)
{
    char hex[33];

    hash_hex(info->hash, hex);
    buf_printf(out, "%s,%" PRIu64 ",", codec_name(info->codec), info->size);
    if (info->decoded_size == INPUT_UNKNOWN) {
        buf_puts(out, "-,");
    } else {
        buf_printf(out, "%" PRIu64 ",", info->decoded_size);
    }
    buf_printf(out, "%" PRIu64 ",", info->window);
    buf_puts(out, hex);
    for (size_t i = 0; i < info->n_frames; i++) {
        buf_printf(out, ",%" PRIu64 "+%" PRIu64, info->frames[i].raw, info->frames[i].decoded);
    }
}

/* A decimal number at *p, which ends at end or the given byte; moves past that. */
static bool parse_number(const char **p, const char *end, char stop, uint64_t *out)
{
    const char *at = *p;
    uint64_t value = 0;

    while (at < end && *at >= '0' && *at <= '9') {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        at++;
    }
    if (at == *p || (at < end && *at != stop)) {
        return false;
    }
    *p = at < end ? at + 1 : at;
    *out = value;
    return true;
}

static bool parse_head(const char **p, const char *end, struct input_info *out)
{
    const char *comma = memchr(*p, ',', (size_t)(end - *p));
    char name[8];
    char hex[33];

    if (comma == NULL || (size_t)(comma - *p) >= sizeof name) {
        return false;
    }
    memcpy(name, *p, (size_t)(comma - *p));
    name[comma - *p] = '\0';
    *p = comma + 1;
    if (!codec_parse(name, &out->codec) || !parse_number(p, end, ',', &out->size)) {
        return false;
    }
    if (end - *p >= 2 && (*p)[0] == '-' && (*p)[1] == ',') {
        out->decoded_size = INPUT_UNKNOWN;
        *p += 2;
    } else if (!parse_number(p, end, ',', &out->decoded_size)) {
        return false;
    }
    if (!parse_number(p, end, ',', &out->window)) {
        return false;
    }
    if (end - *p < 32 || (end - *p > 32 && (*p)[32] != ',')) {
        return false;
    }
    memcpy(hex, *p, 32);
    hex[32] = '\0';
    *p += end - *p > 32 ? 33 : 32;
    return hash_parse(hex, &out->hash);
}

static bool parse_frames(const char *p, const char *end, struct input_info *out)
{
    size_t n = 1;
    uint64_t raw = 0;
    uint64_t decoded = 0;

    for (const char *q = p; q < end; q++) {
        n += *q == ',';
    }
    out->frames = malloc(n * sizeof *out->frames);
    if (out->frames == NULL) {
        return false;
    }
    while (p < end) {
        struct input_frame *frame = &out->frames[out->n_frames];
        if (out->n_frames == n || !parse_number(&p, end, '+', &frame->raw) ||
            !parse_number(&p, end, ',', &frame->decoded) || frame->raw <= raw ||
            frame->decoded <= decoded || frame->raw >= out->size) {
            return false;
        }
        raw = frame->raw;
        decoded = frame->decoded;
        out->n_frames++;
    }
    return decoded <= out->decoded_size;
}

sluice_status input_info_parse(const char *text, size_t n, struct input_info *out,
                               struct sluice_error *err)
{
    const char *end = text + n;
    const char *p = text;
    bool good;

    memset(out, 0, sizeof *out);
    good = parse_head(&p, end, out) &&
           (p == end || (out->codec == CODEC_ZSTD && parse_frames(p, end, out))) &&
           (out->codec != CODEC_PLAIN || out->decoded_size == out->size);
    if (!good) {
        input_info_deinit(out);
        return error_set(err, SLUICE_E_DATA,
                         "found '%.*s', expected what was stored of an input file; remove the file "
                         "that holds it and "
                         "run again",
                         n < 100 ? (int)n : 100, text);
    }
    return SLUICE_OK;
}
