---@meta sluice
-- Annotations for lua-language-server: the pipeline language, so that editors complete it, show its documentation and find mistakes before
-- `sluice check` does. The standard stages and the methods of texts are in stages.lua. Never run; luarc.json shows how an editor finds it.

---A stream of rows. `|` pipes it into a stage; used twice it forks.
---@class sluice.Rows
---@field dropped sluice.Rows Rows dropped since the last reader, union or fork, as they entered the stage that dropped them, with drop_stage, drop_reason, drop_value, drop_limit, dup_of and similarity.
---@operator bor(sluice.Stage): sluice.Rows

---A stage with its options, which a stream is piped into.
---@class sluice.Stage
---@operator bor(sluice.Stage): sluice.Stage

---A stage that a script defines. It can be piped into as it is, or called with options first: `docs | explode { most = 3 }`.
---@class sluice.LuaStage: sluice.Stage
---@operator call(table|string): sluice.Stage

---A pipeline, which a script returns.
---@class sluice.Pipeline
---@field pipeline string Its name.

---A policy, for `s.pipeline { ..., policies = { ... } }`.
---@class sluice.Policy

---Limits of a process of its own.
---@class sluice.Isolation
---@field threads? integer Calls that it serves at once.
---@field memory? integer|string Bytes of memory it may have.
---@field timeout? number|string Longest time of one call.
---@field network? boolean Whether it may open sockets.
---@field gpu? boolean Whether it may use the devices of GPUs.
---@field on_timeout? "halt"|"quarantine" What a row that takes too long does.
---@field max_deaths? integer Batches that may kill a process before the run ends.

---What a dataset is: bronze (what came in: says where from, has a contract before it, is written once), silver and gold (made of snapshots; gold
---says for which tokenizer, unless rows are tokenized on the way).
---@alias sluice.Class { bronze: string }|"silver"|"gold"|{ gold: string }

---A rule that cuts a text into words.
---@alias sluice.Words "whitespace"|"uax29"|"spacy-en"

---A class of characters, or one character.
---@alias sluice.Class "letter"|"digit"|"number"|"alnum"|"space"|"upper"|"lower"|"punct"|"symbol"|"punctuation"|"terminal"|string

---The type of a column; a ? behind it allows nulls.
---@alias sluice.Type "bool"|"int8"|"int16"|"int32"|"int64"|"uint8"|"uint16"|"uint32"|"uint64"|"float32"|"float64"|"utf8"|"binary"|"json"|"utf8?"|"int64?"|"float64?"|"list<utf8>"|string

---A row as a function sees it. Fields are columns; a field that the function does not name itself is listed in `needs`.
---@class sluice.Doc
---@field text string The column that `over` names ("text").
---@field id string
---@field [string] any

---How often each word of a text occurs.
---@class sluice.Counter
local Counter = {}

---How often a word occurs, or the words of a list together (each once, however often it is listed).
---@param word string|string[]
---@return integer
function Counter:count(word) end

---@return integer
function Counter:total() end

---@return integer
function Counter:distinct() end

---The n most frequent words.
---@param n integer
---@return table
function Counter:top(n) end

---How a text is cut into pieces: the name of a rule, or one of by, at and between with what follows.
---@alias sluice.Cut sluice.Words|"lines"|"sentences"|sluice.CutTable

---@class sluice.CutTable
---@field by? sluice.Words|"lines"|"sentences" A rule.
---@field at? string A separator, as Python's split takes it: n of them give n + 1 pieces.
---@field between? string A set of characters, as count_in takes it: pieces stand between runs of them.
---@field strip? boolean|string true: white space at both ends goes; a set: its characters do.
---@field drop? "empty"|"blank" Leaves out pieces without a character, or of white space alone; after strip.

---N-grams that occur equally often: how often, and how many there are.
---@class sluice.Times
---@field times integer
---@field ngrams integer

---A text cut into pieces: p[i], #p, ipairs(p). Nothing changes it; what it gives are strings, numbers and other pieces.
---@class sluice.Pieces
---@field [integer] string
local Pieces = {}

---Those that begin with the string, or with one of a list.
---@param list string|string[]
---@return sluice.Pieces
function Pieces:starting(list) end

---Those that end with one.
---@param list string|string[]
---@return sluice.Pieces
function Pieces:ending(list) end

---Those that have one somewhere.
---@param list string|string[]
---@return sluice.Pieces
function Pieces:containing(list) end

---The first of equal ones, in their order.
---@return sluice.Pieces
function Pieces:distinct() end

---Code points of all.
---@return integer
function Pieces:chars() end

---Code points of the longest; 0 without pieces.
---@return integer
function Pieces:longest() end

---@return sluice.Counter
function Pieces:counter() end

---How often n neighbours in a row occur, the most frequent first.
---@param n integer
---@return sluice.Times[]
function Pieces:ngrams(n) end

---The most frequent n neighbours (of several the first), a space between them, and how often they occur; nil with fewer than n pieces.
---@param n integer
---@return string? ngram, integer? times
function Pieces:top_ngram(n) end

---Code points in n-grams that occurred before, each once, with one for a space between two pieces of an n-gram.
---@param n integer
---@return integer
function Pieces:dup_ngram_chars(n) end

---@class sluice.WordStats
---@field words integer
---@field chars integer
---@field content integer Words that are not only punctuation.
---@field content_chars integer
---@field alphabetic integer Words with a letter.

---A declared option: { type, default, min =, max =, choices =, doc =, required = }.
---@class sluice.Option
---@field [1] "bool"|"int"|"float"|"string"|"enum"|"size"|"duration"|"path"|"glob"|"column"|"range"|"list"|"map"|"node"
---@field [2] any? Default.
---@field min? number
---@field max? number
---@field choices? string "a|b|c" of an enum.
---@field doc? string One sentence, with units.
---@field required? boolean
---@field judge? boolean Only judge of a gate sees it; changing it runs nothing again.

---@alias sluice.Options table<string, sluice.Option>

---What all definitions have.
---@class sluice.Definition
---@field [1] string Name: [a-z][a-z0-9_]*.
---@field options? sluice.Options
---@field summary? string
---@field doc? string
---@field examples? table[] Run by `sluice test FILE.lua`.
---@field steps? integer Steps that a row may take, beside 512 for each byte of it that is read (10000000): 1000 to 10^12.

---@class sluice.RowDefinition: sluice.Definition
---@field over? string Column that doc.text is ("text").
---@field needs? string[] Columns that the function reaches without naming them: "lang", "score:float64", "title?".
---@field run? "stateless"|"ordered" "ordered": rows may leave something behind for the next.

---@class sluice.FilterDefinition: sluice.RowDefinition
---@field [2] (fun(doc: sluice.Doc, o: table): string?, number?, number?)?
---@field row? fun(doc: sluice.Doc, o: table): string?, number?, number? A reason drops the row, nil keeps it; then value and limit.
---@field reasons? string[] Reasons that are not literals in the function.
---@field with? table Options.

---@class sluice.AnnotateDefinition: sluice.RowDefinition
---@field [2] (fun(doc: sluice.Doc, o: table): table?, string?, number?, number?)?
---@field row? fun(doc: sluice.Doc, o: table): table?, string?, number?, number? The added columns; or nil and a reason, which drops the row.
---@field adds table<string, sluice.Type>
---@field reasons? string[]
---@field asks? boolean The function asks servers: s.ask says it.
---@field with? table Options.

---@class sluice.AskPolicy
---@field hosts string[] Servers that may be asked: "host" or "host:port".
---@field in_flight? integer Requests to one server at once (64); of several stages that ask it the least counts.
---@field per_second? number Requests to one server in a second; 0 = no limit.
---@field tries? integer Tries of one request before its task fails (8).
---@field timeout? string Longest time of one try ("10m").
---@field patience? string Longest pause between two tries ("5m").
---@field hedge? string After so long without an answer the same is asked a second time, and the first answer counts; of at most an eighth of in_flight at once ("0s" = never). "p95": after longer than 95 of 100 of that server's answers took, once a hundred came.

---@class sluice.Request
---@field url string
---@field method? string "GET", or "POST" where there is a body.
---@field headers? table<string, string>
---@field body? string
---@field json? any Becomes the body.

---@class sluice.Response
---@field status integer
---@field refused boolean The server refuses it for good (a status 4xx).
---@field type string
---@field body string
---@field json? any The body, where it is JSON.

---@class sluice.AskDefinition: sluice.RowDefinition
---@field [2] (fun(doc: sluice.Doc, o: table, ask: fun(request: sluice.Request): sluice.Response): table?, string?, number?, number?)?
---@field row? fun(doc: sluice.Doc, o: table, ask: fun(request: sluice.Request): sluice.Response): table?, string?, number?, number? The added columns; or nil and a reason, which drops the row.
---@field adds table<string, sluice.Type>
---@field ask sluice.AskPolicy Whom, and how hard: hosts = { "host:port" } that may be asked; in_flight (64), per_second, tries (8), timeout ("10m"), patience ("5m": the longest pause between tries), hedge ("2s", or "p95" of the answers' times: after so long the same is asked a second time; else never).
---@field reasons? string[]
---@field with? table Options.

---@class sluice.Bound
---@field above? string Option: a measure above it drops.
---@field below? string

---@class sluice.HeuristicDefinition: sluice.RowDefinition
---@field measure fun(doc: sluice.Doc, o: table): number
---@field drop sluice.Bound
---@field reason? string The reason of dropped rows; the name otherwise.

---@class sluice.TransformDefinition: sluice.RowDefinition
---@field [2] (fun(doc: sluice.Doc, o: table, emit: fun(row: table)))?
---@field row? fun(doc: sluice.Doc, o: table, emit: fun(row: table)) Calls emit { ... } for each row that it gives.
---@field gives table<string, sluice.Type> All columns of its rows.

---With cut = "newline" record is called on each line; with cut = "none" on each file's text.
---@class sluice.ReaderDefinition: sluice.Definition
---@field record (fun(line: string, o: table, file: string, offset: integer): table|false|nil, string?, string?)|(fun(text: string, o: table, file: string, give: fun(record: table?, first?: integer, last?: integer, reason?: string, detail?: string)))
---@field cut? "newline"|"none"
---@field gives table<string, sluice.Type>

---@class sluice.GateDefinition: sluice.Definition
---@field over? string
---@field needs? string[]
---@field sums? string[] Names of the sums; without them measure returns one integer, and judge sees sums.sum.
---@field measure fun(doc: sluice.Doc, o: table): integer|boolean|table<string, integer|boolean> Integers, which are added up.
---@field judge fun(sums: table<string, integer>, o: table, count: fun(node: string): integer?): ("halt"|"warn")?, string? Sees the sums and sums.rows when all rows are counted.

---@class sluice.WriterDefinition: sluice.RowDefinition
---@field [2] (fun(doc: sluice.Doc, o: table): string)?
---@field row? fun(doc: sluice.Doc, o: table): string The text that is appended for the row.
---@field suffix string What the files' names end in: ".tsv".
---@field header? string|fun(o: table): string What each file begins with.

---@class sluice.PolicyDefinition
---@field [1] string
---@field options? sluice.Options
---@field judge? fun(o: table, run: table): ("halt"|"warn")?, string? At every barrier.
---@field retry? fun(o: table, failure: table): (number|false|"halt")? Of a task that failed (policies.retry says what it is told).
---@field speculate? fun(o: table, task: table): boolean? Of a task that another process is late with (policies.speculate).

---@class sluice.CompositeDefinition
---@field [1] string
---@field options? sluice.Options
---@field build fun(input: sluice.Rows, o: table, nodes: table<string, sluice.Rows>): sluice.Rows

---@class sluice.PipelineDefinition
---@field [1] string Name.
---@field [integer] sluice.Rows Streams that end in writers.
---@field max_bad? string|number Quarantined records that the run bears: "0.1%", or a count, judged at once.
---@field seed? integer Seed of everything random.
---@field spill? "auto"|"rows"|"positions" What is kept of rows that a later phase takes up again: positions, with the input read a second time, or rows.
---@field policies? sluice.Policy[]

---@class sluice.FilesDefinition
---@field [integer] string Paths or patterns: "a/*.gz", "b/{dump}/*.zst".
---@field split? integer|string Target size of an input split. Default: 64MiB.
---@field max_record? integer|string Longest record. Default: 64MiB.
---@field since? string|string[] Datasets, PATH or PATH@N: files whose rows all of them have are left out.
---@field changed? "fail"|"new" What becomes of a file that changed under its name since: it ends the run, or is taken for a new one. Default: fail.

---@class sluice.options.exact
---@field against? string|string[] Datasets made by exact_index: their documents stay, and duplicates of them are dropped.
---@field against_only? boolean Only duplicates of the documents of `against` are dropped. Default: false.
---@field keep? "first"|"fixed" fixed: what comes later changes nothing (the first stays, and `priority` is refused). Default: first.
---@field over? string|string[] Columns whose equal values make rows duplicates. Default: text.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field priority? string Number column: of duplicates the one with the highest value stays, then the first.
---@field within? string Only rows with one value of this column can be duplicates (a crawl, a language).

---@class sluice.options.exact_index
---@field over? string|string[] Columns whose equal values make rows duplicates. Default: text.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field priority? string Number column: of duplicates the one with the highest value stays, then the first.
---@field within? string Only rows with one value of this column can be duplicates (a crawl, a language).

---@class sluice.options.per_key
---@field by string|string[] Columns whose values are the key; a row in which one is null stays.
---@field cap integer Rows of a key that stay.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field priority? string Number column: the rows with the highest values stay, then the first.

---@class sluice.options.merge
---@field deletes? string|string[] Values of `op` by which the row is gone. Default: delete,d,D.
---@field key? string|string[] Columns whose values name a row. Default: id.
---@field op string Text column of the changes that says what became of the row; it ends here.
---@field order_by string Number column: of a key the row with the largest stays. Two changes of a key must differ in it. A row of the snapshot that has none is older than all; what was deleted leaves no trace, so portions come in their order.
---@field partitions? integer Virtual partitions of the exchanges. Default: 32.
---@field puts? string|string[] Values of `op` by which the row is there. A change of any other value is set aside, and max_bad counts it. Default: insert,update,upsert,i,u,c,r,I,U.
---@field with sluice.Rows The changes: rows as those of the snapshot, with the column `op`.

---@class sluice.options.sentence_dedup
---@field min_units? integer Fewest sentences of a document of which something was removed; 0 disables. Default: 3.
---@field min_words? integer Fewest words of a document of which something was removed; 0 disables. Default: 50.
---@field min_words_to_remove? integer A removed stretch of fewer words stays; 0 disables. Default: 0.
---@field n? integer Units of a run that is compared. Default: 3.
---@field normalise? boolean Compare units lower-cased, with numbers as 0, without punctuation and diacritics. Default: true.
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field peer? boolean With datatrove's bugs: 16 bits number a text's units, a stretch is judged and restored by its first unit alone. Default: false.
---@field unit? "sentences"|"lines"|"paragraphs" What a text is cut into. Default: sentences.

---@class sluice.options.paragraph_dedup
---@field min_units? integer Fewest sentences of a document of which something was removed; 0 disables. Default: 0.
---@field min_words? integer Fewest words of a document of which something was removed; 0 disables. Default: 0.
---@field min_words_to_remove? integer A removed stretch of fewer words stays; 0 disables. Default: 0.
---@field n? integer Units of a run that is compared. Default: 1.
---@field normalise? boolean Compare units lower-cased, with numbers as 0, without punctuation and diacritics. Default: false.
---@field over? string Column that holds the text, replaced by what is left of it. Default: text.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field peer? boolean With datatrove's bugs: 16 bits number a text's units, a stretch is judged and restored by its first unit alone. Default: false.
---@field unit? "sentences"|"lines"|"paragraphs" What a text is cut into. Default: paragraphs.

---@class sluice.options.bloom_paragraphs
---@field action? "remove"|"tag"|"drop" remove: cut out; tag: list in `duplicate_spans`; drop: the document goes. Default: remove.
---@field document_threshold? number A document of which more than this share of n-grams was seen is dropped; 1: none. Default: 1.
---@field expected? integer Different n-grams that the filter is made for. Default: 1000000.
---@field false_positives? number Rate at which a new n-gram is taken for a seen one when `expected` are in. Default: 0.01.
---@field mode? "bff"|"dolma" Whose short paragraphs, strides and memory: see bloom_marks. Default: bff.
---@field ngram? integer Words of an n-gram. Default: 13.
---@field over? string Column that holds the text. Default: text.
---@field read_only? boolean Judge by the filter of `use` alone. Default: false.
---@field stride? integer Words from one n-gram to the next. Default: 1.
---@field threshold? number Share of seen n-grams above which a paragraph is a duplicate. Default: 0.8.
---@field use? string A filter to begin with, made by `bloom_index`.

---@class sluice.options.bloom_index
---@field expected? integer Different n-grams that the filter is made for. Default: 1000000.
---@field false_positives? number Rate at which a new n-gram is taken for a seen one when `expected` are in. Default: 0.01.
---@field mode? "bff"|"dolma" Whose short paragraphs, strides and memory: see bloom_marks. Default: bff.
---@field ngram? integer Words of an n-gram. Default: 13.
---@field over? string Column that holds the text. Default: text.
---@field stride? integer Words from one n-gram to the next. Default: 1.

---@class sluice.options.decontaminate
---@field answer? string Field with the answer, or a list of answers. Default: answer.
---@field decay_begin? integer decon: items of so many words or fewer must match whole. Default: 20.
---@field decay_end? integer decon: items of so many words or more must match by threshold. Default: 50.
---@field id? string Field that names an item; else its task and line do. Default: id.
---@field join? string janitor: what stands between the pieces that are left. Default: two line ends.
---@field max_hits? integer janitor: a text of more hits is dropped. Default: 10.
---@field min_piece? integer janitor: a piece of so many characters or fewer is dropped. Default: 200.
---@field min_tokens? integer decon: items of fewer words are left out. Default: 20.
---@field min_unique? integer decon: items of fewer different words are left out. Default: 4.
---@field misses? integer decon: give up after so many n-grams without a new hit. Default: 11.
---@field ngram? integer Words of an n-gram; 0: the rule's own (12, 13, 5). Default: 0.
---@field over? string Column that holds the text. Default: text.
---@field overlap_ngrams? boolean datatrove: n-grams across question and answer count. Default: true.
---@field passage? string Field with the passage that the question is about. Default: passage.
---@field peer? boolean janitor: also drop short texts without a hit, as the peer does. Default: false.
---@field query_ngrams? boolean datatrove: n-grams of the question alone count. Default: false.
---@field question? string Field of the reference with the question. Default: question.
---@field reference? string JSON lines of benchmark items (may be compressed).
---@field rule? "datatrove"|"janitor"|"decon" What counts as contamination; see `contamination`. Default: datatrove.
---@field sample? integer decon: look at every n-th n-gram, n this number, for a first hit. Default: 10.
---@field task? string Field that names the benchmark. Default: task.
---@field threshold? number decon: least weighted overlap of a long item. Default: 0.8.
---@field window? integer janitor: characters cut on either side of a hit. Default: 200.

---@class sluice.options.minhash
---@field against? string Snapshot of an index (PATH@N, see minhash_index): documents that it has are dropped as minhash_in_index.
---@field bands? integer Bands of the signature. Default: 14.
---@field bits? "64"|"32" Width of a hash. Default: 64.
---@field by? string Number or date column that keep = "best" and "newest" look at; a null comes last.
---@field hash? "xxhash"|"sha1" Hash of a shingle. Default: xxhash.
---@field keep? "first"|"fixed"|"peer"|"longest"|"best"|"newest" Which document of a cluster stays: the first, datatrove's (peer), the longest in bytes, or the one with the largest number (best) or latest date (newest) in column `by`; of equals the first. fixed: there are no clusters, a document goes if it looks like one that was kept before it, so that what comes later changes nothing: days that are appended one by one are one run over all. Default: first.
---@field ngram? integer Words of a shingle. Default: 5.
---@field normalise? boolean Lower-case, numbers to 0, no punctuation and diacritics. Default: true.
---@field over? string Column that holds the text. Default: text.
---@field partitions? integer Virtual partitions of the exchanges. Default: 32.
---@field rows? integer Hash functions of a band. Default: 8.
---@field seed? integer Seed of the hash functions. Default: 1.
---@field verify? number Jaccard similarity of shingles that a dropped document must have with the one it duplicates; 0: candidates are not verified. Default: 0.
---@field within? string Only rows with one value of this column can be duplicates (a crawl, a language).
---@field words? sluice.Words Rule that cuts the normalised text into words; spacy-en is datatrove's for English. Default: spacy-en.

---@class sluice.options.minhash_index
---@field partitions? integer Virtual partitions: a pair of files each. Default: 32.
---@field path? string Dataset folder that is written.

---@class sluice.options.join
---@field columns? string|string[] Columns of the table that are added; all others by default.
---@field missing? "null"|"drop"|"fail" What becomes of a row that has none in the table: its new columns are null, it is dropped, or the run ends. Default: null.
---@field on string|string[] Columns whose values name the row of the table.
---@field prefix? string What stands before the names of added columns.
---@field table_on? string|string[] What those columns are called in the table, where that is not the same.
---@field with sluice.Rows The table: a stream of rows, each key once.

---@class sluice.options.statistics
---@field blocks? string|string[] Groups of statistics of the text (s.doc_stats); none: only the number columns there are. Default: doc,word,line,paragraph,sentence.
---@field contamination? string|string[] Words whose share of the simplified text is a statistic of its own.
---@field groups? string|string[] summary, histogram, and text columns by whose values documents are grouped (fqdn, suffix, language). Default: summary,histogram.
---@field over? string Column that holds the text. Default: text.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field round? integer Digits behind the point to which values are rounded for histograms. Default: 3.
---@field sentences? "spacy-en"|"marks"|"lines" Rule that cuts the text into sentences. Default: spacy-en.
---@field words? sluice.Words Rule that cuts the text into words. Default: spacy-en.

---@class sluice.options.dolma_join
---@field aligned? boolean A line of another document than the one at its place, or one too few, ends the run; false: such lines are left out. Default: true.
---@field attributes? string|string[] Patterns of attribute files, such as "corpus/attributes/pii/{file}.json.gz", in the order in which they are merged: of one name the last counts.
---@field by? string|string[] The {parts} of the paths that name a file, the same for documents and attributes. Default: file.
---@field partitions? integer Virtual partitions of the exchange, by file. Default: 32.

---@class sluice.options.attribute_files
---@field aligned? boolean A row of the input that is missing, dropped or set aside on the way, ends the run. Default: true.
---@field by? string The {part} of the documents' paths that names a file. Default: file.
---@field compression? "none"|"gzip"|"zstd" Codec of the files; Dolma's mixer reads gzip. Default: gzip.
---@field level? integer Level of the codec (gzip to 12, zstd to 22); 0 is its default. Default: 0.
---@field partitions? integer Virtual partitions of the exchange, by file. Default: 32.
---@field path? string Dataset folder that is written: for Dolma's mixer `.../attributes/NAME`, which it is then told as NAME/latest.
---@field suffix? string What stands behind it in the documents' names. Default: .json.gz.

---@class sluice.options.shuffle
---@field by? string|string[] Columns whose values name a row; none given: id, or tokens where there is no id (packed rows).
---@field partitions? integer Stretches that the order is cut into: each is a task, and what a writer makes of it a file or more. Default: 32.
---@field seed? integer Another seed gives another order. Default: 0.

---@class sluice.options.mix
---@field by? string Column that names a document's source.
---@field epochs? table<string, number> How often each source goes by, such as 2.5, at most 64; instead of weights.
---@field max_epochs? number How often a document may go by with weights; above 1 scarce sources are repeated. Default: 1.
---@field over? string Column that holds the text. Default: text.
---@field partitions? integer Virtual partitions of the exchange of sizes. Default: 32.
---@field seed? integer Another seed takes other documents. Default: 0.
---@field size? string What shares are of: documents, bytes (of the text), or a column: a number, or a list whose items count (tokens). Default: bytes.
---@field total? integer Size of the output with weights; 0: as much as there is. Default: 0.
---@field weights? table<string, number> Shares of the output by source; any positive scale, 0 leaves a source out.

---@class sluice.options.mix_table

---@class sluice.options.holdout_n
---@field by? string Column whose value decides: documents of one value are on one side. Default: id.
---@field documents? integer Documents that are held out of each source.
---@field partitions? integer Virtual partitions of the exchange. Default: 32.
---@field seed? integer Another seed holds other documents out. Default: 0.
---@field source? string Column that names a document's source; none given: all are of one.
---@field take? "train"|"holdout" Which side stays. Default: train.

---@class sluice.options.gate
---@field rows? { min: integer?, max: integer? }
---@field pass_rate? { min: number?, max: number?, of: sluice.Rows } Rows here / rows that left `of`.
---@field null_rate? table<string, number> Largest share of nulls by column.
---@field require? string|string[] Columns in which the first null halts.
---@field schema? table<string, string> Types that columns must have.
---@field baseline? string|{ [1]: string, min: number?, max: number? } Snapshot whose rows are compared with.
---@field action? "halt"|"warn"

---@class sluice.options.contract
---@field [1]? string A file with a contract: the own form, JSON Schema, a suite of Great Expectations, a schema of TFDV.
---@field columns? table<string, string> Columns that must be there, and their types: also "integer", "number", "any", "int32|int64".
---@field optional? string[] Those of them that need not be there.
---@field required? string|string[] Columns without nulls.
---@field unique? string|(string|string[])[] Columns, or lists of columns, in which no two rows have the same values; exact, across the whole edge.
---@field range? table<string, any> Smallest and largest value, inclusive: { 0, 1 }, { min = 0 }, "0..1"; texts by bytes.
---@field length? table<string, any> Fewest and most characters of a text.
---@field regex? table<string, string> Expression (PCRE2) that is found in every text.
---@field allowed? table<string, any[]> The values that there may be.
---@field freshness? { column: string, max_age: string, at: string, unit: string?, action: string? } How old the newest row may be at a time that is stated: tasks know no clock.
---@field evolution? "add"|"fixed" Whether other columns and members may be there. Default: add.
---@field broken? "quarantine"|"drop" What becomes of a row that breaks a rule. Default: quarantine, which max_bad counts.
---@field limit? number Largest share of rows that may break the contract; more halt the run.
---@field partial? boolean Does without what the file says and can't be checked, and names it.
---@field name? string What manifests call it; of a file: the file's name.
---@field partitions? integer Virtual partitions of the exchange of `unique`. Default: 32.

---The pipeline language: `local s = require "sluice"`.
---@class sluice
---@field math table exp, log, pow and the trigonometric functions with the same bits on every machine.
local s = {}

---Files to read: `s.files "corpus/*.zst" | s.read_jsonl {}`.
---@param patterns string|sluice.FilesDefinition
---@return sluice.Rows
function s.files(patterns) end

---The rows of a snapshot: `s.dataset "silver/web@12"`, or `"silver/web"` for the newest.
---@param reference string
---@return sluice.Rows
function s.dataset(reference) end

---Several streams as one: the rows of the first, then those of the next. All have the same columns, of the same types (a `?` more or less
---aside); a column that one of them lacks is an error, never left out. Last may come `{ missing = "null" }`: then it is null in the rows of those.
---@param first sluice.Rows|sluice.Rows[]
---@param ... sluice.Rows|{missing: "null"}
---@return sluice.Rows
function s.union(first, ...) end

---Stores the rows that come here, with the columns that stages added, in the run's directory: what is changed behind it makes nothing before it
---run again. Where the input can be read again only numbers of rows and those columns are stored. `sluice gc` removes what no run needs any more.
---@param options? {}
---@return sluice.Stage
function s.checkpoint(options) end

---Gives the stream's last stage a name.
---@generic T: sluice.Rows|sluice.Stage
---@param name string
---@param stream T
---@return T
function s.named(name, stream) end

---A stage by its name, with a side input: for composites.
---@param name string
---@param options table
---@param main sluice.Rows
---@param side? sluice.Rows
---@param partitions? integer
---@return sluice.Rows
function s.stage(name, options, main, side, partitions) end

---The declared arguments' values: `local a = s.args { out = { "path", "out" } }`.
---@param declared sluice.Options
---@return table
function s.args(declared) end

---The stages of a plugin: `local acme = s.plugin "./acme.so"`, then `docs | acme.ppl { ... }`.
---@param path string
---@return table<string, fun(options?: table|string): sluice.Stage>
function s.plugin(path) end

---The pipeline, which the script returns.
---@param definition sluice.PipelineDefinition
---@return sluice.Pipeline
function s.pipeline(definition) end

---A composite: a function that builds a part of the graph and is used as a stage.
---@param definition sluice.CompositeDefinition
---@return fun(options?: table): sluice.Stage
function s.composite(definition) end

---A regular expression, in the syntax of PCRE2; \\w, \\d and \\s are Unicode's, (?i) in front ignores case. Each worker compiles it once, and
---it is part of what a stage that uses it is. A match that takes more than a million steps is an error of its row, on any machine.
---@class sluice.Pattern
---@field source string
local Pattern = {}

---Does it match anywhere?
---@param text string
---@return boolean
function Pattern:test(text) end

---Matches, from the left, none in another.
---@param text string
---@return integer
function Pattern:count(text) end

---First and last byte of the first match, then its groups (false: took no part); or nil.
---@param text string
---@param from? integer
---@return integer? first, integer? last, string|false ...
function Pattern:find(text, from) end

---The matches' texts, or those of their first groups where it has groups.
---@param text string
---@return string[]
function Pattern:all(text) end

---The text with `with` for each match, and how many there were; $0 in it is the match, $1 its first group, $$ a dollar.
---@param text string
---@param with string
---@return string, integer
function Pattern:replace(text, with) end

---A regular expression to search texts for; methods of texts (`doc.text:matches(regex)`) take one as it is written.
---```lua
---s.filter { "no_years", function(doc)
---  if s.pattern "\\b(?:19|20)[0-9]{2}\\b":count(doc.text) > 100 then return "years" end
---end }
---```
---@param regex string
---@return sluice.Pattern
function s.pattern(regex) end

---@class sluice.List
---@field size integer How many phrases it has.
local List = {}
---Is one of the phrases in the text?
---@param text string
---@return boolean
function List:any(text) end
---How many are; they don't overlap: the leftmost first, of these the longest.
---@param text string
---@return integer
function List:count(text) end
---The first at or behind a byte: its first byte, its last, and the text there; nil: none.
---@param text string
---@param from? integer
---@return integer?, integer?, string?
function List:find(text, from) end
---What stands there, match by match.
---@param text string
---@return string[]
function List:all(text) end
---Their share of the text's bytes.
---@param text string
---@return number
function List:share(text) end
---The text with `with` in the place of each, and how many there were.
---@param text string
---@param with string
---@return string, integer
function List:replace(text, with) end
---Is the whole text one of the phrases?
---@param text string
---@return boolean
function List:has(text) end

---Phrases to look for, also millions: the lines of a file, or `phrases`. They are part of what a stage that uses them is, and are made once for all
---workers. `words` (true): a match neither begins nor ends inside of a word. `fold` (false): upper and lower case are the same. `comments`: what
---lines that are left out begin with. Make it outside of the function that uses it: `local bad = s.list { "bad_words.txt", fold = true }`, then
---`if bad:any(doc.text) then return "bad_word" end`.
---@param definition string|{[1]?: string, phrases?: string[], words?: boolean, fold?: boolean, comments?: string}
---@return sluice.List
function s.list(definition) end

---A filter: a reason drops the row, nil keeps it.
---```lua
---s.filter { "no_menus", function(doc)
---  if doc.text:starts_with "Home About" then return "menu" end
---end }
---```
---@param definition sluice.FilterDefinition
---@return sluice.LuaStage
function s.filter(definition) end

---An annotator: adds columns.
---```lua
---s.annotate { "length", function(doc) return { n_chars = doc.text:chars() } end, adds = { n_chars = "int64" } }
---```
---@param definition sluice.AnnotateDefinition
---@return sluice.LuaStage
function s.annotate(definition) end

---An annotator that asks servers. Each ask of the same stage is made once: answers are kept in the run's journal.
---```lua
---s.ask { "judge", function(doc, o, ask)
---  local r = ask { url = "http://localhost:8000/score", json = { text = doc.text } }
---  return { score = r.json.score }
---end, adds = { score = "float64" }, ask = { hosts = { "localhost:8000" } } }
---```
---@param definition sluice.AskDefinition
---@return sluice.LuaStage
function s.ask(definition) end

---A heuristic: what is measured, apart from the threshold.
---```lua
---s.heuristic { "digits", options = { max = { "float", 0.25, min = 0, max = 1 } },
---  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max" },
---  examples = { { "abc", keep = true }, { "123", keep = false } } }
---```
---@param definition sluice.HeuristicDefinition
---@return sluice.LuaStage
function s.heuristic(definition) end

---A transform: any number of rows for one.
---```lua
---s.transform { "explode", gives = { text = "utf8" }, row = function(doc, o, emit)
---  for word in doc.text:gmatch "%S+" do emit { text = word } end
---end, examples = { { "a b", gives = { { text = "a" }, { text = "b" } } } } }
---```
---@param definition sluice.TransformDefinition
---@return sluice.LuaStage
function s.transform(definition) end

---A reader: a format. A line is a record, false (no record), or nil and a reason (a bad one).
---```lua
---s.reader { "kv", gives = { id = "utf8", text = "utf8" }, record = function(line, o, file, offset)
---  local at = line:find("=", 1, true)
---  if at == nil then return nil, "no_separator" end
---  return { id = line:sub(1, at - 1), text = line:sub(at + 1) }
---end }
---```
---@param definition sluice.ReaderDefinition
---@return sluice.LuaStage
function s.reader(definition) end

---A gate. With a name: of one's own, from sums of integers. Without: contracts on rows, shares, nulls and types.
---```lua
---s.gate { "short_share", options = { max = { "float", 0.1, judge = true } },
---  measure = function(doc) return #doc.text < 50 end,
---  judge = function(sums, o) if sums.sum > o.max * sums.rows then return "halt", "too many short documents" end end }
---s.gate { rows = { min = 1000 }, pass_rate = { min = 0.1, of = docs } }
---```
---@param definition sluice.GateDefinition
---@return sluice.LuaStage
---@overload fun(contract: sluice.options.gate): sluice.Stage
function s.gate(definition) end

---A contract: what rows must be like at this edge of the pipeline. Columns and types are checked before any data is read, and a column that is
---missing is refused with what it may be called now; a row that breaks a rule is set aside, or dropped.
---```lua
---s.contract { columns = { text = "utf8", year = "integer" }, required = { "text" }, unique = { "id" }, range = { year = { 1990, 2100 } } }
---```
---@param contract string|sluice.options.contract
---@return sluice.Stage
function s.contract(contract) end

---A writer: a text a row, into the files of a dataset. Options of each: path (first), compression, level, shard_size.
---```lua
---local write_tsv = s.writer { "write_tsv", suffix = ".tsv", row = function(doc) return doc.id .. "\t" .. doc.text .. "\n" end }
---return s.pipeline { "tsv", docs | write_tsv { "out/tsv" } }
---```
---@param definition sluice.WriterDefinition
---@return sluice.LuaStage
function s.writer(definition) end

---A policy judges the run's measures at every barrier, or says what becomes of tasks that failed or are late.
---@param definition sluice.PolicyDefinition
---@return fun(options?: table): sluice.Policy
function s.policy(definition) end

---Exact duplicates by any key columns: the first of a value survives, or the one of highest priority.
---@param options? sluice.options.exact
---@return sluice.Stage
function s.exact(options) end

---The persistent index of exact: rows for s.write_jsonl, which `against` takes.
---@param options? sluice.options.exact_index
---@return sluice.Stage
function s.exact_index(options) end

---At most so many rows of each key, such as a domain or an author: those of highest priority, then the first; the others are dropped as over_cap.
---@param options sluice.options.per_key
---@return sluice.Stage
function s.per_key(options) end

---Merges the rows of a change log (inserts, updates, deletes) into the rows of a snapshot: of each key the latest stays.
---@param options sluice.options.merge
---@return sluice.Stage
function s.merge(options) end

---Repeated runs of sentences are cut out of their texts: all but the first occurrence.
---@param options? sluice.options.sentence_dedup
---@return sluice.Stage
function s.sentence_dedup(options) end

---Repeated paragraphs are cut out of their texts: all but the first occurrence.
---@param options? sluice.options.paragraph_dedup
---@return sluice.Stage
function s.paragraph_dedup(options) end

---Paragraphs whose n-grams were mostly seen before, by a Bloom filter of a stated size and rate.
---@param options? sluice.options.bloom_paragraphs
---@return sluice.Stage
function s.bloom_paragraphs(options) end

---The Bloom filter of a corpus, for s.write_bloom.
---@param options? sluice.options.bloom_index
---@return sluice.Stage
function s.bloom_index(options) end

---Drops documents that hold items of benchmarks, and says which.
---@param options? sluice.options.decontaminate
---@return sluice.Stage
function s.decontaminate(options) end

---Near-duplicates by MinHash: one of a cluster survives.
---@param options? sluice.options.minhash
---@return sluice.Stage
function s.minhash(options) end

---The persistent index of minhash: it writes the dataset that `against` takes.
---@param options? sluice.options.minhash_index
---@return sluice.Stage
function s.minhash_index(options) end

---Adds the columns of a table's row to the rows that name it: a broadcast join, for tables that fit in memory.
---@param options sluice.options.join
---@return sluice.Stage
function s.join(options) end

---What a corpus is made of: rows of statistics by group, for s.write_stats.
---@param options? sluice.options.statistics
---@return sluice.Stage
function s.statistics(options) end

---Attribute files in Dolma's layout, made by others, put to their documents: s.dolma_mix takes them.
---@param options? sluice.options.dolma_join
---@return sluice.Stage
function s.dolma_join(options) end

---An attribute file for each file of documents, under its name, for Dolma's mixer.
---@param options? sluice.options.attribute_files
---@return sluice.Stage
function s.attribute_files(options) end

---A global shuffle of documents or packed rows: the order is that of hashes, whatever the splits and workers.
---@param options? sluice.options.shuffle
---@return sluice.Stage
function s.shuffle(options) end

---A mixture of sources by weights or epochs; copies get ids of their own.
---@param options? sluice.options.mix
---@return sluice.Stage
function s.mix(options) end

---What a mixture had, took and repeated of each source, as rows: right behind s.mix.
---@param options? sluice.options.mix_table
---@return sluice.Stage
function s.mix_table(options) end

---A fixed number of documents of each source as a holdout.
---@param options? sluice.options.holdout_n
---@return sluice.Stage
function s.holdout_n(options) end

return s
