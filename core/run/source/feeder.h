/* Lets a big file that can't be sought (one gzip member, one zstd frame) be decoded once,
 * however many workers read its ranges. Owns the decoders between two ranges and the memory that
 * ranges are decoded into. Depends on files.h. Thread-safe.
 *
 * A worker that wants [begin, end) takes the file's decoder, waits while another one decodes an
 * earlier range, decodes its own range and the rest of the line that crosses its end, gives the
 * decoder back for the next range and works on its memory without any lock. Where no decoder
 * stands before the range, a new one starts at the nearest frame, decodes and discards. What a
 * worker gets depends on the file and the range only. Workers of earlier ranges never wait for
 * later ones. Behind the file's end, once somebody has met it, nothing is decoded any more. */
#ifndef SLUICE_RUN_FEEDER_H
#define SLUICE_RUN_FEEDER_H

#include "base/error.h"
#include "run/source/files.h"

struct feeder_options {
    size_t max_idle; /* decoders kept between ranges; 0 = 8 */
    bool alone;      /* one thread reads: nobody waits for a decoder while its range is worked on */
    int32_t (*cancelled)(
        void *ctx); /* polled about every 10 ms of decoding and waiting; may be NULL */
    void *ctx;
};

struct feeder;

sluice_status feeder_create(const struct feeder_options *, struct feeder **out,
                            struct sluice_error *err) MUST_USE;
void feeder_destroy(struct feeder *); /* after all feeds are released */

/* Decoded bytes of a range that is cut by newline. */
struct feed {
    char *data;      /* followed by SLUICE_PADDING bytes that may be written */
    uint64_t offset; /* of data[0] in the decoded file */
    size_t n;
    uint64_t raw; /* bytes of the file that decoding took */
    /* != 0: the last line is longer than max_record, not whole here, and ends at this offset. */
    uint64_t line_end;
    size_t capacity;
    bool grown; /* beyond what was taken for it at first */
};

/* Decodes the lines that begin in [begin, end) of a file. For begin = 0 data[0] is the file's
 * first byte. Else data[0] is a byte at or behind begin - 1, and what stands before the first
 * '\n' in data belongs to an earlier line: lines of this range begin behind it. n = 0: none
 * does. The last line is whole ('\n' or the file's end), but for line_end. SLUICE_E_CANCELLED,
 * or what input.h reports. */
struct feed_grow;
sluice_status feeder_take(struct feeder *, const struct source_file *, uint64_t begin, uint64_t end,
                          uint64_t max_record, const struct feed_grow *, struct feed *out,
                          struct sluice_error *err) MUST_USE;
/* Called before a feed takes so many bytes beyond its range and what its last line usually has; may
 * wait, and refuse. NULL = no matter. */
struct feed_grow {
    sluice_status (*grow)(void *ctx, uint64_t bytes, struct sluice_error *err);
    void *ctx;
};
void feeder_release(struct feeder *, struct feed *);

/* For the range that goes on to the end of the file: a stream of its own. *head are the bytes
 * before the stream's position, under the same rule (n may be 0). *out = NULL: the file ends
 * before. Close with input_close and feeder_release. */
sluice_status feeder_stream(struct feeder *, const struct source_file *, uint64_t begin,
                            struct feed *head, struct input **out,
                            struct sluice_error *err) MUST_USE;

/* Where one thread reads (options.alone): lends the decoder for all of a range that does not end
 * the file, as a stream, so that what is decoded is worked on while it is in the cache, and no
 * range stands in memory whole. *head and *out = NULL as for feeder_stream, and the caller asks for
 * no other range of this feeder before it gives the decoder back. */
struct lease;
bool feeder_lends(const struct feeder *);
sluice_status feeder_lend(struct feeder *, const struct source_file *, uint64_t begin,
                          struct feed *head, struct lease **out, struct sluice_error *err) MUST_USE;
struct input *lease_input(struct lease *); /* borrowed */
/* Takes the lease (NULL is fine). The n bytes before the decoder's position, of which the first
 * ends the range's last line, and no line ends in [clear, their begin): kept for the next range.
 * data NULL: the decoder is of no more use. */
void feeder_return(struct feeder *, struct lease *, uint64_t clear, const char *data, size_t n);

/* Gives up decoders and memory that wait for further ranges. */
void feeder_trim(struct feeder *);

/* Bytes that feeds and idle decoders hold now. */
uint64_t feeder_memory(struct feeder *);

#endif
