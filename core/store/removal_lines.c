/* Lines that stay, copied: see removal.h. Nothing in a line is looked at. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/input.h"
#include "store/outcodec.h"
#include "store/removalInt.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct copying {
    const struct removal_shard *gone;
    struct outcodec *out;
    uint64_t row; /* that the next byte belongs to */
    uint64_t at;  /* first of gone that is not behind us */
    bool inside;  /* some bytes of the row were seen */
};

/* The stretch of a piece that is one row's; end: its newline is there. */
static sluice_status copy_row(struct copying *copying, const char *text, size_t n, bool end,
                              struct sluice_error *err)
{
    bool gone = copying->at < copying->gone->n && copying->gone->rows[copying->at] == copying->row;

    if (!gone) {
        TRY(outcodec_write(copying->out, text, n, err));
    }
    copying->inside = !end;
    if (end) {
        copying->at += gone;
        copying->row++;
    }
    return SLUICE_OK;
}

static sluice_status copy_piece(struct copying *copying, const char *text, size_t n,
                                struct sluice_error *err)
{
    while (n > 0) {
        const char *newline = memchr(text, '\n', n);
        size_t size = newline == NULL ? n : (size_t)(newline - text) + 1;
        TRY(copy_row(copying, text, size, newline != NULL, err));
        text += size;
        n -= size;
    }
    return SLUICE_OK;
}

static sluice_status copy_all(struct copying *copying, struct input *input, char *piece,
                              const _Atomic int *stop, struct sluice_error *err)
{
    size_t got = 1;

    while (got > 0) {
        if (stop != NULL && atomic_load(stop) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "stopped");
        }
        TRY(input_read(input, piece, PIECE_BYTES, &got, err));
        TRY(copy_piece(copying, piece, got, err));
    }
    copying->row += copying->inside;
    copying->at += copying->inside && copying->at < copying->gone->n &&
                   copying->gone->rows[copying->at] + 1 == copying->row;
    return SLUICE_OK;
}

static enum outcodec_kind kind_of(const char *file)
{
    const char *suffix = derive_suffix(file);

    return strcmp(suffix, ".jsonl.zst") == 0  ? OUTCODEC_ZSTD
           : strcmp(suffix, ".jsonl.gz") == 0 ? OUTCODEC_GZIP
                                              : OUTCODEC_NONE;
}

sluice_status removal_copy_lines(const char *path, const struct snapshot_shard *shard,
                                 const struct removal_shard *gone, const _Atomic int *stop,
                                 struct pending *pending, struct sluice_error *err)
{
    struct copying copying = { .gone = gone };
    struct input *input = NULL;
    char *piece = malloc(PIECE_BYTES);
    sluice_status status = piece == NULL
                               ? error_nomem(err, "a piece of a file")
                               : outcodec_create(kind_of(shard->file), 0, &copying.out, err);

    if (status == SLUICE_OK && (status = outcodec_begin(copying.out, pending, err)) == SLUICE_OK &&
        (status = input_open(path, &input, err)) == SLUICE_OK &&
        (status = copy_all(&copying, input, piece, stop, err)) == SLUICE_OK) {
        status = outcodec_finish(copying.out, err);
    }
    if (status == SLUICE_OK && (copying.row != shard->rows || copying.at != gone->n)) {
        status = error_set(
            err, SLUICE_E_DATA, "%s has %llu rows, the manifest says %llu; see sluice verify",
            shard->name, (unsigned long long)copying.row, (unsigned long long)shard->rows);
    }
    input_close(input);
    outcodec_destroy(copying.out);
    free(piece);
    return status;
}
