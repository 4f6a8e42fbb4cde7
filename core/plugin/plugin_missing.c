/* Why a plugin can't be loaded: makes what the dynamic linker says into a message that names the
 * missing library, who needs it and where it was searched for. Reads the dynamic section of the
 * plugin's file with libelf, where the file would have been loaded. See plugin_file.h. */
#include <dlfcn.h>
#include <gelf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "plugin/plugin_file.h"

/* What the plugin says about libraries. Texts are libelf's, until the file is closed. */
struct dynamic {
    const char *runpath; /* DT_RUNPATH, or DT_RPATH; NULL = none */
    bool needs;          /* the library is one that it names itself */
};

static void read_entries(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *library,
                         struct dynamic *out)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Dyn entry;

    for (int k = 0; data != NULL && gelf_getdyn(data, k, &entry) != NULL; k++) {
        const char *text = elf_strptr(elf, header->sh_link, (size_t)entry.d_un.d_val);
        if (entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && out->runpath == NULL)) {
            out->runpath = text;
        }
        out->needs |= entry.d_tag == DT_NEEDED && text != NULL && strcmp(text, library) == 0;
    }
}

static void read_dynamic(Elf *elf, const char *library, struct dynamic *out)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_DYNAMIC) {
            read_entries(elf, section, &header, library, out);
        }
    }
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

/* The folders that are always looked at, as the linker itself lists them, without those of
 * LD_LIBRARY_PATH, which come first. */
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

/* "LIBRARY: cannot open shared object file: …" of another file than the plugin: the length of
 * LIBRARY, else 0. */
static size_t missing_library(const char *why, const char *path)
{
    const char *end = strstr(why, ": cannot open shared object file");
    size_t n = end != NULL ? (size_t)(end - why) : 0;

    return n == strlen(path) && memcmp(why, path, n) == 0 ? 0 : n;
}

static sluice_status say_missing(const char *path, const char *library, struct sluice_error *err)
{
    const char *extra = getenv("LD_LIBRARY_PATH");
    struct buf places = BUF_INIT;
    struct dynamic dynamic = { 0 };
    Elf *elf = NULL;
    int fd = -1;

    /* What can't be read says nothing. */
    if (file_open(path, "the plugin", &fd, NULL) == SLUICE_OK &&
        elf_version(EV_CURRENT) != EV_NONE &&
        (elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)) != NULL) {
        read_dynamic(elf, library, &dynamic);
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
    elf_end(elf);
    if (fd >= 0) {
        close(fd);
    }
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
