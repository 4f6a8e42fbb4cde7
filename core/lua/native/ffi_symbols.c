/* Symbols of a shared library: see ffi_symbols.h. The types are compared in ffi_debug.c. */
#include "lua/native/ffi_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "lua/native/ffi_debug.h"
#include "plugin/plugin_file.h"

#define SYMBOLS_MAX 100000u /* names that a suggestion is chosen from */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#define OWN_MACHINE EM_NONE /* not compared */
#endif

sluice_status symbols_place(const char *path, struct sluice_error *err)
{
    struct stat st;

    if (path[0] != '/') {
        return error_field(err, SLUICE_E_CONFIG, "lib",
                           "lib: found \"%s\", expected the path of a shared library", path);
    }
    if (stat(path, &st) != 0) {
        int reason = errno;
        return reason == ENOENT || reason == ENOTDIR
                   ? error_field(err, SLUICE_E_CONFIG, "lib",
                                 "lib: there is no %s; a relative path begins at the script's "
                                 "folder, and no other place is "
                                 "searched",
                                 path)
                   : error_errno(err, reason, "lib: cannot look at %s", path);
    }
    return plugin_file_safe(path, err);
}

static sluice_status unfit(const char *path, const char *what, struct sluice_error *err)
{
    return error_field(err, SLUICE_E_CONFIG, "lib", "lib: %s is %s", path, what);
}

static sluice_status check_header(Elf *elf, const char *path, struct sluice_error *err)
{
    GElf_Ehdr header;

    if (elf_kind(elf) == ELF_K_AR) {
        return unfit(path,
                     "a static archive; link it into a shared library: gcc -shared -o NAME.so "
                     "-Wl,--whole-archive NAME.a",
                     err);
    }
    if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL) {
        return unfit(path, "no shared library (no ELF file)", err);
    }
    if (header.e_type == ET_REL) {
        return unfit(path,
                     "an object file; link it into a shared library: gcc -shared -o NAME.so NAME.o",
                     err);
    }
    if (header.e_type != ET_DYN) {
        return unfit(path, "a program, no shared library; build it with gcc -shared -fPIC", err);
    }
    if (gelf_getclass(elf) != ELFCLASS64 ||
        (OWN_MACHINE != EM_NONE && header.e_machine != OWN_MACHINE)) {
        return unfit(path, "built for another kind of machine", err);
    }
    return SLUICE_OK;
}

/* ---- symbols ---- */

struct names {
    const char **items; /* of exported functions; the file's memory */
    size_t n, capacity;
};

static bool add_name(struct names *names, const char *name)
{
    if (names->n == names->capacity) {
        size_t capacity = names->capacity * 2 + 64;
        const char **items = realloc(names->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->n++] = name;
    return true;
}

struct wanted {
    const char *path, *name;
    GElf_Addr address;
    bool found;
    struct names names;
};

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);

    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static sluice_status look_at(struct wanted *wanted, const char *name, const GElf_Sym *symbol,
                             struct sluice_error *err)
{
    int binding = GELF_ST_BIND(symbol->st_info);

    if (name == NULL || name[0] == '\0' || symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL) {
        return SLUICE_OK;
    }
    if (!is_function(symbol)) {
        return strcmp(name, wanted->name) == 0
                   ? error_field(err, SLUICE_E_CONFIG, "prototype",
                                 "'%s' is data in %s, expected a function", name, wanted->path)
                   : SLUICE_OK;
    }
    if (strcmp(name, wanted->name) == 0) {
        wanted->found = true;
        wanted->address = symbol->st_value;
    }
    return wanted->names.n >= SYMBOLS_MAX || add_name(&wanted->names, name)
               ? SLUICE_OK
               : error_nomem(err, "symbols");
}

static sluice_status read_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                                  struct wanted *wanted, struct sluice_error *err)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t n = data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;

    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) != NULL) {
            TRY(look_at(wanted, elf_strptr(elf, header->sh_link, symbol.st_name), &symbol, err));
        }
    }
    return SLUICE_OK;
}

/* "_Z5scorePKcm" holds score: a function of C++ with this name. */
static const char *mangled(const struct names *names, const char *name)
{
    char part[PROTOTYPE_NAME + 32];

    snprintf(part, sizeof part, "%zu%s", strlen(name), name);
    for (size_t i = 0; i < names->n; i++) {
        const char *at = strstr(names->items[i], part);
        if (strncmp(names->items[i], "_Z", 2) == 0 && at != NULL &&
            (at[-1] < '0' || at[-1] > '9')) {
            return names->items[i];
        }
    }
    return NULL;
}

static sluice_status not_found(const struct wanted *wanted, struct sluice_error *err)
{
    const char *cpp = mangled(&wanted->names, wanted->name);
    const char *near = error_suggest(wanted->name, wanted->names.items, wanted->names.n);
    struct buf list = BUF_INIT;

    if (cpp != NULL) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "%s has no function '%s', but '%s', one of C++; declare it extern \"C\"",
                           wanted->path, wanted->name, cpp);
    }
    if (near != NULL) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "%s has no function '%s'; did you mean '%s'?", wanted->path,
                           wanted->name, near);
    }
    for (size_t i = 0; i < wanted->names.n && list.size < 200; i++) {
        if (wanted->names.items[i][0] != '_') {
            buf_printf(&list, "%s%s", list.size > 0 ? ", " : "", wanted->names.items[i]);
        }
    }
    error_field(err, SLUICE_E_CONFIG, "prototype", "%s has no function '%s'; it has %s",
                wanted->path, wanted->name,
                list.size > 0 ? buf_str(&list) : "none (is its visibility hidden?)");
    buf_deinit(&list);
    return SLUICE_E_CONFIG;
}

static sluice_status check_elf(Elf *elf, const char *path, const struct prototype *prototype,
                               bool *compared, struct sluice_error *err)
{
    struct wanted wanted = { .path = path, .name = prototype->name };
    bool listed = false;
    sluice_status status = check_header(elf, path, err);

    for (Elf_Scn *section = NULL;
         status == SLUICE_OK && (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_DYNSYM) {
            listed = true;
            status = read_section(elf, section, &header, &wanted, err);
        }
    }
    /* A file without a table of sections can be loaded all the same; then the loader finds out. */
    if (status == SLUICE_OK && listed && !wanted.found) {
        status = not_found(&wanted, err);
    }
    free(wanted.names.items);
    return status == SLUICE_OK && wanted.found
               ? debug_compare(elf, path, wanted.address, prototype, compared, err)
               : status;
}

sluice_status symbols_check(const char *path, const struct prototype *prototype, bool *compared,
                            struct sluice_error *err)
{
    Elf *elf;
    sluice_status status;
    int fd;

    *compared = false;
    TRY(symbols_place(path, err));
    TRY(file_open(path, "lib:", &fd, err));
    if (elf_version(EV_CURRENT) == EV_NONE ||
        (elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)) == NULL) {
        close(fd);
        return error_field(err, SLUICE_E_CONFIG, "lib", "lib: %s can't be read: %s", path,
                           elf_errmsg(-1));
    }
    status = check_elf(elf, path, prototype, compared, err);
    elf_end(elf);
    close(fd);
    return status;
}
