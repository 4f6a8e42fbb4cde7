/* Why a plugin can't be loaded: makes what the dynamic linker says into a message that names the
 * missing library, who needs it and where it was searched for. Reads the plugin's ELF file (only
 * what libelf's users call the dynamic section), and trusts none of it. See plugin_file.h. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "plugin/plugin_file.h"

#define FILE_MOST ((size_t)1 << 31)

/* What the plugin says about libraries. Texts point into the file's bytes. */
struct dynamic {
    const char *strings; /* ends with a NUL */
    size_t strings_n;
    const char *runpath; /* DT_RUNPATH, or DT_RPATH; NULL = none */
    bool needs;          /* the library is one that it names itself */
};

static bool read_whole(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;

    while (fd >= 0 && n != 0 && out->size < FILE_MOST && buf_reserve(out, 1 << 16)) {
        n = read(fd, out->data + out->size, 1 << 16);
        if (n < 0 && errno != EINTR) {
            break;
        }
        out->size += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 && n == 0;
}

/* The bytes of the file that are mapped at an address; NULL when there are not n of them. */
static const char *at_address(const struct buf *file, const ElfW(Phdr) * segments,
                              size_t n_segments, uint64_t address, size_t n)
{
    for (size_t k = 0; k < n_segments; k++) {
        const ElfW(Phdr) *segment = &segments[k];
        uint64_t offset = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            offset <= segment->p_filesz && n <= segment->p_filesz - offset &&
            segment->p_offset <= file->size && offset <= file->size - segment->p_offset &&
            n <= file->size - segment->p_offset - offset) {
            return file->data + segment->p_offset + offset;
        }
    }
    return NULL;
}

static const char *string_at(const struct dynamic *dynamic, uint64_t place)
{
    return place < dynamic->strings_n ? dynamic->strings + place : NULL;
}

/* Fills *out from the dynamic section, whose n entries are not aligned. */
static void read_entries(const struct buf *file, const ElfW(Phdr) * segments, size_t n_segments,
                         const char *entries, size_t n, const char *library, struct dynamic *out)
{
    uint64_t address = 0;
    uint64_t size = 0;
    ElfW(Dyn) entry;

    for (size_t k = 0; k < n; k++) {
        memcpy(&entry, entries + k * sizeof entry, sizeof entry);
        address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : address;
        size = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : size;
    }
    if (size == 0 || size > file->size) {
        return;
    }
    out->strings = at_address(file, segments, n_segments, address, (size_t)size);
    if (out->strings == NULL || out->strings[size - 1] != '\0') {
        return;
    }
    out->strings_n = (size_t)size;
    for (size_t k = 0; k < n; k++) {
        const char *text;
        memcpy(&entry, entries + k * sizeof entry, sizeof entry);
        text = string_at(out, entry.d_un.d_val);
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && out->runpath == NULL)) {
            out->runpath = text;
        }
        out->needs |= entry.d_tag == DT_NEEDED && text != NULL && strcmp(text, library) == 0;
    }
}

static void read_dynamic(const struct buf *file, const char *library, struct dynamic *out)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) * segments;
    size_t n;

    memset(out, 0, sizeof *out);
    if (file->size < sizeof header) {
        return;
    }
    memcpy(&header, file->data, sizeof header);
    n = header.e_phnum;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *segments ||
        header.e_phoff > file->size || n > (file->size - header.e_phoff) / sizeof *segments) {
        return;
    }
    segments = calloc(n + 1, sizeof *segments);
    if (segments == NULL) {
        return;
    }
    memcpy(segments, file->data + header.e_phoff, n * sizeof *segments);
    for (size_t k = 0; k < n; k++) {
        const ElfW(Phdr) *segment = &segments[k];
        if (segment->p_type == PT_DYNAMIC && segment->p_offset <= file->size &&
            segment->p_filesz <= file->size - segment->p_offset) {
            read_entries(file, segments, n, file->data + segment->p_offset,
                         (size_t)segment->p_filesz / sizeof(ElfW(Dyn)), library, out);
            break;
        }
    }
    free(segments);
}

/* Appends "DIR (what)" for each entry of a list, with $ORIGIN resolved. */
static void put_list(struct buf *out, const char *list, const char *separators, const char *path,
                     const char *what)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) : 0;

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, separators);
        if (n > 0) {
            size_t skip = n >= 7 && memcmp(list, "$ORIGIN", 7) == 0     ? 7
                          : n >= 9 && memcmp(list, "${ORIGIN}", 9) == 0 ? 9
                                                                        : 0;
            buf_puts(out, out->size > 0 ? ", " : "");
            buf_append(out, path, skip > 0 ? folder : 0);
            buf_append(out, list + skip, n - skip);
            buf_puts(out, what);
        }
        list += n + (list[n] != '\0' ? 1 : 0);
    }
}

/* The folders that are always looked at, as the linker itself lists them, without those of LD_LIBRARY_PATH, which come first. */
static void put_standard(struct buf *out, size_t skip)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo size;
    Dl_serinfo *found = NULL;

    if (self == NULL) {
        return;
    }
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0 &&
        (found = malloc((size_t)size.dls_size)) != NULL) {
        found->dls_size = size.dls_size;
        found->dls_cnt = size.dls_cnt;
        if (dlinfo(self, RTLD_DI_SERINFOSIZE, found) == 0 &&
            dlinfo(self, RTLD_DI_SERINFO, found) == 0) {
            for (size_t k = skip; k < found->dls_cnt; k++) {
                buf_puts(out, out->size > 0 ? ", " : "");
                buf_puts(out, found->dls_serpath[k].dls_name);
            }
        }
    }
    free(found);
    dlclose(self);
}

static size_t entries_of(const char *list, const char *separators)
{
    size_t n = 0;

    for (; list != NULL && *list != '\0'; n++) {
        list += strcspn(list, separators);
        list += *list != '\0' ? 1 : 0;
    }
    return n;
}

/* "LIBRARY: cannot open shared object file: …" of another file than the plugin: the length of LIBRARY, else 0. */
static size_t missing_library(const char *why, const char *path)
{
    const char *end = strstr(why, ": cannot open shared object file");
    size_t n = end != NULL ? (size_t)(end - why) : 0;

    return n == strlen(path) && memcmp(why, path, n) == 0 ? 0 : n;
}

static sluice_status say_missing(const char *path, const char *library, struct sluice_error *err)
{
    const char *extra = getenv("LD_LIBRARY_PATH");
    struct buf file = BUF_INIT;
    struct buf places = BUF_INIT;
    struct dynamic dynamic = { 0 };

    if (read_whole(path, &file)) {
        read_dynamic(&file, library, &dynamic);
    }
    put_list(&places, extra, ":;", path, " (LD_LIBRARY_PATH)");
    if (dynamic.needs) {
        put_list(&places, dynamic.runpath, ":", path, " (RUNPATH of the plugin)");
    }
    buf_puts(&places, places.size > 0 ? ", " : "");
    buf_puts(&places, "what /etc/ld.so.cache lists");
    put_standard(&places, entries_of(extra, ":;"));
    error_set(err, SLUICE_E_CONFIG,
              "cannot load the plugin %s: the library %s, which %s, was not found; install it, or "
              "name its folder in LD_LIBRARY_PATH. Searched: %s",
              path, library, dynamic.needs ? "it needs" : "a library that it uses needs",
              buf_str(&places));
    buf_deinit(&places);
    buf_deinit(&file);
    return SLUICE_E_CONFIG;
}

sluice_status plugin_missing(const char *path, const char *why, struct sluice_error *err)
{
    size_t n = why != NULL ? missing_library(why, path) : 0;
    char *library = n > 0 ? str_copy(why, n) : NULL;
    const char *symbol = why != NULL ? strstr(why, "undefined symbol: ") : NULL;

    if (library != NULL) {
        say_missing(path, library, err);
    } else if (symbol != NULL) {
        error_set(err, SLUICE_E_CONFIG,
                  "cannot load the plugin %s: it uses %s, which none of the libraries it is linked "
                  "with has; link it with the library that does (-Wl,--no-undefined finds such "
                  "symbols when it is built)",
                  path, symbol + strlen("undefined symbol: "));
    } else {
        error_set(err, SLUICE_E_CONFIG, "cannot load the plugin %s: %s", path,
                  why != NULL ? why : "unknown reason");
    }
    free(library);
    return SLUICE_E_CONFIG;
}
