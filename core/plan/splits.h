/* Cuts a list of files into input splits, from names and sizes alone: nothing is read. Depends on
 * base/.
 *
 * A range is one of decoded bytes (but see OWN). Files above the target are cut at its multiples
 * (a last piece below a quarter joins its predecessor), and the last range of a file goes to its
 * end, wherever that is. A name tells whether a file is compressed, and then its decoded size is
 * guessed: where the guess is wrong, some ranges are empty or the last one is long, and nothing
 * else. Small files are grouped, each group of a quarter to twice the target, and where a group
 * ends is told by hashes of names: a run of files that is too big for a group is cut behind the
 * file of the smallest hash that leaves a quarter of the target on both sides, and so are its
 * halves, like a treap. One file added, removed or changed leaves all cuts elsewhere: it touches
 * one or two splits, in one case of a hundred three. (Cutting from left to right by a threshold
 * that grows with the size so far gives up to twenty: each cut depends on the one before.) */
#ifndef SLUICE_PLAN_SPLITS_H
#define SLUICE_PLAN_SPLITS_H

#include "base/hash.h"

/* OWN and SYNC: a range is one of bytes as they are stored, whatever the file's name says of a
 * codec, and the reader knows what begins in it. */
enum split_cut { SPLIT_CUT_NONE, SPLIT_CUT_NEWLINE, SPLIT_CUT_OWN, SPLIT_CUT_SYNC };
/* What a reader declares (struct sluice_stage, cut). */
enum split_cut splits_cut(const char *cut);
/* Does the reader read at random? */
static inline bool splits_random(enum split_cut cut)
{
    return cut == SPLIT_CUT_OWN || cut == SPLIT_CUT_SYNC;
}

#define SPLIT_TARGET (UINT64_C(64) << 20)
#define SPLIT_TO_END UINT64_MAX /* the end of a file's last range */

struct split_input {           /* borrowed for the call */
    const char *name;          /* unique; inputs come sorted bytewise by name */
    uint64_t size;             /* of the file */
    const char *const *values; /* path parts, n_parts of them; NULL entries allowed */
    size_t n_parts;
};

struct split_options {
    uint64_t target; /* bytes; 0 = SPLIT_TARGET */
    enum split_cut cut;
};

struct split_range {
    uint64_t begin, end; /* decoded bytes; end is exclusive, of the last one SPLIT_TO_END */
    uint32_t file;       /* index of the input */
    bool last;           /* the file ends with this range */
};

/* There may be millions: its name is made when somebody asks (split_name). */
struct split {
    const struct split_range *ranges;
    uint64_t weight;       /* decoded bytes, as guessed */
    struct hash128 layout; /* of names, ranges and path parts, not of what is in the files */
    uint32_t n_ranges;
};

struct splits {
    struct split *items;
    size_t n;
    struct split_range *ranges; /* private: memory of all ranges */
};

/* Whether a file of this name is taken for a compressed one (.gz, .zst and such). */
bool splits_compressed(const char *name);

/* out needs no initialisation; nothing to free after an error. SLUICE_E_CONFIG: unsorted inputs,
 * or more than 2^32 - 1 of them. */
sluice_status splits_plan(const struct split_input *files, size_t n, const struct split_options *,
                          struct splits *out, struct sluice_error *err) MUST_USE;
void splits_deinit(struct splits *);

#define SPLIT_NAME 4200 /* of a name with its NUL: a path can't be longer */

/* The split's name, of its first range: "a/b.jsonl.zst@0"; file is the name of that range's file.
 * Written to buffer; returns it. */
const char *split_name(const struct split *, const char *file, char buffer[SPLIT_NAME]);

#endif
