---@meta _
-- Written by `sluice inspect --luals`; to change it, change the option tables.
-- The language itself is in sluice.lua beside it.

---@class sluice
local s = {}

---@class sluice.options.c4_quality
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field split_paragraph? boolean Whether lines are judged (false: sentences). Default: true.
---@field remove_citations? boolean Delete [12], [edit] and [citation needed]. Default: true.
---@field filter_no_terminal_punct? boolean Drop lines that do not end in . ? ! or a quotation mark. Default: true.
---@field min_num_sentences? integer Fewest sentences of what is left; -1 disables. Within [-1, 1000000000000000]. Default: 5.
---@field min_words_per_line? integer Fewest words of a line; -1 disables. Within [-1, 1000000000000000]. Default: 3.
---@field max_word_length? integer Longest word of a line in characters; -1 disables. Within [-1, 1000000000000000]. Default: 1000.
---@field filter_lorem_ipsum? boolean Drop documents with lorem ipsum. Default: true.
---@field filter_javascript? boolean Drop lines with the word javascript. Default: true.
---@field filter_curly_bracket? boolean Drop documents with {. Default: true.
---@field filter_policy? boolean Drop lines about cookies and terms of use. Default: true.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---C4's page rules: drops lines and documents, and gives the text that is left.
---
---Raffel et al. 2020 (arXiv:1910.10683), with datatrove's definitions; sentences are counted by a rule (a run of . ! ? … before white space).
---```lua
---docs | s.c4_quality { filter_no_terminal_punct = false }
---```
---@param options? sluice.options.c4_quality
---@return sluice.Stage
function s.c4_quality(options) end

---@class sluice.options.fineweb_quality
---@field over? string Column that holds the text. Default: text.
---@field words? "whitespace"|"uax29" Rule that cuts the text into words. Default: whitespace.
---@field line_punct_thr? number|string Smallest share of lines that end in punctuation. Within [0, 1000000]. Default: 0.12.
---@field line_punct_exclude_zero? boolean Whether a share of exactly 0 passes. Default: false.
---@field short_line_thr? number|string Largest share of short lines. Within [0, 1000000]. Default: 0.67.
---@field short_line_length? integer Most characters of a short line. Within [-1, 1000000000000000]. Default: 30.
---@field char_duplicates_ratio? number|string Largest share of characters in repeated lines. Within [0, 1000000]. Default: 0.01.
---@field new_line_ratio? number|string Most newlines per word. Within [0, 1000000]. Default: 0.3.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---FineWeb's quality rules: line endings, short lines, repeated lines, newlines per word.
---
---Penedo et al. 2024 (arXiv:2406.17557), with datatrove's definitions. Tests run in the order of the reasons.
---```lua
---docs | s.fineweb_quality {}
---```
---@param options? sluice.options.fineweb_quality
---@return sluice.Stage
function s.fineweb_quality(options) end

---@class sluice.options.gate_check
---@field rows_min? integer Fewest rows; -1 is no limit. Does not change the output. Within [-1, 1000000000000000]. Default: -1.
---@field rows_max? integer Most rows; -1 is no limit. Does not change the output. Within [-1, 1000000000000000]. Default: -1.
---@field pass_rate_min? number|string Smallest share of the rows that left the node `of`; -1 is no limit. Does not change the output. Within [-1, 1000000000]. Default: -1.
---@field pass_rate_max? number|string Largest share of the rows that left the node `of`; -1 is no limit. Does not change the output. Within [-1, 1000000000]. Default: -1.
---@field of? sluice.Rows|string Node whose rows the pass rate is a share of. Does not change the output.
---@field nulls? string[]|string Columns whose nulls are counted, for null_max.
---@field null_max? table<string, string|number|boolean> Largest share of nulls by column, 0 to 1; the columns must be among `nulls`. Does not change the output.
---@field require? string[]|string Columns in which the first null halts the run.
---@field schema? table<string, string|number|boolean> Types that columns must have ("utf8", "int64|float64"); nulls don't matter here. Checked before any data. Does not change the output.
---@field baseline? string Snapshot PATH@N whose rows are compared with. Does not change the output.
---@field rows_ratio_min? number|string Smallest ratio of rows to the baseline's; -1 is no limit. Does not change the output. Within [-1, 1e+15]. Default: -1.
---@field rows_ratio_max? number|string Largest ratio of rows to the baseline's; -1 is no limit. Does not change the output. Within [-1, 1e+15]. Default: -1.
---@field action? "halt"|"warn" What a missed threshold does; a null in a required column always halts. Does not change the output. Default: halt.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Counts rows and nulls and halts the run, or warns, when they are not as expected.
---
---What `s.gate` puts into the pipeline. Every threshold is judged once all rows are counted, before anything is published; changing one runs nothing again. `require` halts at the first null. `schema` is checked before any data is read.
---```lua
---docs | s.gate { rows = { min = 1000 }, null_rate = { text = 0.01 }, pass_rate = { min = 0.10, of = docs } }
---```
---@param options? sluice.options.gate_check
---@return sluice.Stage
function s.gate_check(options) end

---@class sluice.options.gopher_quality
---@field over? string Column that holds the text. Default: text.
---@field words? "whitespace"|"uax29" Rule that cuts the text into words. Default: whitespace.
---@field min_doc_words? integer Fewest words (those with a character that is no punctuation); 0 disables. Within [-1, 1000000000000000]. Default: 50.
---@field max_doc_words? integer Most words; 0 disables. Within [-1, 1000000000000000]. Default: 100000.
---@field min_avg_word_length? number|string Smallest mean word length in characters; 0 disables. Within [0, 1000000]. Default: 3.
---@field max_avg_word_length? number|string Largest mean word length in characters; 0 disables. Within [0, 1000000]. Default: 10.
---@field max_symbol_word_ratio? number|string Most # or ellipses per word; 0 disables. Within [0, 1000000]. Default: 0.1.
---@field max_bullet_lines_ratio? number|string Largest share of lines that begin with a bullet; 0 disables. Within [0, 1000000]. Default: 0.9.
---@field max_ellipsis_lines_ratio? number|string Largest share of lines that end in an ellipsis; 0 disables. Within [0, 1000000]. Default: 0.3.
---@field max_non_alpha_words_ratio? number|string Smallest share of words with a letter (the peer's name says the opposite); 0 disables. Within [0, 1000000]. Default: 0.8.
---@field min_stop_words? integer Fewest distinct stop words; 0 disables. Within [-1, 1000000000000000]. Default: 2.
---@field stop_words? string[]|string Stop words, case-sensitive. Default: the,be,to,of,and,that,have,with.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Gopher's document quality rules: length, word length, symbols, bullets, ellipses, letters, stop words.
---
---Tests run in the order of the reasons; the first that fails decides. Rae et al. 2021 (arXiv:2112.11446), with datatrove's definitions.
---```lua
---docs | s.gopher_quality { min_doc_words = 80 }
---```
---@param options? sluice.options.gopher_quality
---@return sluice.Stage
function s.gopher_quality(options) end

---@class sluice.options.gopher_repetition
---@field over? string Column that holds the text. Default: text.
---@field words? "whitespace"|"uax29" Rule that cuts the text into words. Default: whitespace.
---@field dup_line_frac? number|string Largest share of lines that repeat an earlier one; 0 disables. Within [0, 1000000]. Default: 0.3.
---@field dup_para_frac? number|string Largest share of paragraphs that repeat an earlier one; 0 disables. Within [0, 1000000]. Default: 0.3.
---@field dup_line_char_frac? number|string Largest share of characters in repeated lines; 0 disables. Within [0, 1000000]. Default: 0.2.
---@field dup_para_char_frac? number|string Largest share of characters in repeated paragraphs; 0 disables. Within [0, 1000000]. Default: 0.2.
---@field top_2_gram? number|string Largest share of characters in the most frequent 2-gram; 0 disables. Within [0, 1000000]. Default: 0.2.
---@field top_3_gram? number|string Largest share of characters in the most frequent 3-gram; 0 disables. Within [0, 1000000]. Default: 0.18.
---@field top_4_gram? number|string Largest share of characters in the most frequent 4-gram; 0 disables. Within [0, 1000000]. Default: 0.16.
---@field dup_5_gram? number|string Largest share of characters in repeated 5-grams; 0 disables. Within [0, 1000000]. Default: 0.15.
---@field dup_6_gram? number|string Largest share of characters in repeated 6-grams; 0 disables. Within [0, 1000000]. Default: 0.14.
---@field dup_7_gram? number|string Largest share of characters in repeated 7-grams; 0 disables. Within [0, 1000000]. Default: 0.13.
---@field dup_8_gram? number|string Largest share of characters in repeated 8-grams; 0 disables. Within [0, 1000000]. Default: 0.12.
---@field dup_9_gram? number|string Largest share of characters in repeated 9-grams; 0 disables. Within [0, 1000000]. Default: 0.11.
---@field dup_10_gram? number|string Largest share of characters in repeated 10-grams; 0 disables. Within [0, 1000000]. Default: 0.10.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Gopher's repetition rules: repeated lines, paragraphs and n-grams.
---
---Tests run in the order of the reasons; the first that fails decides. Rae et al. 2021 (arXiv:2112.11446), with datatrove's definitions.
---```lua
---docs | s.gopher_repetition {}
---```
---@param options? sluice.options.gopher_repetition
---@return sluice.Stage
function s.gopher_repetition(options) end

---@class sluice.options.native
---@field [1] string? The same as prototype.
---@field prototype? string The function as its C header declares it: "double score(const char *, size_t)". May be given without its name.
---@field lib string The shared library; relative to the script's folder.
---@field over? string Column that the function's first value comes from. Default: text.
---@field as? string Column that it makes; without it the function's name.
---@field args? string[]|string What its further values come from, in their order: names of columns, numbers, true, false, or 'a text' in single quotes.
---@field nan? "keep"|"null" What a result that is not a number becomes: NaN itself, or null. Default: keep.
---@field thread_safe? boolean Whether several threads may be in the library at once; else they take turns. Does not change the output. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Makes a C function of any shared library a column..
---
---Calls a C function of a shared library for each row and keeps what it returns as a column. The library needs no header of Sluice, and runs in a child process without network, without files to write and without other processes: a row that crashes it is quarantined.
---
---| parameters | a value from |
---|---|---|
---| `const char *, size_t` | utf8, json, binary: the bytes and their number; there is no NUL behind them |
---| `const char *` | the same, as a copy that ends in a NUL; a text that holds a NUL is quarantined |
---| `const void *, size_t`, `const uint8_t *, size_t` | the same as bytes |
---| `const double *, size_t` | list<float64>; in the same way float and all integers |
---| `double`, `int32_t`, `bool` … | a number of a column or a constant; an integer out of range is quarantined |
---
---An integer parameter called n, len, length, size or count is taken as the size_t behind a pointer.
---
---The result is a number, a bool, or a `const char *` that the library keeps (copied at once; NULL is null). A null in is a null out, without a call.
---
---`void f(const double *in, double *out, size_t n)` is called once a batch, with a whole column of numbers; each item of out may depend on the items of its own row only, which is tried out.
---
---Variadic functions, structs, callbacks and texts to write into are refused. The prototype is compared with the library's symbols, and with its debug information where it has any (gcc -g); without, a wrong prototype gives wrong numbers or crashes. The library must return the same for the same row; the content of its file is part of what makes a task run again, other libraries that it loads are not.
---```lua
---docs | s.native { lib = "./libppl.so", "double score(const char *, size_t)", over = "text", as = "ppl" }
---```
---@param options sluice.options.native|string
---@return sluice.Stage
function s.native(options) end

---@class sluice.options.pack
---@field [1] integer? The same as sequence_length.
---@field sequence_length? integer Tokens of a row. May be given without its name. Within [1, 16777216]. Default: 2048.
---@field strategy? "best_fit"|"concat" best_fit cuts only documents longer than a row; concat cuts wherever a row ends. Default: best_fit.
---@field pad? boolean Fill rows up to sequence_length (false: rows may be shorter). Default: true.
---@field pad_id? integer Token that fills rows; -1 is the vocabulary's eos, or 0 when the tokens don't say which that is. Within [-1, 4294967295]. Default: -1.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Documents of tokens into rows of a fixed length, by best fit or concatenation.
---
---best_fit is that of Ding et al., ICML 2024 (arXiv:2404.10830), within a split: only documents longer than a row are cut. Output: `tokens`, `segments` (tokens of each piece of the row), `padding` (tokens at the row's end that are filling). No token is lost: the ledger holds tokens in and out equal. Documents without tokens are in no row.
---```lua
---docs | s.tokenize { "o200k_base.tiktoken", eos = "default" } | s.pack { sequence_length = 4096 }
---```
---@param options? sluice.options.pack|integer
---@return sluice.Stage
function s.pack(options) end

---@class sluice.options.read_json
---@field text? string Member that holds the text; it becomes the column `text`. Default: text.
---@field id? string Member that names the document (a string or integer); absent ids are made of file and offset. Default: id.
---@field columns? table<string, string|number|boolean> Further members as typed columns: name to utf8, int64, float64, bool or json.
---@field missing? "null"|"quarantine" What a record without the text or a declared column is: a null there, or quarantined. Default: null.
---@field metadata? boolean Keep the other members, byte by byte, in the column `metadata`. Default: true.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---JSON records in one array a file.
---
---Columns: `text` (null where the member is absent), `id`, the declared ones, and `metadata`. Bad records are quarantined: invalid_json, invalid_utf8, bad_string, bad_number, too_deep, not_an_object, wrong_type, duplicate_key, missing_column, record_too_long.
---```lua
---s.files "alpaca.json" | s.read_json { text = "output" }
---```
---@param options? sluice.options.read_json
---@return sluice.Stage
function s.read_json(options) end

---@class sluice.options.read_jsonl
---@field text? string Member that holds the text; it becomes the column `text`. Default: text.
---@field id? string Member that names the document (a string or integer); absent ids are made of file and offset. Default: id.
---@field columns? table<string, string|number|boolean> Further members as typed columns: name to utf8, int64, float64, bool or json.
---@field missing? "null"|"quarantine" What a record without the text or a declared column is: a null there, or quarantined. Default: null.
---@field metadata? boolean Keep the other members, byte by byte, in the column `metadata`. Default: true.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---JSON records, one a line.
---
---Columns: `text` (null where the member is absent), `id`, the declared ones, and `metadata`. Bad records are quarantined: invalid_json, invalid_utf8, bad_string, bad_number, too_deep, not_an_object, wrong_type, duplicate_key, missing_column, record_too_long.
---```lua
---s.files "corpus/*.jsonl.zst" | s.read_jsonl { text = "content" }
---```
---@param options? sluice.options.read_jsonl
---@return sluice.Stage
function s.read_jsonl(options) end

---@class sluice.options.read_text
---@field [1] string? The same as separator.
---@field separator? string Text between two documents of a file, such as "\n\n\n"; empty: a file is one document. May be given without its name. Default: "".
---@field strip? boolean Take ASCII white space off both ends of a document. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Plain text: a document a file, or the pieces between separators.
---
---Columns: `text` and `id` (the file, with :OFFSET behind it when there is a separator). Empty documents are skipped, and so is a byte order mark. Documents that are not UTF-8 are quarantined: invalid_utf8, record_too_long.
---```lua
---s.files "books/*.txt.zst" | s.read_text { separator = "\n\n\n", strip = true }
---```
---@param options? sluice.options.read_text|string
---@return sluice.Stage
function s.read_text(options) end

---@class sluice.options.tokenize
---@field [1] string? The same as tokenizer.
---@field tokenizer? string Vocabulary: a .tiktoken file or a tokenizer.json of the byte-level BPE family. May be given without its name.
---@field over? string Column that holds the text. Default: text.
---@field pattern? string Regular expression that cuts the text for a .tiktoken file whose vocabulary is not known.
---@field eos? string Token behind each document: "none", "default" (the vocabulary's own; also "true"), or a special token's text. Default: none.
---@field bos? string Token before each document: "none", "default" (the vocabulary's own; also "true"), or a special token's text. Default: none.
---@field specials? "ordinary"|"allow"|"refuse" What the text of a special token inside a document is: ordinary text, that token, or a reason for quarantine. Default: ordinary.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Token ids of a text by byte-level BPE, equal to tiktoken and Hugging Face tokenizers.
---
---Adds `tokens` (list<uint32>). An empty or null text has no tokens, not even `bos` and `eos`, as in Megatron's preprocess_data. Stages behind it read vocab_size, tokenizer (XXH3-128 of the file), eos and bos from the column's metadata.
---```lua
---docs | s.tokenize { "o200k_base.tiktoken", eos = "default" }
---```
---@param options sluice.options.tokenize|string
---@return sluice.Stage
function s.tokenize(options) end

---@class sluice.options.words
---@field rule? "whitespace"|"uax29" How a text is cut into words. Default: whitespace.
---@field over? string Column that holds the text. Default: text.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Word spans of a text, shared by the stages behind (a provider: inserted where needed).
---
---`whitespace` cuts as Python's `str.split()`. `uax29` gives the segments of Unicode's UAX #29 that hold a letter or number.
---```lua
---docs | s.words { rule = "uax29" }
---```
---@param options? sluice.options.words
---@return sluice.Stage
function s.words(options) end

---@class sluice.options.write_jsonl
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field compression? "none"|"gzip"|"zstd" Codec of the files. Default: zstd.
---@field level? integer Level of the codec (gzip to 12, zstd to 22); 0 is its default. Within [0, 22]. Default: 0.
---@field shard_size? integer|string Uncompressed bytes after which a file is ended, at the end of a record. Within [1, 1000TB]. Default: 256MiB.
---@field columns? string[]|string Columns to write, in this order; none given: all, `text` and `id` first.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---JSON objects, one a line, into the files of a dataset.
---
---Members in the order `text`, `id`, then the columns in their order. The members of a json column called `metadata` stand in the object itself (a column of the same name wins). A null column is left out. Binary columns are base64; inf and nan are null; floats are the shortest text that reads back equal.
---```lua
---docs | s.write_jsonl { "out/kept", compression = "zstd" }
---```
---@param options sluice.options.write_jsonl|string
---@return sluice.Stage
function s.write_jsonl(options) end

---@class sluice.options.write_megatron
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field dtype? "auto"|"uint16"|"int32" Type of a token; auto is uint16 below 65500 ids (Megatron's rule), else int32. Default: auto.
---@field sequences? "auto"|"rows"|"documents" What a sequence is: a row (and a document as well), or each document's piece in a row, without padding; auto is rows. Default: auto.
---@field shard_size? integer|string Bytes of .bin after which a pair of files is ended, at the end of a row. Within [1, 1000TB]. Default: 1GiB.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Tokens as Megatron-LM's indexed dataset: .bin and .idx.
---
---A row is a sequence and a document of its own; that keeps packed rows whole. With sequences = "documents" each piece of a packed row is one instead, and padding is left out; a document that was cut is then several. Rows without tokens are sequences of length 0. Every id is checked against the vocabulary.
---```lua
---packed | s.write_megatron { "out/gold" }
---```
---@param options sluice.options.write_megatron|string
---@return sluice.Stage
function s.write_megatron(options) end

-- methods of texts

---contains(needle): does it occur, byte for byte? An empty needle does.
---@param needle string
---@return boolean
function string:contains(needle) end

---count(needle): non-overlapping occurrences from the left; of "" characters + 1 (Python's count).
---@param needle string
---@return integer
function string:count(needle) end

---find_plain(needle [, from]): first and last byte of the first occurrence, or nil.
---@param needle string
---@param from? integer
---@return integer?, integer?
function string:find_plain(needle, from) end

---starts_with(prefix)
---@param prefix string
---@return boolean
function string:starts_with(prefix) end

---ends_with(suffix)
---@param suffix string
---@return boolean
function string:ends_with(suffix) end

---chars(): code points.
---@return integer
function string:chars() end

---share(class): part of the code points in letter, digit, number, alnum, space, upper, lower, punct, symbol, punctuation, terminal, or equal to one character; 0 for an empty text.
---@param class sluice.Class
---@return number
function string:share(class) end

---count_class(class): code points of a class as in share.
---@param class sluice.Class
---@return integer
function string:count_class(class) end

---words([rule]): array of words; rule whitespace (default) or uax29.
---@param rule? sluice.Words
---@return string[]
function string:words(rule) end

---n_words([rule]): how many.
---@param rule? sluice.Words
---@return integer
function string:n_words(rule) end

---lines(): array of lines (Python's splitlines).
---@return string[]
function string:lines() end

---n_lines(): how many.
---@return integer
function string:n_lines() end

---sentences(): array of sentences, found by rule.
---@return string[]
function string:sentences() end

---n_sentences(): how many.
---@return integer
function string:n_sentences() end

---strip(): without white space at both ends (Unicode).
---@return string
function string:strip() end

---lower_unicode(): full Unicode lower-casing (Python's lower).
---@return string
function string:lower_unicode() end

---simplify(): the normal form before hashing: lower case, no punctuation, digits 0, no diacritics.
---@return string
function string:simplify() end

---top_ngram_share(n [, above] [, rule]): characters in the most frequent n-gram / characters (Gopher). With above: 0 unless it is above it, which is several times faster.
---@param n integer
---@param above? number
---@param rule? sluice.Words
---@return number
function string:top_ngram_share(n, above, rule) end

---dup_ngram_share(n [, above] [, rule]): characters in repeated n-grams / characters (Gopher); above as there.
---@param n integer
---@param above? number
---@param rule? sluice.Words
---@return number
function string:dup_ngram_share(n, above, rule) end

---dup_line_share(): lines that repeat an earlier one / lines (Gopher).
---@return number
function string:dup_line_share() end

---dup_line_char_share(): their characters / characters.
---@return number
function string:dup_line_char_share() end

---dup_para_share(): paragraphs that repeat an earlier one / paragraphs (Gopher).
---@return number
function string:dup_para_share() end

---dup_para_char_share(): their characters / characters.
---@return number
function string:dup_para_char_share() end

---mean_word_length([rule]): characters a word; 0 without words.
---@param rule? sluice.Words
---@return number
function string:mean_word_length(rule) end

---word_stats([rule]): table of words, chars, content (words that are not only punctuation), content_chars, alphabetic (words with a letter).
---@param rule? sluice.Words
---@return sluice.WordStats
function string:word_stats(rule) end

---counter([rule]): how often each word occurs: c:count(word), c:total(), c:distinct(), c:top(n), for word, n in pairs(c).
---@param rule? sluice.Words
---@return sluice.Counter
function string:counter(rule) end

---gopher_quality([options]): nil, or the reason, value and limit of Gopher's quality rules.
---@param options? table<string, number>
---@return string? reason, number? value, number? limit
function string:gopher_quality(options) end

---gopher_repetition([options]): the same for Gopher's repetition rules.
---@param options? table<string, number>
---@return string? reason, number? value, number? limit
function string:gopher_repetition(options) end

---fineweb_quality([options]): the same for FineWeb's rules.
---@param options? table<string, number>
---@return string? reason, number? value, number? limit
function string:fineweb_quality(options) end
