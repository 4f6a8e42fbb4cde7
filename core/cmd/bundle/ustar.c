/* A tar archive: see ustar.h. */
#include "cmd/bundle/ustar.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512u
#define NAME_MOST 100u
#define PREFIX_MOST 155u
#define FILE_MOST ((size_t)1 << 33) /* eleven octal digits */

/* POSIX.1-1988, "ustar Interchange Format". */
struct header {
    char name[NAME_MOST];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6], version[2];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[PREFIX_MOST];
    char rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "the header is one block");

/* Splits a long name at a slash; false = it does not fit. */
static bool put_name(struct header *header, const char *name)
{
    size_t n = strlen(name);
    size_t cut = 0;

    if (n > NAME_MOST) {
        for (size_t k = 1; k < n && k <= PREFIX_MOST; k++) {
            cut = name[k] == '/' ? k : cut;
        }
        if (cut == 0 || n - cut - 1 > NAME_MOST) {
            return false;
        }
        memcpy(header->prefix, name, cut);
        cut++;
    }
    memcpy(header->name, name + cut, n - cut);
    return n > 0;
}

sluice_status ustar_file(struct outcodec *out, const char *name, const void *data, size_t n,
                         struct sluice_error *err)
{
    static const char zeroes[BLOCK] = { 0 };
    struct header header;
    unsigned sum = 0;

    memset(&header, 0, sizeof header);
    if (!put_name(&header, name) || n >= FILE_MOST) {
        return error_set(err, SLUICE_E_CONFIG, "%s does not fit into a tar archive", name);
    }
    memcpy(header.mode, "0000644", 8);
    memcpy(header.uid, "0000000", 8);
    memcpy(header.gid, "0000000", 8);
    snprintf(header.size, sizeof header.size, "%011llo", (unsigned long long)n);
    memcpy(header.mtime, "00000000000", 12);
    memset(header.checksum, ' ', sizeof header.checksum);
    header.type = '0';
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    for (size_t k = 0; k < BLOCK; k++) {
        sum += ((const unsigned char *)&header)[k];
    }
    snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
    TRY(outcodec_write(out, &header, sizeof header, err));
    TRY(outcodec_write(out, data, n, err));
    return outcodec_write(out, zeroes, (BLOCK - n % BLOCK) % BLOCK, err);
}

sluice_status ustar_end(struct outcodec *out, struct sluice_error *err)
{
    static const char zeroes[2 * BLOCK] = { 0 };

    return outcodec_write(out, zeroes, sizeof zeroes, err);
}
