/* zstd frames without decoding: see zstdwalk.h. */
#include "store/zstdwalk.h"

#include <inttypes.h>
#include <string.h>

enum {
    WALK_MAGIC,
    WALK_DESCRIPTOR,
    WALK_HEADER,
    WALK_BLOCK,
    WALK_BODY,
    WALK_CHECKSUM,
    WALK_SKIPPABLE,
    WALK_SKIPPING
};

#define BLOCK_MAX (UINT64_C(128) << 10)

static uint64_t read_le(const unsigned char *bytes, unsigned n)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static void walk_collect(struct zstdwalk *walk, uint32_t state, uint32_t want)
{
    walk->state = state;
    walk->have = 0;
    walk->want = want;
}

void zstdwalk_init(struct zstdwalk *walk)
{
    memset(walk, 0, sizeof *walk);
    walk_collect(walk, WALK_MAGIC, 4);
}

static sluice_status walk_magic(struct zstdwalk *walk, struct sluice_error *err)
{
    uint64_t magic = read_le(walk->head, 4);

    walk->frame = walk->position - 4;
    if (magic == UINT64_C(0xFD2FB528)) {
        walk_collect(walk, WALK_DESCRIPTOR, 1);
    } else if ((magic & UINT64_C(0xFFFFFFF0)) == UINT64_C(0x184D2A50)) {
        walk_collect(walk, WALK_SKIPPABLE, 4);
    } else {
        return error_set(err, SLUICE_E_DATA,
                         "found %02x %02x %02x %02x at byte %" PRIu64
                         ", expected a zstd frame or the end of "
                         "the file; copy the file again or compress it again",
                         walk->head[0], walk->head[1], walk->head[2], walk->head[3], walk->frame);
    }
    return SLUICE_OK;
}

static const unsigned char dictionary_bytes[4] = { 0, 1, 2, 4 };

static sluice_status walk_descriptor(struct zstdwalk *walk, struct sluice_error *err)
{
    unsigned char d = walk->head[0];
    bool single = (d & 0x20) != 0;
    uint32_t window_bytes = single ? 0 : 1;
    uint32_t size_bytes = d >> 6 == 0 ? (single ? 1 : 0) : 1u << (d >> 6);

    if ((d & 0x08) != 0) {
        return error_set(err, SLUICE_E_DATA,
                         "the zstd frame at byte %" PRIu64
                         " has a reserved bit set; the file is damaged or newer "
                         "than this program",
                         walk->frame);
    }
    walk->checksum = (d & 0x04) != 0;
    walk->have = 1;
    walk->want = 1 + window_bytes + dictionary_bytes[d & 3] + size_bytes;
    walk->state = WALK_HEADER;
    return SLUICE_OK;
}

/* What a decoder holds of a frame: its window, or all of it where that is less; and the limit of
 * its blocks (RFC 8878, 3.1.1.1.2 and 3.1.1.2.4). */
static void walk_window(struct zstdwalk *walk, bool single)
{
    uint64_t base = UINT64_C(1) << (10 + (walk->head[1] >> 3));
    uint64_t window = single ? walk->stated : base + base / 8 * (walk->head[1] & 7);

    walk->block = window < BLOCK_MAX ? window : BLOCK_MAX;
    window = window < walk->stated ? window : walk->stated;
    walk->window = window > walk->window ? window : walk->window;
}

static sluice_status walk_header(struct zstdwalk *walk, struct sluice_error *err)
{
    unsigned char d = walk->head[0];
    bool single = (d & 0x20) != 0;
    unsigned at = single ? 1 : 2;
    unsigned dictionary = dictionary_bytes[d & 3];
    uint64_t id = read_le(walk->head + at, dictionary);

    at += dictionary;
    if (id != 0) {
        return error_set(err, SLUICE_E_DATA,
                         "the zstd frame at byte %" PRIu64 " needs dictionary %" PRIu64
                         ", and dictionaries are not "
                         "supported; decompress with `zstd -d -D DICTIONARY` and compress again",
                         walk->frame, id);
    }
    /* RFC 8878, 3.1.1.1.4: without a flag the size has one byte in a single-segment frame and
     * none in others; two bytes count from 256. */
    switch (d >> 6) {
    case 0:
        walk->stated = single ? walk->head[at] : UINT64_MAX;
        break;
    case 1:
        walk->stated = read_le(walk->head + at, 2) + 256;
        break;
    case 2:
        walk->stated = read_le(walk->head + at, 4);
        break;
    default:
        walk->stated = read_le(walk->head + at, 8);
        break;
    }
    walk->at_most = 0;
    walk_window(walk, single);
    walk_collect(walk, WALK_BLOCK, 3);
    return SLUICE_OK;
}

static sluice_status walk_block(struct zstdwalk *walk, struct sluice_error *err)
{
    uint64_t header = read_le(walk->head, 3);
    uint64_t size = header >> 3;
    unsigned type = (unsigned)(header >> 1) & 3;

    if (type == 3 || (type == 2 && size == 0)) {
        return error_set(
            err, SLUICE_E_DATA,
            "the zstd block at byte %" PRIu64 " %s; the file is damaged: copy it again",
            walk->position - 3, type == 3 ? "has a reserved type" : "is compressed, of no bytes");
    }
    if (size > walk->block) {
        return error_set(err, SLUICE_E_DATA,
                         "the zstd block at byte %" PRIu64 " has %" PRIu64
                         " bytes, and blocks of its frame have at most %" PRIu64
                         "; the file is damaged: copy it again",
                         walk->position - 3, size, walk->block);
    }
    walk->last_block = (header & 1) != 0;
    walk->at_most += type == 2 ? walk->block : size;
    walk->skip = type == 1 ? 1 : size;
    walk->state = WALK_BODY;
    return SLUICE_OK;
}

static sluice_status walk_frame_end(struct zstdwalk *walk, zstdwalk_fn fn, void *ctx,
                                    struct sluice_error *err)
{
    if (walk->stated != UINT64_MAX && walk->stated > walk->at_most) {
        return error_set(err, SLUICE_E_DATA,
                         "the zstd frame at byte %" PRIu64 " states %" PRIu64
                         " bytes, but its blocks hold at most "
                         "%" PRIu64 "; the file is damaged: copy it again",
                         walk->frame, walk->stated, walk->at_most);
    }
    walk_collect(walk, WALK_MAGIC, 4);
    return fn != NULL ? fn(ctx, walk->frame, walk->position, walk->stated, err) : SLUICE_OK;
}

/* The bytes to be skipped are behind us. */
static sluice_status walk_skipped(struct zstdwalk *walk, zstdwalk_fn fn, void *ctx,
                                  struct sluice_error *err)
{
    if (walk->state == WALK_SKIPPING) {
        walk_collect(walk, WALK_MAGIC, 4);
    } else if (walk->state == WALK_BODY && !walk->last_block) {
        walk_collect(walk, WALK_BLOCK, 3);
    } else if (walk->state == WALK_BODY && walk->checksum) {
        walk->state = WALK_CHECKSUM;
        walk->skip = 4;
    } else {
        return walk_frame_end(walk, fn, ctx, err);
    }
    return SLUICE_OK;
}

static bool walk_skips(const struct zstdwalk *walk)
{
    return walk->state == WALK_BODY || walk->state == WALK_CHECKSUM || walk->state == WALK_SKIPPING;
}

sluice_status zstdwalk_feed(struct zstdwalk *walk, const void *data, size_t n, zstdwalk_fn fn,
                            void *ctx, struct sluice_error *err)
{
    const unsigned char *p = data;

    /* Something of length 0 ends without a byte of input; it must not wait for the next call. */
    while (n > 0 || (walk_skips(walk) && walk->skip == 0)) {
        if (walk_skips(walk)) {
            size_t step = walk->skip < n ? (size_t)walk->skip : n;
            p += step;
            n -= step;
            walk->position += step;
            walk->skip -= step;
            if (walk->skip == 0) {
                TRY(walk_skipped(walk, fn, ctx, err));
            }
            continue;
        }
        while (n > 0 && walk->have < walk->want) {
            walk->head[walk->have++] = *p++;
            walk->position++;
            n--;
        }
        if (walk->have < walk->want) {
            break;
        }
        switch (walk->state) {
        case WALK_MAGIC:
            TRY(walk_magic(walk, err));
            break;
        case WALK_DESCRIPTOR:
            TRY(walk_descriptor(walk, err));
            break;
        case WALK_HEADER:
            TRY(walk_header(walk, err));
            break;
        case WALK_BLOCK:
            TRY(walk_block(walk, err));
            break;
        default:
            walk->skip = read_le(walk->head, 4);
            walk->state = WALK_SKIPPING;
            break;
        }
    }
    return SLUICE_OK;
}

sluice_status zstdwalk_end(const struct zstdwalk *walk, struct sluice_error *err)
{
    if (walk->state == WALK_MAGIC && walk->have == 0) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_DATA,
                     "the file ends inside the zstd frame that begins at byte %" PRIu64 " (%" PRIu64
                     " bytes in all); "
                     "it is truncated: copy it again or compress it again",
                     walk->state == WALK_MAGIC ? walk->position - walk->have : walk->frame,
                     walk->position);
}
