---@meta _
-- Written by `sluice inspect --luals`; to change it, change the option tables.
-- The language itself is in sluice.lua beside it.

---@class sluice
local s = {}

---@class sluice.options.c4_badwords
---@field id? string Column whose hash chooses the documents of keep_fraction; not needed when that is 0. Default: id.
---@field over? string Column that holds the text. Default: text.
---@field language? string Column that holds the document's language; need not be there. Default: language.
---@field default_language? string Language of documents that have none. Default: en.
---@field keep_fraction? number|string Share of the documents with a listed word that is kept all the same. Within [0, 1]. Default: 0.
---@field seed? integer Another seed keeps others. Within [0, 1000000000000000]. Default: 0.
---@field fail_on_missing_language? boolean A document of a language without a list is set aside as bad (the peer ends); false keeps it. Default: true.
---@field skip_empty? boolean Empty lines of lists mean nothing; to the peer (false) they are a word that stands between any two characters that are no letters. Default: false.
---@field ar? string List of the language ar, one word or phrase a line.
---@field cs? string List of the language cs, one word or phrase a line.
---@field da? string List of the language da, one word or phrase a line.
---@field de? string List of the language de, one word or phrase a line.
---@field en? string List of the language en, one word or phrase a line.
---@field eo? string List of the language eo, one word or phrase a line.
---@field es? string List of the language es, one word or phrase a line.
---@field fa? string List of the language fa, one word or phrase a line.
---@field fi? string List of the language fi, one word or phrase a line.
---@field fil? string List of the language fil, one word or phrase a line.
---@field fr? string List of the language fr, one word or phrase a line.
---@field fr_ca_u_sd_caqc? string List of the language fr_ca_u_sd_caqc, one word or phrase a line.
---@field hi? string List of the language hi, one word or phrase a line.
---@field hu? string List of the language hu, one word or phrase a line.
---@field it? string List of the language it, one word or phrase a line.
---@field ja? string List of the language ja, one word or phrase a line.
---@field kab? string List of the language kab, one word or phrase a line.
---@field ko? string List of the language ko, one word or phrase a line.
---@field nl? string List of the language nl, one word or phrase a line.
---@field no? string List of the language no, one word or phrase a line.
---@field pl? string List of the language pl, one word or phrase a line.
---@field pt? string List of the language pt, one word or phrase a line.
---@field ru? string List of the language ru, one word or phrase a line.
---@field sv? string List of the language sv, one word or phrase a line.
---@field th? string List of the language th, one word or phrase a line.
---@field tlh? string List of the language tlh, one word or phrase a line.
---@field tr? string List of the language tr, one word or phrase a line.
---@field zh? string List of the language zh, one word or phrase a line.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops documents that hold a word of their language's list.
---
---Raffel et al. 2020 (arXiv:1910.10683), with the definitions of datatrove 0.10's C4BadWordsFilter (filters/c4_filters.py): the text in lower case holds a listed word with no letter, digit or _ beside it (Japanese, Thai, Chinese: anywhere). Lists are taken as they are: an entry with a capital letter never matches. Four entries that C4 allows are left out of every list.
---
---C4 used the List of Dirty, Naughty, Obscene, and Otherwise Bad Words (LDNOOBW, CC-BY 4.0: `en` at commit 25e679f, the others at 5faf2ba); the files are the user's, one for each language, and nothing is fetched. What `keep_fraction` keeps is chosen by a hash of the id here; the peer draws in the order of documents: `c4_badwords_peer`.
---```lua
---docs | s.c4_badwords { en = "ldnoobw/en", fail_on_missing_language = false }
---```
---@param options? sluice.options.c4_badwords
---@return sluice.Stage
function s.c4_badwords(options) end

---@class sluice.options.c4_badwords_peer
---@field over? string Column that holds the text. Default: text.
---@field language? string Column that holds the document's language; need not be there. Default: language.
---@field default_language? string Language of documents that have none. Default: en.
---@field keep_fraction? number|string Share of the documents with a listed word that is kept all the same. Within [0, 1]. Default: 0.
---@field seed? integer Another seed keeps others. Within [0, 1000000000000000]. Default: 0.
---@field fail_on_missing_language? boolean A document of a language without a list is set aside as bad (the peer ends); false keeps it. Default: true.
---@field skip_empty? boolean Empty lines of lists mean nothing; to the peer (false) they are a word that stands between any two characters that are no letters. Default: false.
---@field ar? string List of the language ar, one word or phrase a line.
---@field cs? string List of the language cs, one word or phrase a line.
---@field da? string List of the language da, one word or phrase a line.
---@field de? string List of the language de, one word or phrase a line.
---@field en? string List of the language en, one word or phrase a line.
---@field eo? string List of the language eo, one word or phrase a line.
---@field es? string List of the language es, one word or phrase a line.
---@field fa? string List of the language fa, one word or phrase a line.
---@field fi? string List of the language fi, one word or phrase a line.
---@field fil? string List of the language fil, one word or phrase a line.
---@field fr? string List of the language fr, one word or phrase a line.
---@field fr_ca_u_sd_caqc? string List of the language fr_ca_u_sd_caqc, one word or phrase a line.
---@field hi? string List of the language hi, one word or phrase a line.
---@field hu? string List of the language hu, one word or phrase a line.
---@field it? string List of the language it, one word or phrase a line.
---@field ja? string List of the language ja, one word or phrase a line.
---@field kab? string List of the language kab, one word or phrase a line.
---@field ko? string List of the language ko, one word or phrase a line.
---@field nl? string List of the language nl, one word or phrase a line.
---@field no? string List of the language no, one word or phrase a line.
---@field pl? string List of the language pl, one word or phrase a line.
---@field pt? string List of the language pt, one word or phrase a line.
---@field ru? string List of the language ru, one word or phrase a line.
---@field sv? string List of the language sv, one word or phrase a line.
---@field th? string List of the language th, one word or phrase a line.
---@field tlh? string List of the language tlh, one word or phrase a line.
---@field tr? string List of the language tr, one word or phrase a line.
---@field zh? string List of the language zh, one word or phrase a line.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops documents that hold a word of their language's list, keeping the share that datatrove keeps.
---
---As `c4_badwords`, but what keep_fraction keeps is drawn from numpy's default_rng(seed), one number for each document with a listed word in the order of rows, so that it depends on how the input is split. The peer's seed is random unless given; here it is 0.
---```lua
---docs | s.c4_badwords_peer { en = "ldnoobw/en", keep_fraction = 0.1, seed = 1 }
---```
---@param options? sluice.options.c4_badwords_peer
---@return sluice.Stage
function s.c4_badwords_peer(options) end

---@class sluice.options.c4_paragraph
---@field over? string Column that holds the text. Default: text.
---@field min_paragraphs? integer Fewest lines that are long enough. Within [-1, 1000000000000000]. Default: 3.
---@field min_paragraph_len? integer Characters of a line that is long enough. Within [-1, 1000000000000000]. Default: 200.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---mC4's rule: a document has at least three lines of 200 characters.
---
---Xue et al. 2021 (arXiv:2010.11934), with the definitions of datatrove 0.10's C4ParagraphFilter (filters/c4_filters.py), whose reason is `< 3 paragraphs`. Lines end at \n alone.
---```lua
---docs | s.c4_paragraph {}
---```
---@param options? sluice.options.c4_paragraph
---@return sluice.Stage
function s.c4_paragraph(options) end

---@class sluice.options.c4_quality
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field sentences? "spacy-en"|"marks" Rule that counts the sentences. Default: spacy-en.
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
---Raffel et al. 2020 (arXiv:1910.10683), with datatrove's definitions; sentences are counted as its tokenizer counts them, or by `marks` (a run of . ! ? … before white space).
---```lua
---docs | s.c4_quality { filter_no_terminal_punct = false }
---```
---@param options? sluice.options.c4_quality
---@return sluice.Stage
function s.c4_quality(options) end

---@class sluice.options.cast_columns
---@field [1] table<string, string|number|boolean>? The same as types.
---@field types? table<string, string|number|boolean> The new type of each column that gets one: { score = "float64" }; bool, int8 to int64, uint8 to uint64, float32, float64, utf8, binary, json. May be given without its name.
---@field bad? "quarantine"|"null"|"error" What becomes of a row with a value that the type can't hold: it is set aside, the value becomes null, or the run ends. Default: quarantine.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Columns as other types, each value exactly or not at all.
---
---Whole numbers: within the type's range, from texts as [+-]digits, from floats without a fraction, from bools as 0 and 1. Floats: whole numbers that they hold exactly, texts as decimal numbers, `nan`, `inf`, `-inf` (rounded to the nearest); float64 to float32 rounds to the nearest, beyond its range is bad. bool: true, false, 1, 0. utf8: numbers as the shortest decimals that read back equal; binary that is UTF-8. json to others: its string, number or bool; what has members as its text. json from utf8: texts that are JSON. Blanks and empty texts are no numbers. Nulls stay nulls.
---```lua
---docs | s.cast_columns { { score = "float64", year = "int32" }, bad = "null" }
---```
---@param options sluice.options.cast_columns|table<string, string|number|boolean>
---@return sluice.Stage
function s.cast_columns(options) end

---@class sluice.options.contaminated
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops the rows that `contamination` found contaminated.
---
---`contaminated`: the rules datatrove and decon. `too_many_hits`, `nothing_left`: janitor. A dropped row names the item in dup_of.
---```lua
---docs | s.contamination { "gsm8k.jsonl" } | s.contaminated {}
---```
---@param options? sluice.options.contaminated
---@return sluice.Stage
function s.contaminated(options) end

---@class sluice.options.contamination
---@field [1] string? The same as reference.
---@field reference? string JSON lines of benchmark items (may be compressed). May be given without its name.
---@field rule? "datatrove"|"janitor"|"decon" datatrove: one n-gram drops a text; janitor: n-grams are cut out with what is around them; decon: overlap weighted by rareness. Default: datatrove.
---@field over? string Column that holds the text; `janitor` replaces it by what is left. Default: text.
---@field question? string Field of the reference with the question. Default: question.
---@field answer? string Field with the answer, or a list of answers. Default: answer.
---@field passage? string Field with the passage that the question is about. Default: passage.
---@field id? string Field that names an item; else its task and line do. Default: id.
---@field task? string Field that names the benchmark. Default: task.
---@field ngram? integer Words of an n-gram; 0: the rule's own (12, 13, 5). Within [0, 1000000000]. Default: 0.
---@field query_ngrams? boolean datatrove: n-grams of the question alone count. Default: false.
---@field overlap_ngrams? boolean datatrove: n-grams across question and answer count. Default: true.
---@field window? integer janitor: characters cut on either side of a hit. Within [0, 1000000000]. Default: 200.
---@field min_piece? integer janitor: a piece of so many characters or fewer is dropped. Within [0, 1000000000]. Default: 200.
---@field max_hits? integer janitor: a text of more hits is dropped. Within [0, 1000000000]. Default: 10.
---@field join? string janitor: what stands between the pieces that are left. Default:   .
---@field peer? boolean janitor: also drop short texts without a hit, as the peer does. Default: false.
---@field sample? integer decon: look at every n-th n-gram for a first hit, n this number. Within [1, 1000000000]. Default: 10.
---@field misses? integer decon: give up after so many n-grams without a new hit. Within [1, 1000000000]. Default: 11.
---@field threshold? number|string decon: least weighted overlap of an item of decay_end words or more. Within [0, 1]. Default: 0.8.
---@field decay_begin? integer decon: items of so many words or fewer must match whole. Within [0, 1000000000]. Default: 20.
---@field decay_end? integer decon: items of so many words or more must match by threshold. Within [1, 1000000000]. Default: 50.
---@field min_tokens? integer decon: items of fewer words are left out. Within [0, 1000000000]. Default: 20.
---@field min_unique? integer decon: items of fewer different words are left out. Within [0, 1000000000]. Default: 4.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---What a text shares with benchmark items: a report as the column `contamination`.
---
---The column is null for clean texts, else a JSON object: rule, item, task, the n-grams or overlaps that were found, `drop`, `value` and `limit`. `decontaminate` also drops.
---
---- `datatrove` (Penedo et al., datatrove 0.10, pipeline/decont/n_grams.py): 12-grams of spaCy's words of the simplified text; n-grams of answers, across question and answer, and if asked of questions. Several tasks with one n-gram: the last in order of names is named, as the peer does.
---- `janitor` (lm-evaluation-harness, decontamination/janitor.py; Brown et al. 2020, appendix C): 13-grams of question, answer and passage. Words of nothing but punctuation keep a text's n-gram from matching, as in the peer.
---- `decon` (allenai/decon; Olmo 3): 5-grams of the question weighted by rareness, then the answer behind and the passage before it; .7/.2/.1 (.75/.25, .85/.15). Units are words of the cleaned text, not cl100k's tokens.
---
---n-grams are compared byte by byte, never by hash alone.
---```lua
---docs | s.contamination { "gsm8k.jsonl", rule = "janitor" }
---```
---@param options sluice.options.contamination|string
---@return sluice.Stage
function s.contamination(options) end

---@class sluice.options.contract_check
---@field of? sluice.Rows|string Node before the contract: its rows that are not here broke it. Does not change the output.
---@field limit? number|string Largest share of rows that may break the contract; -1 is no limit. Does not change the output. Within [-1, 1]. Default: -1.
---@field time? string Column with the time of a row: ISO 8601 as text, or a whole number of `unit` since 1970.
---@field unit? "s"|"ms"|"us"|"ns" Of times that are numbers. Default: s.
---@field max_age? number|string How old the newest row may be at the time `at`. Does not change the output. Within [0s, 2500000h].
---@field at? string The time that ages are counted from, ISO 8601: an argument of the pipeline, as tasks know no clock. Does not change the output.
---@field action? "halt"|"warn" What a broken rule does. Does not change the output. Default: halt.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---What a contract says of all rows together: how many break it, how old the newest is.
---
---What `s.contract` puts into the pipeline for `limit` and `freshness`, judged once all rows are counted, before anything is published; changing a limit runs nothing again.
---```lua
---docs | s.contract { freshness = { column = "crawled", max_age = "36h", at = "2026-03-01" }, limit = 0.001 }
---```
---@param options? sluice.options.contract_check
---@return sluice.Stage
function s.contract_check(options) end

---@class sluice.options.contract_rows
---@field name? string What the contract is called in manifests and messages. Does not change the output. Default: contract.
---@field columns? table<string, string|number|boolean> Columns that must be there, with their types ("utf8", "int64|float64", "any"); nulls don't matter here.
---@field optional? string[]|string Those of them that need not be there.
---@field required? string[]|string Columns without nulls.
---@field range? table<string, string|number|boolean> Smallest and largest value of a column, "0..1", "0.."; texts are compared by bytes.
---@field length? table<string, string|number|boolean> Fewest and most characters of a text, "1..10000".
---@field regex? table<string, string|number|boolean> Expression (PCRE2) that is found in every text of a column.
---@field allowed? table<string, string|number|boolean> The values that a column may have, as a list of JSON: '["en", "de"]'.
---@field evolution? "add"|"fixed" add: columns that the contract does not have may be there; fixed: they may not, nor other members of records. Default: add.
---@field broken? "quarantine"|"drop" What becomes of a row that breaks a rule: it is set aside, which max_bad counts, or dropped. Default: quarantine.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---The rules of a contract on columns and on each row.
---
---What `s.contract` puts into the pipeline. Columns and types are checked before any data is read; a column that is missing is refused with what it may be called now. The rules on rows are checked in the order required, range, length, regex, allowed, extra; the first that is broken counts. Nulls keep every rule but `required`. A record without a required member is quarantined with the member of it that may be its new name: of the same type, keeping the column's other rules, with the name most alike.
---```lua
---docs | s.contract { columns = { text = "utf8" }, required = { "text" }, range = { year = { 1990, 2100 } } }
---```
---@param options? sluice.options.contract_rows
---@return sluice.Stage
function s.contract_rows(options) end

---@class sluice.options.doc_stats
---@field over? string Column that holds the text. Default: text.
---@field blocks? string[]|string Groups of statistics: doc, word, line, paragraph, sentence. Default: doc,word,line,paragraph,sentence.
---@field words? "whitespace"|"uax29"|"spacy-en" Rule that cuts the text into words (stage words); datatrove's English is spacy-en. Default: spacy-en.
---@field sentences? "spacy-en"|"marks"|"lines"|"uax29" Rule that cuts the text into sentences (stage sentences). Default: spacy-en.
---@field short_words? string[]|string Lengths up to which a word counts as short, in code points. Default: 3.
---@field long_words? string[]|string Lengths from which a word counts as long. Default: 7.
---@field short_lines? string[]|string Lengths up to which a line counts as short. Default: 10,30.
---@field long_lines? string[]|string Lengths from which a line counts as long. Default: 2000,10000.
---@field short_paragraphs? string[]|string Lengths up to which a paragraph counts as short. Default: 100.
---@field long_paragraphs? string[]|string Lengths from which a paragraph counts as long. Default: 1000.
---@field short_sentences? string[]|string Lengths up to which a sentence counts as short. Default: 20.
---@field long_sentences? string[]|string Lengths from which a sentence counts as long. Default: 75.
---@field stop_words? string[]|string Words of stop_word_ratio, as written. Default: the,be,to,of,and,that,have,with.
---@field contamination? string[]|string Words whose share of the simplified text is words_contamination_FIRST; none leaves it out.
---@field ignore_empty_lines? boolean Blank lines count for n_lines only. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---The statistics of each document as columns (datatrove's stats blocks).
---
---A column for each statistic of datatrove 0.10's `DocStats`, `WordStats`, `LineStats`, `ParagraphStats`, `SentenceStats` and `WordsContaminationStats` (`pipeline/stats/*.py`), with their names and values: `length`, `white_space_ratio`, `n_words`, `short_word_ratio_3`, `n_lines` ... Lengths are code points; a ratio of nothing is 0. Quirks kept: `elipsis_ratio` (so spelt) counts the characters of `...` and of the ellipsis sign; paragraphs are what stands between `\n\n`, white space included; a ratio over lines includes blank ones. Filter by the columns in Lua, or gather them with `s.statistics`.
---```lua
---docs | s.doc_stats { blocks = { "doc", "word" }, words = "whitespace" }
---```
---@param options? sluice.options.doc_stats
---@return sluice.Stage
function s.doc_stats(options) end

---@class sluice.options.dolma_attribute
---@field [1] string? The same as name.
---@field name? string Name of the attribute, experiment__tagger__type by Dolma's custom: letters, digits, _. May be given without its name.
---@field score? string float64 column of the score; a row where it is null has no span. Default: score.
---@field over? string Text column, whose whole length the span covers. Default: text.
---@field as? string Column of the attributes; if the input has one of that name its members stay. Default: attributes.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---A score of a column as an attribute in Dolma's form.
---
---Adds {"NAME": [[0, length, score]]}: what one of Dolma's taggers of a model (ft_lang_id_en_doc_v2, jigsaw_*, quality) gives, from the score of `fasttext` or of any other stage.
---```lua
---scored | s.dolma_attribute { "web__ft_lang_id_en_doc_v2__en", score = "english" }
---```
---@param options sluice.options.dolma_attribute|string
---@return sluice.Stage
function s.dolma_attribute(options) end

---@class sluice.options.dolma_fasttext
---@field [1] string? The same as model.
---@field model? string fastText classifier that the tagger asks. May be given without its name.
---@field tagger string Name of Dolma's registry: ft_lang_id_doc_v1, ft_lang_id_1e2, ft_lang_id_paragraph_v1, ft_lang_id_en_doc_v2, ft_lang_id_en_only_v2, ft_lang_id_en_paragraph_v2, ft_lang_id_en_paragraph_with_doc_score_v2, jigsaw_hatespeech_document_v2, jigsaw_nsfw_document_v1, dclm-oh-eli5, dolma17-quality, code_composition; or labels, paragraph_labels: all labels of any model for the document, or for each paragraph.
---@field experiment? string First part of the attributes' names; none: the tagger's name, as in Dolma.
---@field over? string Text column; a null counts as an empty text. Default: text.
---@field as? string Column of the attributes; if the input has one of that name its members stay. Default: attributes.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Dolma's taggers of fastText models, with any model, as attributes.
---
---Gives, beside what `dolma_tag` gives, {"experiment__tagger__label": [[start, end, score], ...]} as Dolma 1.2.1's taggers of fastText models do (python/dolma/core/ft_tagger.py, taggers/language.py, jigsaw.py, quality.py, code_composition.py): each with what it does to the text (lower case, line breaks to spaces), its choice of labels and its rounding; the model is an asset of the user's. A paragraph is a line that is not blank. `labels` and `paragraph_labels` are no taggers of Dolma's: all labels of any model, best first.
---
---Other than there: where the model gives no label (dclm-oh-eli5, jigsaw_*) or the text is empty (dolma17-quality) there is no span, where Dolma ends. Not here: jigsaw_hatespeech_sentence_v2 and jigsaw_nsfw_sencence_v2, whose sentences are those of the BlingFire library.
---```lua
---docs | s.dolma_fasttext { "lid.176.bin", tagger = "ft_lang_id_en_doc_v2" }
---```
---@param options sluice.options.dolma_fasttext|string
---@return sluice.Stage
function s.dolma_fasttext(options) end

---@class sluice.options.dolma_mix
---@field include? string[]|string Rules of which one must match for a document to stay; none: all stay.
---@field exclude? string[]|string Rules of which none may match.
---@field replace? string[]|string Spans to replace, each a JSON object as in Dolma's span_replacement: {"span": path, "min_score": number, "max_score": number, "replacement": text, "syntax": "jsonpath" or "jq"}; {} in the replacement stands for the old text.
---@field min_text_length? integer Fewest bytes of the text without white space around it, after replacing. Within [0, 1000000000000000]. Default: 0.
---@field syntax? "jsonpath"|"jq" Of include and exclude; of jq paths alone are known. Default: jsonpath.
---@field attributes? string[]|string Names of attributes that documents may have, beside those that dolma_tag declares.
---@field unchecked? boolean Rules may name attributes of which nothing says that they exist. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Dolma's mixer: keeps or drops documents by their attributes, and replaces spans.
---
---Rules are the JSONPath of Dolma's mixer configurations, `$.attributes[?(@.NAME[0][2] >= 0.5)]`, evaluated as the mixer (Dolma 1.2.1, jsonpath-rust 0.3) does: a filter on an object asks the object itself, < and > compare one number with one number and are false otherwise, != holds for what is absent, 5 and 5.0 are not equal. `$` is the document: id, text, the members of the column metadata, and attributes (those of the document, then of the column attributes). First include, then exclude, then the replacements of spans, then min_text_length. Of overlapping spans the first is replaced and the others are not; a span of no characters ends replacing. Offsets are in characters.
---
---A rule that names an attribute that no document can have never fires, which mixing configurations have suffered from: it is an error here. dolma_tag says what it gives; name attributes that were read from files in `attributes`.
---```lua
---tagged | s.dolma_mix { exclude = { "$.attributes[?(@.gopher_v2__gopher_v2__word_count[0][2] < 50)]" } }
---```
---@param options? sluice.options.dolma_mix
---@return sluice.Stage
function s.dolma_mix(options) end

---@class sluice.options.dolma_tag
---@field [1] string[]|string? The same as taggers.
---@field taggers? string[]|string Names of Dolma's registry: gopher_v1, gopher_v2, c4_v1, c4_v2, repetitions_v1, paragraph_repetitions_v1, pii_regex_v1, pii_regex_v2, pii_regex_with_counts_v2, pii_regex_with_counts_fast_v2, bytes_length_v1, doc_count_v1, char_length_v1, char_length_strip_ws_v1, char_length_with_paragraphs_v1, whitespace_tokenizer_v1, whitespace_tokenizer_with_paragraphs_v1, uniseg_length_v1, uniseg_length_paragraphs_v1, uniseg_length_paragraphs_with_empty_v1, uniseg_length_paragraphs_with_doc_length_v1, random_number_v1, code_redpajama_taggers_v1, code_copyright_comments_v1, not_alphanum_paragraph_v1; with `tokenizer` also tokenizer_repetitions_v1, paragraph_tokenizer_repetitions_v1, tokenizer_repetitions_v2r2, dolma_v1_tokenizer, dolma_v2_tokenizer, tokenizers_EleutherAI_GPT_NeoX_20B, tokenizers_AI2_OLMo_v1. May be given without its name.
---@field experiment? string First part of the attributes' names; none: the tagger's name, as in Dolma.
---@field bad_words? string File of words and phrases, one a line, for has_naughty_word of the C4 taggers (Dolma's data/naughty_words_en.txt, which is LDNOOBW's English list, CC-BY-4.0).
---@field tokenizer? string Vocabulary of the taggers that count tokens, such as the tokenizer.json of allenai/dolma2-tokenizer: one for all taggers of a stage.
---@field no_bad_words? boolean The C4 taggers go without a list, and never say has_naughty_word. Default: false.
---@field over? string Text column; a null counts as an empty text. Default: text.
---@field as? string Column of the attributes; if the input has one of that name its members stay. Default: attributes.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Dolma's rule-based taggers: spans and scores of a document as attributes.
---
---Gives a JSON column {"experiment__tagger__type": [[start, end, score], ...], ...} with the names, offsets (characters), order and rounding (five digits) of Dolma 1.2.1, whose taggers (python/dolma/taggers) these are. `write_attributes` writes it as Dolma's attribute files, `dolma_mix` filters and edits by it.
---
---Kept as they are there: gopher counts all copies of a repeated line or n-gram, and n-grams are compared without what joins them; a PII share (doc_frac) counts the whole text in; c4_v2 counts U+0130 as two characters. Other than there: random_number_v1 depends on the document's id and the pipeline's seed, not on the process; pii_regex_v1 and pii_regex_with_counts_v2 give the score -1 for a text without words, at which Dolma ends.
---
---The taggers of tokens take the tokenizer that is given, where Dolma's have theirs from a server; special tokens in a text are those tokens. Where the tokenizer's normalization changes a text that has repetitions, no token has a place and the row is refused; and tokens have their places where tokenizers gives empty ones (single characters behind several Splits).
---
---Taggers of fastText models (ft_lang_id*, jigsaw_*, quality, code_composition) are the stage `dolma_fasttext`'s; URL lists `url_filter`'s. Not here: code_secrets_v1 (rules, entropies and filters of the package detect-secrets), code_starcoder_taggers_* (Python's own parser, the lexers of Pygments, BeautifulSoup), cc_re* (rules for HTML beside the text), olmo_pretokenizer_* (pieces that no tokenizer file names), pii_presidio_v1, cld2_*, cld3_*, langdetect_*, lingua_* (other packages' models).
---```lua
---docs | s.dolma_tag { { "gopher_v2", "pii_regex_with_counts_fast_v2" } }
---```
---@param options sluice.options.dolma_tag|string[]|string
---@return sluice.Stage
function s.dolma_tag(options) end

---@class sluice.options.drop_columns
---@field [1] string[]|string? The same as columns.
---@field columns? string[]|string Columns that end here; all others go on. May be given without its name.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Rows without some of their columns.
---
---A column that is not there is an error, with the nearest name that is.
---```lua
---docs | s.drop_columns { "metadata" }
---```
---@param options sluice.options.drop_columns|string[]|string
---@return sluice.Stage
function s.drop_columns(options) end

---@class sluice.options.fasttext_filter
---@field [1] string? The same as model.
---@field model? string A fastText classifier (.bin or .ftz). May be given without its name.
---@field over? string Column that holds the text; with by = paragraph or sentence it is replaced by the parts that are kept. Default: text.
---@field keep_labels? table<string, string|number|boolean> Labels, without __label__, and their smallest scores: one of them must be reached.
---@field remove_labels? table<string, string|number|boolean> Labels and scores of which none may be reached; not beside keep_labels.
---@field by? "document"|"paragraph"|"sentence" What is judged: the document, its paragraphs (lines, with the blank ones behind), or its sentences (rule spacy-en). Default: document.
---@field newline_replacement? string What \n becomes for the model, which reads one line; the peer's default joins the last and the first word of two lines. Default: "".
---@field save_labels? boolean Add the mean score of each label over the parts as one JSON object. Default: true.
---@field labels? string Column for that object. Default: labels.
---@field columns? table<string, string|number|boolean> Labels whose mean score gets a column of its own, and the names of the columns.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Keeps or drops documents, paragraphs or sentences by the labels of a fastText classifier.
---
---datatrove 0.10's FastTextClassifierFilter (filters/fasttext_filter.py). A part is kept when one of `keep_labels` reaches its score, or none of `remove_labels`; without either, documents are only labelled. A document of which nothing but white space is kept is dropped, here with the reason `fasttext`. Paragraphs are lines: the peer's joining makes every line break \n and drops the one at the end. The peer's members __label__xx are one JSON object here; `columns` gives some of them columns.
---
---The model is an asset of the user's, loaded once and shared by all workers. Scores are libfasttext's, in single precision: their last digits may depend on the processor.
---```lua
---docs | s.fasttext_filter { "quality.bin", keep_labels = { hq = 0.018112 } }
---```
---@param options sluice.options.fasttext_filter|string
---@return sluice.Stage
function s.fasttext_filter(options) end

---@class sluice.options.fineweb_quality
---@field over? string Column that holds the text. Default: text.
---@field words? "whitespace"|"uax29"|"spacy-en" Rule that cuts the text into words. Default: spacy-en.
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
---@field words? "whitespace"|"uax29"|"spacy-en" Rule that cuts the text into words. Default: spacy-en.
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
---@field words? "whitespace"|"uax29"|"spacy-en" Rule that cuts the text into words. Default: spacy-en.
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

---@class sluice.options.holdout
---@field [1] number|string? The same as share.
---@field share? number|string Share of the documents that is held out. May be given without its name. Within [0, 1]. Default: 0.01.
---@field take? "train"|"holdout" Which side stays: train or holdout. Default: train.
---@field by? string Column whose value decides: documents of one value (a cluster of near-duplicates, a site) are on one side. A row without one is set aside. Default: id.
---@field source? string Column that names a document's source, for `shares`.
---@field shares? table<string, string|number|boolean> Shares by source; sources that are not named have `share`.
---@field seed? integer Another seed holds other documents out. Within [0, 1000000000000000]. Default: 0.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Splits documents into training part and holdout by a hash of the id.
---
---A document is held out when a number in [0, 1), made of `by` and the seed alone (XXH3), is below `share`. Documents that are added later move none from one side to the other, a larger share only adds to the holdout, and `train` and `holdout` of the same options are each other's complement. To keep near-duplicates of a document on its side, give a column that they share as `by` (a group whose documents are of sources with different `shares` may still be on both sides). What is drawn here tells nothing of what `mix`, `shuffle` and `sampler` do with the same seed. A fixed number of documents of each source is `holdout_n`.
---```lua
---docs | s.holdout { 0.001 }
---```
---@param options? sluice.options.holdout|number|string
---@return sluice.Stage
function s.holdout(options) end

---@class sluice.options.keep_columns
---@field [1] string[]|string? The same as columns.
---@field columns? string[]|string Columns that go on; all others end here. May be given without its name.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Rows with some of their columns.
---
---The columns keep their order, types and metadata. What is not named here is not read, where the reader can leave it out.
---```lua
---docs | s.keep_columns { "id", "text" }
---```
---@param options sluice.options.keep_columns|string[]|string
---@return sluice.Stage
function s.keep_columns(options) end

---@class sluice.options.language
---@field [1] string? The same as model.
---@field model? string fastText model of languages: lid.176.bin or lid.176.ftz (fasttext.cc, CC-BY-SA 3.0), or GlotLID's. May be given without its name.
---@field over? string Column that holds the text. Default: text.
---@field languages? string[]|string Languages to keep, as the model calls them; none given: all.
---@field threshold? number|string The score that one of the languages (of none given: the best language) must be above. Within [-1, 2]. Default: 0.65.
---@field backend? "ft176"|"glotlid" What labels look like: `ft176` en, `glotlid` eng_Latn, which gives two columns. Default: ft176.
---@field label_only? boolean Only add columns, drop nothing. Default: false.
---@field top_pairs? number|string Also give all languages whose score is above this, as one JSON object; -1: don't. Within [-1, 1]. Default: -1.
---@field label? string Column for the best language; "" where the model gives none. Default: language.
---@field score? string Column for its score. Default: language_score.
---@field script? string Column for its script (backend glotlid). Default: language_script.
---@field pairs? string Column for the object of top_pairs. Default: top_languages.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Labels documents with their language (fastText), and drops those of other languages.
---
---datatrove 0.10's LanguageFilter (filters/language_filter.py): the text with \n as spaces goes to the model as one line. With `languages`, a document stays when one of them has a score above the threshold, whether or not it is the best one; the column `language` always names the best. The peer drops without a reason; here it is `language`. It fails on a text of which the model knows no word; here that has the language "". Its top_language_xx_score members are one JSON object here.
---
---The model is an asset of the user's and is fetched by nobody; it is loaded once and shared by all workers. Scores are libfasttext's, in single precision: their last digits may depend on the processor.
---```lua
---docs | s.language { "lid.176.ftz", languages = { "en" } }
---```
---@param options sluice.options.language|string
---@return sluice.Stage
function s.language(options) end

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
---@field loss_mask? string Column of the loss mask, a byte a token, which is kept through where there is one; "" leaves it out. Default: loss_mask.
---@field cu_seqlens? boolean Add the column cu_seqlens: where each piece of a row begins, and the row's length at the end; padding is a piece of its own. Default: false.
---@field position_ids? boolean Add the column position_ids: each token's place in its piece, from 0, also in padding. Default: false.
---@field document_ids? boolean Add the column document_ids: the number of each token's piece in its row, from 0; -1 for padding. Default: false.
---@field carry? boolean Pack what is left of all splits together: pieces of rows that a split leaves with more than a 1024th of padding. false: each split pads its own last rows, and no row waits for another split. Default: false.
---@field window? integer Tokens that best_fit holds and packs at once; what it leaves incomplete goes on into the next window. 0: all of a split, and 8388608 where `carry` packs what is left. Within [0, 1000000000000]. Default: 0.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Documents of tokens into rows of a fixed length, by best fit or concatenation.
---
---best_fit is that of Ding et al., ICML 2024 (arXiv:2404.10830), within a split, and with `carry` over what all splits leave: only documents longer than a row are cut. Output: `tokens`, `segments` (tokens of each piece of the row), `padding` (tokens at the row's end that are filling), and what trainers take beside them: `loss_mask` (kept through where the documents have one, 0 in padding), `cu_seqlens`, `position_ids` and `document_ids` on request. No token is lost: the ledger holds tokens in and out equal. Documents without tokens are in no row. `sluice trace` tells which tokens of which documents are in a row.
---```lua
---docs | s.tokenize { "o200k_base.tiktoken", eos = "default" } | s.pack { sequence_length = 4096 }
---```
---@param options? sluice.options.pack|integer
---@return sluice.Stage
function s.pack(options) end

---@class sluice.options.pii
---@field over? string Column that holds the text, replaced. Default: text.
---@field remove_emails? boolean Replace e-mail addresses. Default: true.
---@field remove_ips? boolean Replace IPv4 addresses. Default: true.
---@field only_public? boolean Replace IPv4 addresses of the public internet only. Default: true.
---@field email_replacement? string[]|string What e-mail addresses become; of several, one is chosen for each address. Default: email@example.com,firstname.lastname@example.org.
---@field ip_replacement? string[]|string What IPv4 addresses become; of several, one is chosen for each address. The peer's answered no ping when it was written. Default: 22.214.171.124,126.96.36.199,188.8.131.52,184.108.40.206,220.127.116.11,18.104.22.168.
---@field ranges? "old"|"new" Which addresses are not public: those of Python before 3.11.10 and 3.12.4 (`old`) or since (`new`: also 192.0.0.0/24 but for .9 and .10). Default: old.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Replaces e-mail addresses and public IPv4 addresses.
---
---Finds what datatrove 0.10's PIIFormatter (formatters/pii.py) finds, and replaces it with one of the peer's words, chosen by a hash of the address (XXH3): the same address becomes the same word everywhere, whatever the order and the splits. The peer takes its words in turn, over all documents of a task: that is `pii_peer`. IP addresses are searched after e-mail addresses were replaced; digits around one (a version number of five parts) do not protect it, and 01.2.3.4 is none.
---```lua
---docs | s.pii { email_replacement = { "<email>" } }
---```
---@param options? sluice.options.pii
---@return sluice.Stage
function s.pii(options) end

---@class sluice.options.pii_peer
---@field over? string Column that holds the text, replaced. Default: text.
---@field remove_emails? boolean Replace e-mail addresses. Default: true.
---@field remove_ips? boolean Replace IPv4 addresses. Default: true.
---@field only_public? boolean Replace IPv4 addresses of the public internet only. Default: true.
---@field email_replacement? string[]|string What e-mail addresses become; of several, one is chosen for each address. Default: email@example.com,firstname.lastname@example.org.
---@field ip_replacement? string[]|string What IPv4 addresses become; of several, one is chosen for each address. The peer's answered no ping when it was written. Default: 22.214.171.124,126.96.36.199,188.8.131.52,184.108.40.206,220.127.116.11,18.104.22.168.
---@field ranges? "old"|"new" Which addresses are not public: those of Python before 3.11.10 and 3.12.4 (`old`) or since (`new`: also 192.0.0.0/24 but for .9 and .10). Default: old.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Replaces e-mail addresses and public IPv4 addresses, taking its words in turn as datatrove's PIIFormatter.
---
---As `pii`, but the words are taken in turn over the documents of an input split, so that what an address becomes depends on the order and the cut of the input. Use `pii` unless you repeat a run of the peer.
---```lua
---docs | s.pii_peer {}
---```
---@param options? sluice.options.pii_peer
---@return sluice.Stage
function s.pii_peer(options) end

---@class sluice.options.read_arrow
---@field text? string Column that holds the text; it becomes the column `text`. Default: text.
---@field id? string Column that names the document (text or whole numbers); absent ids are made of the file and the row's place in it. Default: id.
---@field columns? table<string, string|number|boolean> Further columns: name to utf8, int64, float64, bool, json (of nested ones), or the type that it has; all where none is named.
---@field missing? "refuse"|"null"|"allow" What becomes of a file without a column that is wanted: it is refused, or nulls are made; an input in which no file has the column is refused, but for `allow`. Default: refuse.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Arrow IPC files and streams, Feather.
---
---Columns and types as s.read_parquet has them; dictionaries, runs, views and types with offsets of 64 bits become ordinary ones. A file is read by record batches on all cores, a stream from its begin to its end by one. A row with text that is not UTF-8 is quarantined (invalid_utf8); a damaged file ends the run, with file, record batch and column. Feather version 1 is refused.
---```lua
---s.files "corpus/*.arrow" | s.read_arrow()
---```
---@param options? sluice.options.read_arrow
---@return sluice.Stage
function s.read_arrow(options) end

---@class sluice.options.read_csv
---@field text? string Column that holds the text; it becomes the column `text`. Default: text.
---@field id? string Column that names the document; absent and empty ids are made of file and byte. Default: id.
---@field columns? table<string, string|number|boolean> Further columns: name to utf8, int64, float64 or bool; all where none is named.
---@field missing? "refuse"|"null"|"allow" What becomes of a file without a column that is wanted: it is refused, or nulls are made; an input in which no file has the column is refused, but for `allow`. Default: refuse.
---@field header? boolean The first record names the columns. Default: true.
---@field names? string[]|string Names of the columns of files without a header; column1, column2, … by default.
---@field delimiter? string One ASCII character between fields; `auto`: a tab in files whose names end in .tsv or .tab (and .gz, .zst), else a comma. Default: auto.
---@field quote? string One ASCII character around fields that hold others; empty: there is none. Default: ".
---@field null? string[]|string What a field without quotes holds that is null; nothing by default. Default: "".
---@field mode? "strict"|"tolerant" Quarantine rows that break RFC 4180, or make of them what can be made. Default: strict.
---@field sample? integer By how many rows of the first file the types of columns that are not declared are found out. Within [1, 1000000000]. Default: 1000.
---@field max_record? integer|string Most bytes of a record. Within [1, 1GiB]. Default: 16MiB.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---CSV and TSV files, plain or compressed.
---
---Columns: `text`, `id`, and the declared ones, or all that the first file has; their types are declared, or found out by its first rows, and hold for all rows of all files: a value of another type quarantines its row (wrong_type). Fields may hold line ends within quotes. Numbers that begin with 0 or +, and whole ones beyond int64, are taken for text; a field without quotes that is one of `null` is null. Rows are quarantined with the byte at which they begin: wrong_fields (too few or many), invalid_utf8, and in the strict mode what breaks RFC 4180: bad_quote, bare_cr, nul_byte. The tolerant mode takes those as Python's csv does, fills up short rows with nulls, overlooks empty fields behind the last column and blank lines, and quarantines the first line of a record that has no end (unclosed_quote, record_too_long), which ends a strict run. A file that is not compressed is read on all cores; it is looked through once before, for the ends of its records. Codecs are told by content: gzip, zstd.
---```lua
---s.files "reviews/*.csv" | s.read_csv { text = "review", columns = { stars = "int64" } }
---```
---@param options? sluice.options.read_csv
---@return sluice.Stage
function s.read_csv(options) end

---@class sluice.options.read_json
---@field text? string Member that holds the text; it becomes the column `text`. Default: text.
---@field id? string Member that names the document (a string or integer); absent ids are made of file and offset. Default: id.
---@field columns? table<string, string|number|boolean> Further members as typed columns: name to utf8, int64, float64, bool or json.
---@field missing? "null"|"quarantine"|"allow" What a record without the text or a declared column is: a null there, or quarantined. An input of which no record has the column is refused, but for `allow`, a null. Default: null.
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
---@field missing? "null"|"quarantine"|"allow" What a record without the text or a declared column is: a null there, or quarantined. An input of which no record has the column is refused, but for `allow`, a null. Default: null.
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

---@class sluice.options.read_parquet
---@field text? string Column that holds the text; it becomes the column `text`. Default: text.
---@field id? string Column that names the document (text or whole numbers); absent ids are made of the file and the row's place in it. Default: id.
---@field columns? table<string, string|number|boolean> Further columns: name to utf8, int64, float64, bool, json (of nested ones), or the type that it has; all where none is named.
---@field missing? "refuse"|"null"|"allow" What becomes of a file without a column that is wanted: it is refused, or nulls are made; an input in which no file has the column is refused, but for `allow`. Default: refuse.
---@field where? string Rows for which this does not hold are not given, and not read where that can be known: lang == 'en' and n_words > 50. With = == != < <= > >=, in (…), is null, like 'a%', and, or, not, ( ); paths a.b, a[0].b; texts in either quotes. What is compared with null does not hold.
---@field partitions? boolean Folders of the path that are named NAME=VALUE are columns (of the names that the report has, without the fixed part of the pattern). Default: true.
---@field statistics? "trust"|"check"|"ignore" Of row groups that their statistics rule out: trust leaves them out, check reads them, and ends the run where rows say otherwise, ignore reads them. Default: trust.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Parquet files, by row groups.
---
---Columns: `text`, `id`, and the declared ones, or all that the first file has. Only the bytes of columns that somebody uses are read; a row group is the least that one worker reads. Columns get the type of Parquet's that Sluice has: numbers, bool, utf8, binary, fixed, list, struct; maps become lists of key and value, float16 becomes float32, and dates, times, timestamps and decimals text (2024-02-29T23:59:59.5Z), or int64 where it is declared: the number in the file. Columns whose names begin with _ are left out. A row with text that is not UTF-8 is quarantined (invalid_utf8), as is a number above int64 where that is declared (out_of_range); a damaged file ends the run, with file, row group and column. Rows that `where` leaves out are counted as skipped: row groups by `partition` (folders), `min_max` (statistics) and `bloom` (filters for = and in) without reading them, rows by `where`; columns that it alone names are read and not given, and of a row group in which no row holds no others are read.
---```lua
---s.files "fineweb/*.parquet" | s.read_parquet { columns = { language_score = "float64" }, where = "language_score > 0.9 and dump = 'CC-MAIN-2024-10'" }
---```
---@param options? sluice.options.read_parquet
---@return sluice.Stage
function s.read_parquet(options) end

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

---@class sluice.options.regex
---@field [1] string? The same as regex.
---@field regex? string Regular expression in PCRE2's syntax; \w, \d, \s and \b are Unicode's, (?i) at the beginning ignores case. May be given without its name.
---@field over? string Column that is searched. Default: text.
---@field keep? boolean Keep only documents that match (false, as the peer: drop them). Default: false.
---@field match_limit? integer Steps of backtracking after which a document can't be judged and is set aside; a step is PCRE2's, counted differently with and without jit. Within [1, 4294967295]. Default: 10000000.
---@field jit? boolean Use the just-in-time compiler; an error where the machine has none, since the limit would mean something else. Default: true.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops documents in which a regular expression matches, or keeps only those.
---
---datatrove's RegexFilter (filters/regex_filter.py) with PCRE2 instead of Python's re: the same for what both languages have; \s leaves out U+001C to U+001F here and has U+180E, possessive and recursive patterns are there as well. The peer drops without a reason; here it is `regex`. A text on which the expression needs more than `match_limit` steps is set aside, never passed.
---```lua
---docs | s.regex { "(?i)all rights reserved" }
---```
---@param options sluice.options.regex|string
---@return sluice.Stage
function s.regex(options) end

---@class sluice.options.rename_columns
---@field [1] table<string, string|number|boolean>? The same as names.
---@field names? table<string, string|number|boolean> The new name of each column that gets one: { response = "text" }. May be given without its name.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Rows with other names for some of their columns.
---
---Names may be exchanged: { { a = "b", b = "a" } }. Two columns of one name are an error. Derived columns (words, sentences) are made anew where a stage wants them.
---```lua
---docs | s.rename_columns { { response = "answer" } }
---```
---@param options sluice.options.rename_columns|table<string, string|number|boolean>
---@return sluice.Stage
function s.rename_columns(options) end

---@class sluice.options.sampler
---@field [1] number|string? The same as rate.
---@field rate? number|string Share of the documents to keep. May be given without its name. Within [0, 1]. Default: 0.5.
---@field seed? integer Another seed keeps other documents. Within [0, 1000000000000000]. Default: 0.
---@field by? string Column whose value decides: rows of the same value share a fate. A row without one can't be judged and is set aside. Default: id.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Keeps a random share of the documents, chosen by a hash of the id.
---
---A document is kept when a number in [0, 1), made of its id and the seed alone (XXH3), is below `rate`: order, splits and workers change nothing, and a larger rate keeps what a smaller one kept. datatrove's SamplerFilter, which draws in the order of rows, is `sampler_peer`.
---```lua
---docs | s.sampler { 0.1, seed = 7 }
---```
---@param options? sluice.options.sampler|number|string
---@return sluice.Stage
function s.sampler(options) end

---@class sluice.options.sampler_peer
---@field [1] number|string? The same as rate.
---@field rate? number|string Share of the documents to keep. May be given without its name. Within [0, 1]. Default: 0.5.
---@field seed? integer Another seed keeps other documents. Within [0, 1000000000000000]. Default: 0.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Keeps the documents that datatrove's SamplerFilter keeps.
---
---datatrove 0.10 (filters/sampler_filter.py): one number of numpy's default_rng(seed) a document in the order of rows, so that what is kept depends on how the input is split into tasks (here: input splits). The peer's seed is random unless given; here it is 0. Use `sampler` unless you repeat a run of the peer.
---```lua
---docs | s.sampler_peer { rate = 0.5, seed = 42 }
---```
---@param options? sluice.options.sampler_peer|number|string
---@return sluice.Stage
function s.sampler_peer(options) end

---@class sluice.options.sentences
---@field rule? "spacy-en"|"marks"|"lines"|"uax29" How a text is cut into sentences. Default: spacy-en.
---@field over? string Column that holds the text. Default: text.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Sentence spans of a text, shared by the stages behind (a provider: inserted where needed).
---
---`spacy-en` is the rule sentencizer of spaCy 3.8 over the tokens of its blank English pipeline: a sentence ends before the first token behind a mark (. ! ? and the like) that is no mark and not punctuation alone; the spans are those of datatrove's `span_tokenize` and may begin or end with white space. `marks` ends a sentence at a run of marks before white space, or at a CJK full stop. `lines` gives the lines that are not white space alone. `uax29` gives the sentences of Unicode (UAX #29), without white space around them.
---```lua
---docs | s.sentences {}
---```
---@param options? sluice.options.sentences
---@return sluice.Stage
function s.sentences(options) end

---@class sluice.options.symbol_lines
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field symbols? string[]|string Characters that count as symbols beside the space, one an item; none given: the peer's punctuation (also control characters and sentence ends of all scripts).
---@field replacement? string A line that stands for each run of removed lines; none if empty. Default: "".
---@field keep_breaks? boolean Kept lines keep their own line break. The peer (false) joins them with \n and so loses other line breaks and the one at the end of the text. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Removes lines that consist of symbols only.
---
---datatrove 0.10's SymbolLinesFormatter (formatters/symbol_lines_remover.py). Lines of white space only stay. A tab is no space to the peer: a line with one is kept unless tabs are among the symbols.
---```lua
---docs | s.symbol_lines { replacement = "..." }
---```
---@param options? sluice.options.symbol_lines
---@return sluice.Stage
function s.symbol_lines(options) end

---@class sluice.options.tokenize
---@field [1] string? The same as tokenizer.
---@field tokenizer? string Vocabulary: a .tiktoken file, a tokenizer.json or a SentencePiece .model. The post_processor of a tokenizer.json adds nothing: `bos` and `eos` do. May be given without its name.
---@field over? string Column that holds the text. Default: text.
---@field pattern? string Regular expression that cuts the text for a .tiktoken file whose vocabulary is not known.
---@field eos? string Token behind each document: "none", "default" (the vocabulary's own; also "true"), or a special token's text. Default: none.
---@field bos? string Token before each document: "none", "default" (the vocabulary's own; also "true"), or a special token's text. Default: none.
---@field specials? "ordinary"|"allow"|"refuse" What the text of a special token inside a document is: ordinary text, that token, or a reason for quarantine. Default: ordinary.
---@field loss_spans? string Column that says which parts of the text are trained on; adds the column `loss_mask` (list<uint8>, 1 = trained). JSON [[begin, end], ...] or a value for each character, list<uint32> of begin, end, begin, end, ..., or list<uint8> with a value for each character; a null trains all of the text.
---@field loss_unit? "characters"|"bytes" What positions in `loss_spans` count: Unicode code points, as Python does, or bytes of UTF-8. Default: characters.
---@field loss_rule? "first"|"any"|"all" A token is trained when its first byte is, when any byte is, or when all bytes are. bos never is; eos is where the text's end is. Default: first.
---@field offsets? boolean Add the column `offsets` (list<uint32>): the byte of the text where each token begins; a token ends where the next one begins. Default: false.
---@field head? string Trained head of the vocabulary, which `sluice tokenize --train-head` writes of a sample: what its frequent pieces become, shared by all workers. The tokens are the same with and without, and come faster; a head of another vocabulary or a damaged one is refused.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Token ids of a text, equal to tiktoken's, Hugging Face tokenizers' and SentencePiece's.
---
---Adds `tokens` (list<uint32>). An empty or null text has no tokens, not even `bos` and `eos`, as in Megatron's preprocess_data. Stages behind it read vocab_size, tokenizer (XXH3-128 of the file), eos and bos from the column's metadata. With `loss_spans` a token's loss mask follows the text it stands for; it stays with its tokens through `pack`, and formats without a place for it refuse it. Offsets need a text that the vocabulary does not normalise: a text that it would change is quarantined.
---```lua
---docs | s.tokenize { "o200k_base.tiktoken", eos = "default" }
---```
---@param options sluice.options.tokenize|string
---@return sluice.Stage
function s.tokenize(options) end

---@class sluice.options.unigram_log_prob
---@field [1] string? The same as frequencies.
---@field over? string Column that holds the text. Default: text.
---@field words? "whitespace"|"uax29"|"spacy-en" Rule that cuts the text into words. Default: spacy-en.
---@field frequencies? string CSV file with the columns word and count. May be given without its name.
---@field threshold? number|string The mean log-probability that must be above this. Within [-1000000000, 1000000000]. Default: -10.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops documents whose words are rare on average.
---
---datatrove 0.10's UnigramLogProbFilter (filters/unigram_log_probs.py), an idea of peS2o: the mean over all words of the logarithm of their share of a large corpus, 1e-9 for words that are not in it. A document without words has 0. The peer drops without a reason; here it is `unigram_log_prob`.
---
---The table is an asset of the user's; the peer fetches unigram_freq.csv (Google Web Trillion Word Corpus by Norvig, as on kaggle.com/datasets/rtatman/english-word-frequency), nothing is fetched here.
---```lua
---docs | s.unigram_log_prob { "unigram_freq.csv", threshold = -10 }
---```
---@param options sluice.options.unigram_log_prob|string
---@return sluice.Stage
function s.unigram_log_prob(options) end

---@class sluice.options.url_filter
---@field over? string Column that holds the URL. Default: url.
---@field domains? string File of domains, one a line: a document is dropped when its registered domain or its whole host is one.
---@field urls? string File of URLs, one a line, compared byte by byte.
---@field banned_words? string File of words of which none may stand in the URL.
---@field soft_banned_words? string File of words of which soft_word_threshold may not stand in the URL.
---@field banned_subwords? string File of strings that may be no part of the URL's letters and digits, taken together.
---@field extra_domains? string[]|string Domains beside those of the file.
---@field extra_urls? string[]|string URLs beside those of the file.
---@field extra_words? string[]|string Words beside those of banned_words.
---@field extra_soft_words? string[]|string Words beside those of soft_banned_words.
---@field extra_subwords? string[]|string Strings beside those of banned_subwords.
---@field soft_word_threshold? integer So many different soft words drop a document. Within [0, 1000000000]. Default: 2.
---@field suffixes? string Public suffix list (publicsuffix.org), which tells the registered domain. Default: /usr/share/publicsuffix/public_suffix_list.dat.
---@field private_suffixes? boolean Private suffixes (github.io) count as well: a.github.io is registered then. Default: false.
---@field lower_host? boolean Compare the host in lower case (the peer does not). Default: false.
---@field lower_words? boolean Compare the URL's words in lower case (the peer does not). Default: false.
---@field skip_empty? boolean Empty lines of lists mean nothing; to the peer (false) they are the empty entry, which hosts without a registered domain and URLs that end in / have. Default: false.
---@field missing? "bad"|"drop"|"keep" What becomes of a document without a URL: set aside as bad (the peer's task dies), dropped, or kept. Default: bad.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Drops documents whose URL is on a list of domains, URLs or words.
---
---datatrove 0.10's URLFilter (filters/url_filter.py) with tldextract's reading of hosts. Tests run in the order of the reasons; the first that fails decides.
---
---Lists are files of the user's own, one entry a line, # at the beginning of a line makes a comment; gzip and zstd are undone. The peer ships its lists (banned words of RefinedWeb's kind, domains and URLs of the UT1 blacklists of the university of Toulouse, CC-BY-SA 4.0, in datatrove/assets of its package); nothing is fetched here. Words are normalised: letters and digits only, in lower case; those of the URL are not lower-cased, so `Sex` passes where `sex` does not (`lower_words`), nor is the host (`lower_host`). An empty line is the empty entry (`skip_empty`). A document without a URL ends the peer's task (`missing`).
---```lua
---docs | s.url_filter { extra_domains = { "example.com" } }
---```
---@param options? sluice.options.url_filter
---@return sluice.Stage
function s.url_filter(options) end

---@class sluice.options.url_parts
---@field over? string Column that holds the URL. Default: url.
---@field fqdn? string Column of the whole name (www.example.co.uk). Default: fqdn.
---@field domain? string Column of the registered domain (example.co.uk). Default: registered_domain.
---@field suffix? string Column of the public suffix (co.uk). Default: suffix.
---@field suffixes? string Public suffix list (publicsuffix.org), which tells the registered domain. Default: /usr/share/publicsuffix/public_suffix_list.dat.
---@field private_suffixes? boolean Private suffixes (github.io) count as well: a.github.io is registered then. Default: false.
---@field lower? boolean Names in lower case (the peer keeps the URL's letters). Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Host, registered domain and public suffix of a URL as columns.
---
---What tldextract 5 makes of a URL, in a lenient reading (no scheme is needed): `fqdn` and `suffix` are the groups of datatrove's statistics (pipeline/stats). The whole name and the registered domain are empty for an address and for a bare suffix; all three are null without a URL. The letters stay as they are (`lower`).
---```lua
---docs | s.url_parts {} | s.statistics { groups = { "summary", "fqdn", "suffix" } }
---```
---@param options? sluice.options.url_parts
---@return sluice.Stage
function s.url_parts(options) end

---@class sluice.options.web_lines
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field peer? "dclm"|"datamap" Whose definitions: dclm (characters, doubles) or datamap (datamap-rs, Olmo 3: bytes, single precision). Default: dclm.
---@field max_uppercase? number|string Lines with a larger share of upper-case letters are dropped; -1 disables. Within [-1, 1000000]. Default: 0.5.
---@field max_numeric? number|string Lines with a larger share of digits are dropped; -1 disables. Within [-1, 1000000]. Default: 0.999999.
---@field counters? boolean Drop lines that are a counter ("3 likes", "1.2K followers"). Default: true.
---@field min_line_words? integer Lines with fewer words are dropped; -1 or 0 disables. Within [-1, 1000000000000000]. Default: 2.
---@field cut? string[]|string Phrases that are cut out of lines; . stands for any character. Default: items in cart.
---@field cut_suffix? string[]|string Phrases that are cut off the end of lines. Default: Read more....
---@field cut_prefix? string[]|string Phrases that are cut off the beginning of lines. Default: Sign-in.
---@field cut_max_words? integer Most words of a line that phrases are cut from; -1: no limit, as Olmo 3 was made. Within [-1, 1000000000000000]. Default: 10.
---@field max_removed? number|string Documents that lost a larger share of their words are dropped; -1 disables. Within [-1, 1000000]. Default: 0.05.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---RefinedWeb's line rules as DCLM and Olmo 3 run them: drops shouting, numeric, counter and short lines, cuts phrases, and drops what lost too many words.
---
---Penedo et al. 2023 (arXiv:2306.01116, appendix G.2), with the definitions of DCLM (baselines/mappers/modifiers.py) or of datamap-rs (src/map_fxn.rs). The steps run in the order of the options, then the words are counted and compared with those before.
---
---`peer = "dclm"`: the text is stripped after each step, shares are of characters, words of a line stand between white space, case is ignored in phrases. `peer = "datamap"`: shares are of bytes and of single precision, digits are 0 to 9, words are Unicode words, phrases are case-sensitive and leave a space in the middle of a line, and with a phrase to cut \r\n becomes \n and a newline at the end is lost. Each cut also drops lines of white space.
---
---Two errors of the published configurations: Olmo 3's gives the line limit of the cuts under a name that the program doesn't read, so its cuts have none (`cut_max_words = -1` does the same; the default is what was meant, and what DCLM did); and its own counter pattern under another, so the built-in one ran, which is the one here. In the peers "Read more..." is a regular expression: it cuts "Read more" and any three characters.
---```lua
---docs | s.web_lines { max_removed = 0.1 }
---```
---@param options? sluice.options.web_lines
---@return sluice.Stage
function s.web_lines(options) end

---@class sluice.options.web_madlad
---@field over? string Column that holds the text. Default: text.
---@field rules? string[]|string Which rules make a sentence suspicious: 2 (list case), 3 (length), 4 (technical characters), 5 (cursed strings). Olmo 3 used 2 and 5. Default: 2.
---@field min_sentences? integer Fewest sentences. Within [-1, 1000000000000000]. Default: 5.
---@field max_suspicious? number|string Share of suspicious sentences at which a document is dropped. Within [-1, 1000000]. Default: 0.2.
---@field max_case? number|string Rule 2: largest share of words that begin with a capital letter. Within [-1, 1000000]. Default: 0.5.
---@field min_case_words? integer Rule 2: fewest words of a sentence that is looked at. Within [-1, 1000000000000000]. Default: 12.
---@field min_sentence_bytes? integer Rule 3: fewest bytes of a sentence. Within [-1, 1000000000000000]. Default: 20.
---@field max_sentence_bytes? integer Rule 3: most bytes of a sentence. Within [-1, 1000000000000000]. Default: 500.
---@field max_technical? number|string Rule 4: most of 0-9 { } + / ( ) > per byte. Within [-1, 1000000]. Default: 0.2.
---@field cursed? string Rule 5: the list, one string a line (banlists/madlad400_cursed.txt.gz of datamap-rs).
---@field cursed_regexes? integer Rule 5: how many of the list's last lines are regular expressions. Within [0, 1000000]. Default: 4.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---MADLAD-400's rules on sentences, as Olmo 3 ran them: too few sentences, too many suspicious ones.
---
---Kudugunta et al. 2023 (arXiv:2309.04662, section 2.3), with the definitions of datamap-rs (madlad400_sentence_annotator and madlad400_rule_filter): sentences stand between runs of . ! ? with white space behind; a document is dropped when the share of its sentences that some rule finds reaches the limit (at the limit, too). Olmo 3 used rules 2 and 5: `rules = { "2", "5" }, cursed = "madlad400_cursed.txt"`. The list's last four lines are regular expressions (PCRE2 here, Rust's regex there).
---```lua
---docs | s.web_madlad { rules = { "2", "3" } }
---```
---@param options? sluice.options.web_madlad
---@return sluice.Stage
function s.web_madlad(options) end

---@class sluice.options.web_newlines
---@field over? string Column that holds the text, replaced by the new one. Default: text.
---@field max_newlines? integer Most newlines in a row; more become so many. Within [0, 1000000000]. Default: 2.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Shortens runs of newlines.
---
---newline_removal_modifier of DCLM and of datamap-rs, which are equal.
---```lua
---docs | s.web_newlines { max_newlines = 2 }
---```
---@param options? sluice.options.web_newlines
---@return sluice.Stage
function s.web_newlines(options) end

---@class sluice.options.web_quality
---@field over? string Column that holds the text. Default: text.
---@field peer? "dclm"|"datamap" Whose definitions: dclm (characters, doubles) or datamap (datamap-rs, Olmo 3: bytes, single precision). Default: dclm.
---@field min_chars? integer Fewest characters; -1 or 0 disables. DCLM has no such rule, Olmo 3 has 150. Within [-1, 1000000000000000]. Default: 0.
---@field min_words? integer Fewest words without punctuation; -1 disables. Within [-1, 1000000000000000]. Default: 50.
---@field max_words? integer Most words without punctuation; -1 disables. Within [-1, 1000000000000000]. Default: 100000.
---@field min_word_length? number|string Smallest mean length of the words between white space; -1 disables. Within [-1, 1000000]. Default: 3.
---@field max_word_length? number|string Largest mean length of the words between white space; -1 disables. Within [-1, 1000000]. Default: 10.
---@field max_symbol_ratio? number|string Most symbols (# ... . . . …) per word; -1 disables. Within [-1, 1000000]. Default: 0.1.
---@field max_bullet_ratio? number|string Largest share of lines that begin with a bullet; -1 disables. Within [-1, 1000000]. Default: 0.9.
---@field max_ellipsis_ratio? number|string Largest share of lines that end in an ellipsis; -1 disables. Within [-1, 1000000]. Default: 0.3.
---@field max_non_alpha_ratio? number|string Largest share of words without a letter; -1 disables. Within [-1, 1000000]. Default: 0.2.
---@field min_stop_words? integer Fewest of the words the, be, to, of, and, that, have, with; -1 or 0 disables. Within [-1, 1000000000000000]. Default: 2.
---@field unique_stop_words? boolean Whether a stop word counts once only. Default: false.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---RefinedWeb's document rules as DCLM and Olmo 3 run them: lengths, symbols, bullets, ellipses, letters, stop words.
---
---Penedo et al. 2023 (arXiv:2306.01116), with the definitions of DCLM (baselines/mappers/filters/content_filters.py) or of datamap-rs (src/map_fxn.rs), which filtered Olmo 3's web pages. Tests run in the order of the reasons.
---
---`peer = "dclm"`: lengths are characters, words without punctuation are fastText's tokens that begin with a letter or digit, lines are stripped and empty ones left out, counts of bullets and ellipses are compared with limit x lines.
---
---`peer = "datamap"`: ratios are of single precision, word lengths are bytes, words without punctuation are runs of letters and digits in an ASCII text ("don't" has two) and Unicode words in any other, bullets are seen at column 0 of all lines (empty ones count), ellipses at the end of lines that are not empty, a document of one word fails the test of letters, ". . ." counts as one word in the symbol ratio. Where the peer stops with a panic (a missing text) the text is empty here.
---```lua
---docs | s.web_quality {}
---```
---@param options? sluice.options.web_quality
---@return sluice.Stage
function s.web_quality(options) end

---@class sluice.options.web_repetition
---@field over? string Column that holds the text. Default: text.
---@field peer? "dclm"|"datamap" Whose definitions: dclm (characters, doubles) or datamap (datamap-rs, Olmo 3: bytes, single precision). Default: dclm.
---@field line? number|string Largest share of lines that occur more than once; -1 disables. Within [-1, 1000000]. Default: 0.3.
---@field paragraph? number|string Largest share of paragraphs that occur more than once; -1 disables. Within [-1, 1000000]. Default: 0.3.
---@field line_chars? number|string Largest share of the text of lines in such lines; -1 disables. Within [-1, 1000000]. Default: 0.2.
---@field paragraph_chars? number|string Largest share of the text of paragraphs in such paragraphs; -1 disables. Within [-1, 1000000]. Default: 0.2.
---@field top_2_gram? number|string Largest share of the words' text in the most frequent 2-gram; -1 disables. Within [-1, 1000000]. Default: 0.2.
---@field top_3_gram? number|string The same of 3-grams. Within [-1, 1000000]. Default: 0.18.
---@field top_4_gram? number|string The same of 4-grams. Within [-1, 1000000]. Default: 0.16.
---@field dup_5_gram? number|string Largest share of the words' text in 5-grams that occur more than once; -1 disables. Within [-1, 1000000]. Default: 0.15.
---@field dup_6_gram? number|string The same of 6-grams. Within [-1, 1000000]. Default: 0.14.
---@field dup_7_gram? number|string The same of 7-grams. Within [-1, 1000000]. Default: 0.13.
---@field dup_8_gram? number|string The same of 8-grams. Within [-1, 1000000]. Default: 0.12.
---@field dup_9_gram? number|string The same of 9-grams. Within [-1, 1000000]. Default: 0.11.
---@field dup_10_gram? number|string The same of 10-grams. Within [-1, 1000000]. Default: 0.10.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Gopher's repetition rules as DCLM and Olmo 3 run them: all copies of a line, paragraph or n-gram count.
---
---Rae et al. 2021 (arXiv:2112.11446), with the definitions of DCLM (massive_web_repetition_filters) or of datamap-rs (massive_web_repetition_filter). Tests run in the order of the reasons. Unlike `gopher_repetition` (datatrove), all copies of a repeated line count, shares are of the lines' and words' own text, words are those of UAX #29 without punctuation, and n-grams of 5 and more count every word once.
---
---`peer = "dclm"`: lines are stripped; the most frequent 2-, 3- or 4-gram counts its length (the longest of equally frequent ones) as often as it occurs. `peer = "datamap"`: lengths are bytes, lines are not stripped, ratios are of single precision, and the words that the most frequent n-gram covers count once; of equally frequent and equally long n-grams the first seen is taken (the peer takes the last in the order of its hash table, which matters only when copies overlap). Paragraphs that a text extractor does not mark are left out with `paragraph = -1, paragraph_chars = -1`.
---```lua
---docs | s.web_repetition {}
---```
---@param options? sluice.options.web_repetition
---@return sluice.Stage
function s.web_repetition(options) end

---@class sluice.options.words
---@field rule? "whitespace"|"uax29"|"spacy-en" How a text is cut into words. Default: whitespace.
---@field over? string Column that holds the text. Default: text.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Word spans of a text, shared by the stages behind (a provider: inserted where needed).
---
---`whitespace` cuts as Python's `str.split()`. `uax29` gives the segments of Unicode's UAX #29 that hold a letter or number. `spacy-en` gives the tokens of spaCy 3.8's blank English pipeline without white space, which are the words of datatrove's filters; its rules (MIT licence) are built in as tables.
---```lua
---docs | s.words { rule = "spacy-en" }
---```
---@param options? sluice.options.words
---@return sluice.Stage
function s.words(options) end

---@class sluice.options.write_arrow
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field compression? "zstd"|"lz4"|"none" Codec of the record batches. Default: zstd.
---@field level? integer Level of zstd; 0 is its default, 3. Within [0, 22]. Default: 0.
---@field shard_size? integer|string Stored bytes after which a file is ended, at the end of a record batch. Within [1, 1000TB]. Default: 256MiB.
---@field batch? integer|string Bytes of texts and numbers after which a record batch is ended, at the end of a row; 65536 rows end one, too. Within [1, 1GB]. Default: 4MiB.
---@field columns? string[]|string Columns to write, in this order; none given: all, `text` and `id` first.
---@field layout? "file"|"stream" file: with an index of its record batches at its end. stream: without. Default: file.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Arrow IPC files of a dataset.
---
---All columns, `text` and `id` first, in Arrow's types for them: files that can be mapped (Feather, version 2), or streams. What read_parquet had to give as text or as another number becomes what it was, where no stage replaced it, and tokens of a vocabulary up to 65536 are uint16, as write_parquet has it. The schema's metadata names under `sluice.columns` what is known of each column.
---```lua
---docs | s.write_arrow { "out/kept" }
---```
---@param options sluice.options.write_arrow|string
---@return sluice.Stage
function s.write_arrow(options) end

---@class sluice.options.write_attributes
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field column? string JSON column of the attributes. Default: attributes.
---@field compression? "none"|"gzip"|"zstd" Codec of the files; Dolma reads gzip and zstd. Default: gzip.
---@field level? integer Level of the codec (gzip to 9, zstd to 22); 0 is its default. Within [0, 22]. Default: 0.
---@field aligned? boolean A row of the input that is missing, dropped or set aside on the way, ends the run: the lines would no longer belong to those of the documents. Default: true.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Attributes as Dolma's attribute files: a line for each document, in order.
---
---Lines are {"id": ..., "attributes": {...}}. A file of the dataset holds lines of one input file or of one piece of a large one, and names sort in the order of the input: the files of one input file, one behind the other (gzip and zstd files may be put together as they are), are its attribute file. `sluice trace DATASET 0` tells of which. A row that is missing ends the run (`aligned`). `attribute_files` writes one file for each input file, under its name.
---```lua
---docs | s.dolma_tag { { "gopher_v2" } } | s.write_attributes { "out/attributes/gopher" }
---```
---@param options sluice.options.write_attributes|string
---@return sluice.Stage
function s.write_attributes(options) end

---@class sluice.options.write_bloom
---@field [1] string? The same as path.
---@field path? string Dataset folder; the filter is the one file of a snapshot. May be given without its name. A dataset folder to be written.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Writes the filter of `bloom_index`, for `bloom_paragraphs { use = ... }`.
---
---The file: "SLBLOOM1"; u64 bits, expected n-grams, n-grams in it; u32 probes, u32 length of the rule, f64 false-positive rate; the rule, padded to 8 bytes; the bits; XXH3-128 of all before. Little-endian.
---```lua
---docs | s.bloom_index { expected = 1e9 } | s.write_bloom { "seen" }
---```
---@param options sluice.options.write_bloom|string
---@return sluice.Stage
function s.write_bloom(options) end

---@class sluice.options.write_csv
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field compression? "none"|"gzip"|"zstd" Codec of the files. Default: none.
---@field level? integer Level of the codec (gzip to 9, zstd to 22); 0 is its default. Within [0, 22]. Default: 0.
---@field shard_size? integer|string Uncompressed bytes after which a file is ended, at the end of a record. Within [1, 1000TB]. Default: 256MiB.
---@field columns? string[]|string Columns to write, in this order; none given: all, `text` and `id` first.
---@field delimiter? string What stands between fields, one character. Default: ,.
---@field null? string What stands for a null. Default: "".
---@field header? boolean Begin each file with the names of the columns. Default: true.
---@field line_ends? "lf"|"crlf" What ends a record. Default: lf.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---CSV files of a dataset.
---
---One row a record, fields in quotation marks where RFC 4180 wants them; `text` and `id` first. Floats are the shortest digits that read back equal, or inf, -inf, nan; binary columns are base64, lists and structs JSON. A null is what `null` says, without quotation marks; a text of the same letters has them, so that the two can be told apart.
---```lua
---docs | s.write_csv { "out/kept", delimiter = "\t" }
---```
---@param options sluice.options.write_csv|string
---@return sluice.Stage
function s.write_csv(options) end

---@class sluice.options.write_datatrove
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field dtype? "auto"|"uint16"|"uint32" Type of a token; auto is uint16 up to 65536 ids, else uint32. Default: auto.
---@field sequences? "rows"|"documents" What a sequence is: a row, or each document's piece in a packed row, without padding. Default: rows.
---@field loss_mask? string Column of the loss mask, a byte a token, where there is one; "" leaves it out. Default: loss_mask.
---@field shard_size? integer|string Bytes after which a file is ended, at the end of a row. Within [1, 2GiB]. Default: 1GiB.
---@field tokenizer? string Name of the tokenizer in the metadata file; by default the hash that the tokens carry.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Tokens as datatrove's .ds files, with index, metadata and loss mask.
---
---Also read by nanotron. A column loss_mask (list<uint8>, one a token) becomes the .loss file. Every id is checked against the vocabulary.
---```lua
---tokens | s.write_datatrove { "out/gold" }
---```
---@param options sluice.options.write_datatrove|string
---@return sluice.Stage
function s.write_datatrove(options) end

---@class sluice.options.write_jsonl
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field compression? "none"|"gzip"|"zstd" Codec of the files. Default: zstd.
---@field level? integer Level of the codec (gzip to 9, zstd to 22); 0 is its default. Within [0, 22]. Default: 0.
---@field shard_size? integer|string Uncompressed bytes after which a file is ended, at the end of a record. Within [1, 1000TB]. Default: 256MiB.
---@field join? integer|string Stored bytes to which the small files of the tasks are joined when the dataset is published; 0: they stay as they are. Within [0, 1000TB]. Default: 0.
---@field columns? string[]|string Columns to write, in this order; none given: all, `text` and `id` first.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---JSON objects, one a line, into the files of a dataset.
---
---Members in the order `text`, `id`, then the columns in their order. The members of a json column called `metadata` stand in the object itself (a column of the same name wins). A null column is left out. Binary columns are base64; inf and nan are null (the measure not_finite_as_null counts them); floats are the shortest text that reads back equal.
---```lua
---docs | s.write_jsonl { "out/kept", compression = "zstd" }
---```
---@param options sluice.options.write_jsonl|string
---@return sluice.Stage
function s.write_jsonl(options) end

---@class sluice.options.write_mds
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field dtype? "auto"|"uint16"|"uint32" Type of a token; auto is uint16 up to 65536 ids, else uint32. Default: auto.
---@field sequences? "rows"|"documents" What a sequence is: a row, or each document's piece in a packed row, without padding. Default: rows.
---@field loss_mask? string Column of the loss mask, a byte a token, where there is one; "" leaves it out. Default: loss_mask.
---@field shard_size? integer|string Bytes after which a file is ended, at the end of a row. Within [1, 2GiB]. Default: 64MiB.
---@field fixed? boolean Say the rows' length once in the index instead of in each sample; rows must be padded by pack to one length. Default: false.
---@field compression? string none, zstd (level 3) or zstd:N: shards as .mds.zstd, which StreamingDataset unpacks when it fetches them. Default: none.
---@field hashes? string[]|string Hashes of each shard in the index, for StreamingDataset's validate_hash: md5, sha1, sha256, xxh128, xxh3_64, xxh64, in this order. Default: "".
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Tokens as MosaicML streaming's MDS shards with index.json.
---
---The snapshot's folder is what StreamingDataset(local = …) reads: samples with `tokens` (uint16 or uint32) and, where the rows have one, `loss_mask`. Sequences without tokens can't be said in MDS and are left out. A shard is held in memory until it ends.
---```lua
---packed | s.write_mds { "out/gold" }
---```
---@param options sluice.options.write_mds|string
---@return sluice.Stage
function s.write_mds(options) end

---@class sluice.options.write_megatron
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field dtype? "auto"|"uint16"|"int32" Type of a token; auto is uint16 below 65500 ids (Megatron's rule), else int32. Default: auto.
---@field sequences? "auto"|"rows"|"documents" What a sequence is: a row (and a document as well), or each document's piece in a row, without padding; auto is rows. Default: auto.
---@field loss_mask? string Column of a loss mask: rows that have one are refused, for there is no place for it; "" leaves it out. Default: loss_mask.
---@field shard_size? integer|string Bytes of .bin after which a pair of files is ended, at the end of a row. Within [1, 1000TB]. Default: 1GiB.
---@field class? sluice.Class What its dataset is.
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

---@class sluice.options.write_memmap
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field dtype? "auto"|"uint16"|"uint32" Type of a token; auto is uint16 up to 65536 ids, else uint32. Default: auto.
---@field sequences? "rows"|"documents" What a sequence is: a row, or each document's piece in a packed row, without padding. Default: rows.
---@field loss_mask? string Column of the loss mask, a byte a token, where there is one; "" leaves it out. Default: loss_mask.
---@field shard_size? integer|string Bytes after which a file is ended, at the end of a row. Within [1, 2GiB]. Default: 64MiB.
---@field layout? "raw"|"nanogpt" raw: tokens without a header, as OLMo reads them. nanogpt: with nanoGPT's header of 1 KiB; a file is then held in memory until it ends. Default: raw.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Tokens as flat files to map: OLMo's raw .npy, nanoGPT's .bin.
---
---The raw files say nothing about themselves: the type of a token stands in the dataset's manifest (`dtype`). A loss mask is refused, for there is no place for it.
---```lua
---tokens | s.write_memmap { "out/gold", layout = "nanogpt" }
---```
---@param options sluice.options.write_memmap|string
---@return sluice.Stage
function s.write_memmap(options) end

---@class sluice.options.write_parquet
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field compression? "zstd"|"snappy"|"gzip"|"brotli"|"lz4"|"none" Codec of the pages. Default: zstd.
---@field level? integer Level of the codec; 0 is its default, of zstd 3. Within [0, 22]. Default: 0.
---@field shard_size? integer|string Stored bytes after which a file is ended, at the end of a row group. Within [1, 1000TB]. Default: 256MiB.
---@field row_group? integer|string Bytes of texts and numbers after which a row group is ended, at the end of a row; 1048576 rows end one, too. Within [1, 1TB]. Default: 64MiB.
---@field page? integer|string Bytes after which a page is ended. Within [1, 1GB]. Default: 1MiB.
---@field columns? string[]|string Columns to write, in this order; none given: all, `text` and `id` first.
---@field bloom? string[]|string Columns of numbers or texts that get a bloom filter, for looking up single values.
---@field sorted_by? string[]|string Columns by which the rows come sorted, ascending, nulls first; it is checked and noted in the files.
---@field dictionary? boolean Store columns whose values repeat themselves as numbers into a dictionary. Default: true.
---@field layout? "flat"|"hf" flat: one folder of files. hf: data/SPLIT-00000-of-00001.parquet and a card, README.md, as Hugging Face's hub and its `load_dataset` want them. Default: flat.
---@field split? string Name of the split, in the layout hf. Default: train.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---Parquet files of a dataset.
---
---All columns, `text` and `id` first, in Parquet's types for them; nested ones as they are, json columns as text. What read_parquet had to give as text or as another number (dates, times, decimals, float16, maps) becomes what it was, where no stage replaced it. Tokens of a vocabulary up to 65536 are stored as uint16. Pages have checksums, row groups and pages statistics, columns that repeat themselves a dictionary (by the first rows of each file). The files name under `sluice.columns` what is known of each column, as its tokenizer. Row groups, pages and files end where the rows say so, whatever the batches and workers.
---```lua
---docs | s.write_parquet { "out/kept", bloom = { "id" } }
---```
---@param options sluice.options.write_parquet|string
---@return sluice.Stage
function s.write_parquet(options) end

---@class sluice.options.write_stats
---@field [1] string? The same as path.
---@field path? string Dataset folder that is written. May be given without its name. A dataset folder to be written.
---@field top_k? integer Groups by a column's values that are kept: those with the most documents. Within [1, 1000000000]. Default: 100000.
---@field rows? integer Groups of a column in the page for people. Within [1, 100000]. Default: 20.
---@field class? sluice.Class What its dataset is.
---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.

---The statistics of a corpus as JSON and as a page for people.
---
---`*.stats.json` holds `{group: {statistic: {key: {total, n, mean, variance, std_dev, min, max, unit}}}}`: under a group and a statistic stands what datatrove's `StatsMerger` writes to `GROUP/STATISTIC/metric.json`, with all members always, and `MetricStats.from_dict` reads it. The key of a summary is `summary`, of a histogram the value as Python writes it, rounded; the statistic `documents` is 1 for each one; `STATISTIC__chars` and `STATISTIC__tokens` are the characters and tokens of the documents in a bin. Of groups by a column's values the `top_k` with the most documents stay (equal ones: the first by name); all partial counts are exact, unlike datatrove's, which cuts in each task. `*.report.md` is the same for people.
---```lua
---docs | s.statistics { groups = { "summary", "histogram" } } | s.write_stats { "out/statistics" }
---```
---@param options sluice.options.write_stats|string
---@return sluice.Stage
function s.write_stats(options) end

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

---count_in(set): code points in a set like "a-zA-Z0-9_": characters and ranges; a - at either end stands for itself.
---@param set string
---@return integer
function string:count_in(set) end

---words([rule]): array of words; rule whitespace (default), uax29 or spacy-en.
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

---strip_in(set): without the characters of a set (as in count_in) at both ends.
---@param set string
---@return string
function string:strip_in(set) end

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

---counter([rule]): how often each word occurs: c:count(word or list), c:total(), c:distinct(), c:top(n), for word, n in pairs(c).
---@param rule? sluice.Words
---@return sluice.Counter
function string:counter(rule) end

---pieces(how): the text cut: how is whitespace, uax29 or spacy-en (words), lines or sentences; or a table of by = one of them, at = a separator (Python's split) or between = a set (what stands between runs of it), strip = true or a set, drop = "empty" or "blank". p[i], #p; p:starting(list), p:ending(list), p:containing(list), p:distinct(): those pieces; p:chars(), p:longest(); p:counter(), p:ngrams(n), p:top_ngram(n), p:dup_ngram_chars(n).
---@param how sluice.Cut
---@return sluice.Pieces
function string:pieces(how) end

---char_ngrams(n): how often runs of n code points occur: array of { times =, ngrams = }, the most frequent first.
---@param n integer
---@return sluice.Times[]
function string:char_ngrams(n) end

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
