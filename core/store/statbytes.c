/* What is known of files beyond a line: see statcache.h. Each in a file of its own, whose name is
 * a hash of the file's path and of the key, so that what is found out later replaces it: a header,
 * then the bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/disk.h"
#include "store/pending.h"
#include "store/statcache.h"

#define BYTES_MAX ((size_t)1 << 30)

struct header {
    char magic[8];
    char version[STORE_VERSION_TEXT];
    uint64_t n;
    struct hash128 hash; /* of the bytes */
};
#define MAGIC "SLKNOWN1"

static char *folder_of(const struct statcache *cache)
{
    return str_printf("%s.bytes", statcache_path(cache));
}

static void name_of(const struct listing_file *file, struct hash128 key, char name[33])
{
    struct hash128 hashes[2] = { hash_bytes(file->path, strlen(file->path)), key };

    hash_hex(hash_bytes(hashes, sizeof hashes), name);
}

static struct header header_of(const struct listing_file *file, const void *data, size_t n)
{
    struct header header;

    memset(&header, 0, sizeof header);
    header.n = n;
    header.hash = hash_bytes(data, n);
    (void)store_version_print(&file->version, header.version);
    memcpy(header.magic, MAGIC, sizeof header.magic);
    return header;
}

bool statcache_find_bytes(struct statcache *cache, const struct listing_file *file,
                          struct hash128 key, struct buf *out)
{
    struct buf bytes = BUF_INIT;
    char *folder = folder_of(cache);
    char name[33];
    char *path;
    bool found = false;

    name_of(file, key, name);
    path = folder == NULL ? NULL : disk_join(folder, name);
    if (path != NULL && disk_read_file(path, BYTES_MAX, &bytes, &found, NULL) == SLUICE_OK &&
        found && bytes.size >= sizeof(struct header)) {
        size_t n = bytes.size - sizeof(struct header);
        const char *data = bytes.data + sizeof(struct header);
        struct header is = header_of(file, data, n);
        found = memcmp(&is, bytes.data, sizeof is) == 0;
        if (found) {
            buf_append(out, data, n);
            found = !out->failed;
        }
    } else {
        found = false;
    }
    free(path);
    free(folder);
    buf_deinit(&bytes);
    return found;
}

void statcache_add_bytes(struct statcache *cache, const struct listing_file *file,
                         struct hash128 key, const void *data, size_t n)
{
    struct header header = header_of(file, data, n);
    struct buf bytes = BUF_INIT;
    char *folder = folder_of(cache);
    struct published published;
    char name[33];

    if (statcache_young(file) || n > BYTES_MAX - sizeof header) {
        free(folder);
        return;
    }
    name_of(file, key, name);
    buf_append(&bytes, &header, sizeof header);
    buf_append(&bytes, data, n);
    if (folder != NULL && !bytes.failed && disk_mkdirs_absent(folder, false, NULL) == SLUICE_OK) {
        (void)!pending_put(folder, name, bytes.data, bytes.size, PENDING_LOOSE, &published, NULL);
    }
    free(folder);
    buf_deinit(&bytes);
}
