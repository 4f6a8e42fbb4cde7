/* Patterns and the files they name. */
#include "inputfiles.h"

#include "store/glob.h"
#include "store/listing.h"

/* ---- matching ---- */

static bool matches(const char *pattern, const char *name, char *parts)
{
    struct glob glob;
    struct glob_capture captures[GLOB_PARTS];
    struct sluice_error err = ERROR_INIT;
    bool matched;

    assert_int_equal(glob_parse(pattern, &glob, &err), SLUICE_OK);
    assert_int_equal(glob.n, 1);
    matched = glob_match(&glob.segments[0], name, captures);
    if (matched && parts != NULL) {
        parts[0] = '\0';
        for (size_t i = 0; i < glob.n_parts; i++) {
            sprintf(parts + strlen(parts), "%s=%.*s;", glob.parts[i], (int)captures[i].n,
                    name + captures[i].begin);
        }
    }
    glob_deinit(&glob);
    return matched;
}

static void test_match(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool expected;
    } cases[] = {
        { "*", "a", true },
        { "*", ".a", false },
        { ".*", ".a", true },
        { "*.c", "a.c", true },
        { "*.c", ".c", false },
        { "*.c", "a.cc", false },
        { "a*b*c", "abc", true },
        { "a*b*c", "axxbyyc", true },
        { "a*b*c", "axxcyyb", false },
        { "*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
        { "?", "a", true },
        { "?", "", false },
        { "?", "ab", false },
        { "?x", "\xc3\xa4x", true },
        { "??x", "\xc3\xa4x", false },
        { "[a-c]", "b", true },
        { "[a-c]", "d", false },
        { "[!a-c]", "d", true },
        { "[^a-c]", "a", false },
        { "[!a]x", "\xe2\x82\xacx", true },
        { "[]]", "]", true },
        { "[]a-]", "-", true },
        { "[a\\]]x", "]x", true },
        { "\\*", "*", false },
        { "x\\*[y]", "x*y", true },
        { "[.]a", ".a", false },
        { "**a", "ba", true },
        { "a?*", "a", false },
        { "a?*", "ab", true },
        { "[[]x", "[x", true },
    };
    char parts[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(cases[i].pattern, "\\*") != 0) {
            if (matches(cases[i].pattern, cases[i].name, NULL) != cases[i].expected) {
                print_error("%s ~ %s\n", cases[i].pattern, cases[i].name);
                fail();
            }
        }
    }
    assert_true(matches("{a}-{b}.x", "1-2.x", parts));
    assert_string_equal(parts, "a=1;b=2;");
    assert_true(matches("{a}-{b}.x", "1-2-3.x.x", parts));
    assert_string_equal(parts, "a=1;b=2-3.x;");
    assert_false(matches("{a}-{b}.x", "-2.x", parts));
    assert_true(matches("p{a}*", "pq", parts));
    assert_string_equal(parts, "a=q;");
    assert_true(matches("{a}?", "\xc3\xa4\xc3\xb6", parts));
    assert_string_equal(parts, "a=\xc3\xa4;");
    assert_false(matches("{a}?", "\xc3\xa4", parts));
    assert_false(matches("{a}", ".hidden", parts));
}

/* A naive matcher says the same. */
static bool naive(const char *p, const char *s)
{
    if (*p == '\0') {
        return *s == '\0';
    }
    if (*p == '*') {
        return naive(p + 1, s) || (*s != '\0' && naive(p, s + 1));
    }
    return *s != '\0' && (*p == '?' || *p == *s) && naive(p + 1, s + 1);
}

static void test_match_random(void **state)
{
    (void)state;
    for (int i = 0; i < 30000; i++) {
        char pattern[12];
        char name[12];
        size_t n = 1 + chance(7);
        size_t m = 1 + chance(8);
        for (size_t k = 0; k < n; k++) {
            pattern[k] = "ab*?"[chance(4)];
        }
        pattern[n] = '\0';
        for (size_t k = 0; k < m; k++) {
            name[k] = "ab"[chance(2)];
        }
        name[m] = '\0';
        if (strcmp(pattern, "**") != 0 && strpbrk(pattern, "*?") != NULL) {
            assert_int_equal(matches(pattern, name, NULL), naive(pattern, name));
        }
    }
}

static void test_malformed(void **state)
{
    static const char *const patterns[] = { "a[b", "a[",    "x/[a/b]",    "{",       "{}",
                                            "{a",  "{a,b}", "{1a}",       "{a}/{a}", "*/..",
                                            "*\\", "[z-a]", "[\xc3\xa4]", "{a}{b" };

    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct listing out;
        struct sluice_error err = ERROR_INIT;
        assert_int_equal(listing_expand(&patterns[i], 1, "/tmp", 0, &out, &err), SLUICE_E_CONFIG);
        assert_non_null(strstr(err.message, patterns[i]));
    }
}

/* ---- expanding ---- */

/* "name[part,part] ..." or the error's message. */
static char *expand(const char *base, const char *const *patterns, size_t n, size_t max,
                    sluice_status *status)
{
    struct listing list;
    struct sluice_error err = ERROR_INIT;
    struct buf out = BUF_INIT;

    *status = listing_expand(patterns, n, base, max, &list, &err);
    if (*status != SLUICE_OK) {
        buf_puts(&out, err.message);
        return buf_take(&out);
    }
    for (size_t i = 0; i < list.n; i++) {
        struct stat st;
        assert_int_equal(list.files[i].path[0], '/');
        assert_int_equal(stat(list.files[i].path, &st), 0);
        assert_int_equal(list.files[i].version.size, st.st_size);
        assert_int_equal(list.files[i].inode, st.st_ino);
        assert_int_equal(list.files[i].version.mtime_ns,
                         (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
        buf_printf(&out, "%s%s", i > 0 ? " " : "", list.files[i].name);
        for (size_t k = 0; k < list.n_parts; k++) {
            const char *value = list.files[i].values[k];
            buf_printf(&out, "%s%s=%s%s", k == 0 ? "[" : ",", list.parts[k],
                       value != NULL ? value : "-", k + 1 == list.n_parts ? "]" : "");
        }
    }
    listing_deinit(&list);
    return buf_take(&out);
}

static void expect(const char *base, const char *pattern, const char *expected)
{
    sluice_status status;
    char *got = expand(base, &pattern, 1, 0, &status);

    assert_string_equal(got, expected);
    free(got);
}

static void expect_error(const char *base, const char *pattern, sluice_status code,
                         const char *words)
{
    sluice_status status;
    char *got = expand(base, &pattern, 1, 0, &status);

    assert_int_equal(status, code);
    if (strstr(got, words) == NULL) {
        print_error("expected '%s' in: %s\n", words, got);
        fail();
    }
    free(got);
}

static char *tree(void)
{
    char *folder = temp_folder();

    file_put(folder, "a.txt", "a");
    file_put(folder, "b.jsonl", "bb");
    file_put(folder, ".hidden", "");
    file_put(folder, "en/2023/x.jsonl", "1");
    file_put(folder, "en/2024/y.jsonl", "12");
    file_put(folder, "de/2024/y.jsonl", "123");
    file_put(folder, "de/2024/.part", "");
    file_put(folder, "de/.git/config", "");
    file_put(folder, "odd/[x]*.txt", "odd");
    file_put(folder, "odd/deep/a/b/c/d.txt", "d");
    return folder;
}

static void test_expand(void **state)
{
    char *f = tree();
    char *text;

    (void)state;
    expect(f, "*.txt", "a.txt");
    expect(f, "a.txt", "a.txt");
    expect(f, "./en/../a.txt", "a.txt");
    expect(f, "*", "a.txt b.jsonl");
    expect(f, "*/*/*.jsonl", "de/2024/y.jsonl en/2023/x.jsonl en/2024/y.jsonl");
    expect(f, "en/*/*.jsonl", "2023/x.jsonl 2024/y.jsonl");
    expect(f, "en", "2023/x.jsonl 2024/y.jsonl");
    expect(f, "en/", "2023/x.jsonl 2024/y.jsonl");
    expect(f, "**/*.jsonl", "b.jsonl de/2024/y.jsonl en/2023/x.jsonl en/2024/y.jsonl");
    expect(f, "**/2024/**", "de/2024/y.jsonl en/2024/y.jsonl");
    expect(f, "**/**/**/y*", "de/2024/y.jsonl en/2024/y.jsonl");
    expect(f, "de/**", "2024/y.jsonl");
    expect(f, ".",
           "a.txt b.jsonl de/2024/y.jsonl en/2023/x.jsonl en/2024/y.jsonl odd/[x]*.txt "
           "odd/deep/a/b/c/d.txt");
    expect(f, ".h*", ".hidden");
    expect(f, "de/.git/*", "config");
    expect(f, "de/.*/*", ".git/config");
    expect(f, "odd/[x]*.txt", "[x]*.txt");
    expect(f, "odd/\\[x\\]*", "[x]*.txt");
    expect(f, "odd/\\[x]\\*.txt", "[x]*.txt");
    expect(f, "odd/**/d.txt", "deep/a/b/c/d.txt");
    expect(f, "{lang}/{year}/*.jsonl",
           "de/2024/y.jsonl[lang=de,year=2024] en/2023/x.jsonl[lang=en,year=2023] "
           "en/2024/y.jsonl[lang=en,year=2024]");
    expect(
        f, "**/{stem}.jsonl",
        "b.jsonl[stem=b] de/2024/y.jsonl[stem=y] en/2023/x.jsonl[stem=x] en/2024/y.jsonl[stem=y]");
    expect(f, "{dir**}/{stem}.jsonl",
           "b.jsonl[dir=,stem=b] de/2024/y.jsonl[dir=de/2024,stem=y] "
           "en/2023/x.jsonl[dir=en/2023,stem=x] en/2024/y.jsonl[dir=en/2024,stem=y]");
    expect(f, "odd/{all**}", "[x]*.txt[all=[x]*.txt] deep/a/b/c/d.txt[all=deep/a/b/c/d.txt]");
    expect(f, "{lang}/{dir**}/x.jsonl", "en/2023/x.jsonl[lang=en,dir=2023]");
    expect(f, "odd/{top**}/b/**/*.txt", "deep/a/b/c/d.txt[top=deep/a]");
    expect_error(f, "odd/{dir**}x/d.txt", SLUICE_E_CONFIG, "a slash before and behind it");
    expect_error(f, "odd/x{dir**}/d.txt", SLUICE_E_CONFIG, "a slash before and behind it");
    expect_error(f, "{dir**}/{dir}.txt", SLUICE_E_CONFIG, "the part {dir} twice");
    expect_error(f, "{9**}/d.txt", SLUICE_E_CONFIG, "expected {name}");
    text = str_printf("%s/*.txt", f);
    expect("/", text, "a.txt");
    expect(f, text, "a.txt");
    free(text);
    folder_remove(f);
    free(f);
}

static void test_several(void **state)
{
    static const char *const twice[] = { "*.txt", "a.txt", "**/*.txt" };
    static const char *const mixed[] = { "{lang}/2024/*", "a.txt", "en/{year}/*" };
    static const char *const clash[] = { "en/2024/*", "de/2024/*" };
    char *f = tree();
    sluice_status status;
    char *got;

    (void)state;
    got = expand(f, twice, 3, 0, &status);
    assert_string_equal(got, "a.txt odd/[x]*.txt odd/deep/a/b/c/d.txt");
    free(got);
    got = expand(f, twice, 3, 2, &status);
    assert_string_equal(got, "a.txt odd/[x]*.txt");
    free(got);
    got = expand(f, mixed, 3, 0, &status);
    assert_string_equal(
        got, "2023/x.jsonl[lang=-,year=2023] 2024/y.jsonl[lang=-,year=2024] a.txt[lang=-,year=-] "
             "de/2024/y.jsonl[lang=de,year=-]");
    free(got);
    got = expand(f, clash, 2, 0, &status);
    assert_int_equal(status, SLUICE_E_CONFIG);
    assert_non_null(strstr(got, "en/2024/y.jsonl"));
    assert_non_null(strstr(got, "de/2024/y.jsonl"));
    free(got);
    folder_remove(f);
    free(f);
}

static void test_lists(void **state)
{
    char *f = tree();
    char *text;

    (void)state;
    text = str_printf("en/2024/y.jsonl\r\n\n%s/de/2024/y.jsonl\na.txt\n./a.txt", f);
    file_put(f, "list", text);
    free(text);
    text = str_printf("./a.txt %s/de/2024/y.jsonl en/2024/y.jsonl", f);
    expect(f, "@list", text);
    free(text);
    file_put(f, "sub/list", "../a.txt\n");
    expect(f, "@sub/list", "../a.txt");
    file_put(f, "list", "a.txt\nmissing\n");
    expect_error(f, "@list", SLUICE_E_IO, "list:2: ");
    file_put(f, "list", "en\n");
    expect_error(f, "@list", SLUICE_E_DATA, "folder");
    file_put(f, "list", "\n\n");
    expect_error(f, "@list", SLUICE_E_CONFIG, "empty");
    expect_error(f, "@nolist", SLUICE_E_CONFIG, "nolist");
    expect_error(f, "@", SLUICE_E_CONFIG, "empty pattern");
    expect_error(f, "", SLUICE_E_CONFIG, "empty pattern");
    folder_remove(f);
    free(f);
}

static void test_links(void **state)
{
    char *f = tree();
    char *from;
    char *to;

    (void)state;
    from = str_printf("%s/en", f);
    to = str_printf("%s/fr", f);
    assert_int_equal(symlink(from, to), 0); /* the same files again: once, by the smallest name */
    expect(f, "*/2023/*", "en/2023/x.jsonl");
    expect(f, "fr/2023/*", "x.jsonl");
    expect(f, "fr", "2023/x.jsonl 2024/y.jsonl");
    free(to);
    to = str_printf("%s/en/loop", f);
    assert_int_equal(symlink(f, to), 0); /* a loop */
    expect(f, "en/**/*.jsonl", "2023/x.jsonl 2024/y.jsonl loop/b.jsonl loop/de/2024/y.jsonl");
    unlink(to);
    free(to);
    free(from);
    from = str_printf("%s/a.txt", f);
    to = str_printf("%s/hard.txt", f);
    assert_int_equal(link(from, to), 0); /* a hard link is a file */
    expect(f, "*.txt", "a.txt hard.txt");
    free(to);
    to = str_printf("%s/z.txt", f);
    assert_int_equal(symlink("nowhere", to), 0);
    expect_error(f, "*.txt", SLUICE_E_IO, "z.txt is a link to something that does not exist");
    expect_error(f, "z.txt", SLUICE_E_IO, "z.txt is a link to something that does not exist");
    expect(f, "*.jsonl", "b.jsonl"); /* not matched: no error */
    free(to);
    to = str_printf("%s/pipe.jsonl", f);
    assert_int_equal(mkfifo(to, 0600), 0);
    expect_error(f, "*.jsonl", SLUICE_E_DATA, "pipe.jsonl is a pipe, expected a file");
    expect_error(f, "pipe.jsonl", SLUICE_E_DATA, "is a pipe");
    free(to);
    free(from);
    folder_remove(f);
    free(f);
}

static void test_nothing(void **state)
{
    char *f = tree();
    char *text;

    (void)state;
    expect_error(f, "*.csv", SLUICE_E_CONFIG, "no file matches '*.csv' below the folder /tmp/");
    expect_error(f, "*.csv", SLUICE_E_CONFIG, "it holds a.txt, b.jsonl, de, en, odd");
    expect_error(f, "en/2032/*", SLUICE_E_CONFIG, "'2032' does not exist");
    expect_error(f, "en/2032/*", SLUICE_E_CONFIG, "2023");
    expect_error(f, "b.json", SLUICE_E_CONFIG, "did you mean 'b.jsonl'");
    expect_error(f, "eng/a", SLUICE_E_CONFIG, "did you mean 'en'");
    expect_error(f, "e*", SLUICE_E_CONFIG, "(1 folder does); add '/**'");
    text = str_printf("%s/empty", f);
    mkdir(text, 0700);
    expect_error(f, "empty", SLUICE_E_CONFIG, "it is empty");
    free(text);
    file_put(f, "bad/\xff\xfe.txt", "");
    expect_error(f, "bad/*", SLUICE_E_CONFIG, "not UTF-8");
    text = str_printf("%s/closed", f);
    mkdir(text, 0);
    if (access(text, R_OK) != 0) { /* root may read anything */
        expect_error(f, "closed/*", SLUICE_E_IO, "closed can't be read");
        expect_error(f, "**", SLUICE_E_IO, "closed can't be read");
    }
    free(text);
    {
        struct listing list;
        struct sluice_error err = ERROR_INIT;
        assert_int_equal(listing_expand(NULL, 0, "/tmp", 0, &list, &err), SLUICE_E_CONFIG);
        assert_int_equal(listing_expand((const char *const[]){ "a" }, 1, "tmp", 0, &list, &err),
                         SLUICE_E_INTERNAL);
    }
    folder_remove(f);
    free(f);
}

/* Many files: time grows with n log n. */
static void test_many(void **state)
{
    const size_t n = 20000;
    char *f = temp_folder();
    const char *patterns[] = { "**/*{k}.txt", "d1" };
    struct listing list;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "d%zu/f%zu.txt", i % 7, i);
        file_put(f, name, "");
    }
    assert_int_equal(listing_expand(patterns, 2, f, 0, &list, &err), SLUICE_OK);
    assert_int_equal(list.n, n);
    for (size_t i = 1; i < list.n; i++) {
        assert_true(strcmp(list.files[i - 1].name, list.files[i].name) < 0);
    }
    listing_deinit(&list);
    folder_remove(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),     cmocka_unit_test(test_match_random),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_expand),
        cmocka_unit_test(test_several),   cmocka_unit_test(test_lists),
        cmocka_unit_test(test_links),     cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
