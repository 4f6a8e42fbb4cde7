/* Versions of the libraries that a loaded file uses: see libraries.h. */
#include "plugin/libraries.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "plugin/plugin_file.h"

#define BUILD_ID_SHOWN 6u /* bytes */
#define LIBRARIES_MOST 256u
#define PCRE2_VERSION_ASKED 11u /* PCRE2_CONFIG_VERSION; its header is not the core's */

/* What a library is asked with. */
enum ask {
    ASK_TEXT,    /* const char *f(void) */
    ASK_NUMBER,  /* unsigned f(void): major * 10000 + minor * 100 + release */
    ASK_PARTS,   /* int f(void) and int g(void): major and minor */
    ASK_CONFIG,  /* int f(PCRE2_VERSION_ASKED, text) */
    ASK_CONSTANT /* const char f[], with a version in it */
};

static const struct known {
    const char *file; /* its name up to ".so" or "-" */
    const char *name; /* for people */
    enum ask ask;
    const char *symbol;
    const char *second;
} known[] = {
    { "libutf8proc", "utf8proc", ASK_TEXT, "utf8proc_version", NULL },
    { "libzstd", "zstd", ASK_TEXT, "ZSTD_versionString", NULL },
    { "libz", "zlib", ASK_TEXT, "zlibVersion", NULL },
    { "libjansson", "jansson", ASK_TEXT, "jansson_version_str", NULL },
    { "libxxhash", "xxHash", ASK_NUMBER, "XXH_versionNumber", NULL },
    { "libnettle", "nettle", ASK_PARTS, "nettle_version_major", "nettle_version_minor" },
    { "libpcre2-8", "pcre2", ASK_CONFIG, "pcre2_config_8", NULL },
    { "liblua5.4", "Lua", ASK_CONSTANT, "lua_ident", NULL },
};

/* Their code is everywhere, and is not what a stage is about. */
static const char *const left_out[] = { "libc.so",    "ld-linux",  "libgcc_s.so", "libstdc++.so",
                                        "libc++",     "libdl.so",  "libpthread",  "librt.so",
                                        "libasan.so", "libubsan.", "libtsan.so",  "liblsan.so",
                                        "linux-vdso", "libclang_", "libsluice-",  "ld-musl" };

struct library {
    char *text; /* "utf8proc 2.8.0"; owned */
    struct link_map *map;
};

struct list {
    struct library items[LIBRARIES_MOST];
    size_t n;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- one library ---- */

/* The digits and dots of a text from its first digit after `after`. */
static void put_number(struct buf *out, const char *text, const char *after)
{
    const char *at = strstr(text, after);

    at = at != NULL ? at + strlen(after) : text;
    at += strcspn(at, "0123456789");
    buf_append(out, at, strspn(at, "0123456789."));
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees that they are of
 * one form. */
union symbol {
    void *address;
    const char *(*text)(void);
    unsigned (*number)(void);
    int (*part)(void);
    int (*config)(uint32_t, void *);
};

/* Asks a library that has a function for it; false = it has none. */
static bool ask(void *handle, const struct known *library, struct buf *out)
{
    union symbol first = { .address = dlsym(handle, library->symbol) };
    union symbol second = { .address =
                                library->second != NULL ? dlsym(handle, library->second) : NULL };
    char text[64] = "";
    unsigned number;

    if (first.address == NULL || (library->second != NULL && second.address == NULL)) {
        return false;
    }
    buf_printf(out, "%s ", library->name);
    switch (library->ask) {
    case ASK_TEXT:
        buf_puts(out, first.text());
        break;
    case ASK_NUMBER:
        number = first.number();
        buf_printf(out, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
        break;
    case ASK_PARTS:
        buf_printf(out, "%d.%d", first.part(), second.part());
        break;
    case ASK_CONFIG: /* "10.42 2022-12-11" */
        if (first.config(PCRE2_VERSION_ASKED, NULL) <= (int)sizeof text) {
            first.config(PCRE2_VERSION_ASKED, text);
        }
        put_number(out, text, "");
        break;
    case ASK_CONSTANT: /* "$LuaVersion: Lua 5.4.4  Copyright ..." */
        put_number(out, first.address, ": Lua ");
        break;
    }
    return true;
}

struct identity {
    const struct link_map *map;
    struct buf *out;
    bool found;
};

/* The start of the build id among the notes of a loaded file. */
static int put_build_id(struct dl_phdr_info *info, size_t size, void *user)
{
    struct identity *wanted = user;

    (void)size;
    if (info->dlpi_addr != wanted->map->l_addr ||
        strcmp(info->dlpi_name, wanted->map->l_name) != 0) {
        return 0;
    }
    for (size_t k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        const char *at = (const char *)info->dlpi_addr + segment->p_vaddr;
        const char *end = at + segment->p_memsz;
        while (segment->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *id =
                (const unsigned char *)(note + 1) + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                memcmp(note + 1, "GNU", 4) == 0 && note->n_descsz >= BUILD_ID_SHOWN) {
                for (size_t i = 0; i < BUILD_ID_SHOWN; i++) {
                    buf_printf(wanted->out, "%02x", id[i]);
                }
                wanted->found = true;
                return 1;
            }
            at = (const char *)id + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

/* Of libsimdjson.so.14 -> libsimdjson.so.14.0.0 "simdjson 14.0.0", of libelf-0.188.so "elf
 * 0.188". */
static void put_name(struct buf *out, const char *file)
{
    const char *stem = begins(file, "lib") ? file + 3 : file;
    const char *end = strstr(stem, ".so");
    const char *version = end != NULL && end[3] == '.' ? end + 4 : "";
    size_t n = end != NULL ? (size_t)(end - stem) : strlen(stem);
    const char *dash = memchr(stem, '-', n);

    if (dash != NULL && dash[1] >= '0' && dash[1] <= '9' && version[0] == '\0') {
        buf_append(out, stem, (size_t)(dash - stem));
        buf_putc(out, ' ');
        buf_append(out, dash + 1, n - (size_t)(dash + 1 - stem));
    } else {
        buf_append(out, stem, n);
        buf_printf(out, " %s", version);
    }
}

/* "simdjson 14.0.0+3e8dcc9cbff7" */
static sluice_status put_file(const struct link_map *map, struct buf *out, struct sluice_error *err)
{
    char path[PATH_MAX];
    struct identity identity = { map, out, false };
    struct hash128 hash;
    char hex[33];

    put_name(out, base_name(realpath(map->l_name, path) != NULL ? path : map->l_name));
    buf_putc(out, '+');
    dl_iterate_phdr(put_build_id, &identity);
    if (!identity.found) {
        TRY(plugin_file_hash(map->l_name, &hash, err));
        hash_hex(hash, hex);
        buf_append(out, hex, (size_t)2 * BUILD_ID_SHOWN);
    }
    return SLUICE_OK;
}

static sluice_status describe(void *handle, const struct link_map *map, char **out,
                              struct sluice_error *err)
{
    const char *name = base_name(map->l_name);
    struct buf text = BUF_INIT;
    sluice_status status = SLUICE_OK;
    bool told = begins(name, "libm.so");

    if (told) {
        buf_printf(&text, "glibc %s", gnu_get_libc_version());
    }
    for (size_t k = 0; !told && k < sizeof known / sizeof known[0]; k++) {
        size_t n = strlen(known[k].file);
        told = begins(name, known[k].file) && (name[n] == '.' || name[n] == '-') &&
               ask(handle, &known[k], &text);
    }
    if (!told) {
        status = put_file(map, &text, err);
    }
    if (status == SLUICE_OK) {
        status = buf_status(&text, err);
    }
    *out = status == SLUICE_OK ? buf_take(&text) : NULL;
    buf_deinit(&text);
    return status;
}

/* ---- all of a file ---- */

static bool counts(const char *name, const char *const *only)
{
    for (size_t k = 0; k < sizeof left_out / sizeof left_out[0]; k++) {
        if (begins(name, left_out[k])) {
            return false;
        }
    }
    for (; only != NULL && *only != NULL; only++) {
        if (begins(name, *only)) {
            return true;
        }
    }
    return only == NULL;
}

static bool is_listed(const struct list *list, const struct link_map *map)
{
    for (size_t k = 0; k < list->n; k++) {
        if (list->items[k].map == map) {
            return true;
        }
    }
    return false;
}

/* Adds a library by the name under which a file needs it. */
static sluice_status add_library(struct list *list, const char *name, const char *const *only,
                                 struct sluice_error *err)
{
    /* It is loaded already: nothing is searched for. */
    void *handle = counts(name, only) ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    struct link_map *map = NULL;
    sluice_status status = SLUICE_OK;

    if (handle == NULL) {
        return SLUICE_OK;
    }
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && !is_listed(list, map) &&
        list->n < LIBRARIES_MOST) {
        status = describe(handle, map, &list->items[list->n].text, err);
        list->items[list->n].map = map;
        list->n += status == SLUICE_OK ? 1 : 0;
    }
    dlclose(handle);
    return status;
}

/* Adds what a loaded file needs by itself. */
static sluice_status add_needed(struct list *list, const struct link_map *map,
                                const char *const *only, struct sluice_error *err)
{
    const char *strings = NULL;
    sluice_status status = SLUICE_OK;

    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB) {
            /* glibc writes the address into most files' own copy of the table, not into read-only
             * ones. */
            strings = (const char *)(entry->d_un.d_ptr < map->l_addr ? map->l_addr : 0) +
                      entry->d_un.d_ptr;
        }
    }
    for (const ElfW(Dyn) *entry = map->l_ld;
         strings != NULL && entry->d_tag != DT_NULL && status == SLUICE_OK; entry++) {
        if (entry->d_tag == DT_NEEDED) {
            status = add_library(list, strings + entry->d_un.d_val, only, err);
        }
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct library *)a)->text, ((const struct library *)b)->text);
}

static sluice_status list_of(const struct link_map *map, const char *const *only, const char *told,
                             char **out, struct sluice_error *err)
{
    struct list *list = calloc(1, sizeof *list);
    struct buf text = BUF_INIT;
    sluice_status status;

    *out = NULL;
    if (list == NULL) {
        return error_nomem(err, "the list of libraries");
    }
    status = add_needed(list, map, only, err);
    /* Those that were added bring theirs, unless only some are asked for. */
    for (size_t k = 0; status == SLUICE_OK && only == NULL && k < list->n; k++) {
        status = add_needed(list, list->items[k].map, NULL, err);
    }
    qsort(list->items, list->n, sizeof list->items[0], compare);
    buf_puts(&text, told != NULL ? told : "");
    for (size_t k = 0; k < list->n; k++) {
        buf_puts(&text, text.size > 0 ? ", " : "");
        buf_puts(&text, list->items[k].text);
        free(list->items[k].text);
    }
    free(list);
    if (status == SLUICE_OK) {
        status = buf_status(&text, err);
    }
    if (status == SLUICE_OK) {
        buf_str(&text);
        *out = buf_take(&text);
        status = *out == NULL ? error_nomem(err, "the list of libraries") : SLUICE_OK;
    }
    buf_deinit(&text);
    return status;
}

sluice_status libraries_of(void *handle, const char *told, char **out, struct sluice_error *err)
{
    struct link_map *map = NULL;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        return error_set(err, SLUICE_E_INTERNAL, "the dynamic linker does not know a loaded file");
    }
    return list_of(map, NULL, told, out, err);
}

sluice_status libraries_here(const char *const *only, char **out, struct sluice_error *err)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (dladdr1(known, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) {
        return error_set(err, SLUICE_E_INTERNAL, "the dynamic linker does not know this program");
    }
    return list_of(map, only, NULL, out, err);
}
