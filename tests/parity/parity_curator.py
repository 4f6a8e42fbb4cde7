#!/usr/bin/env python3
"""NeMo Curator's and Data-Juicer's numeric heuristics against scripts/heuristics/{curator,data_juicer}.lua.

Usage: parity_curator.py TMP PACKAGES

Of every document of the shared corpus: the decision at the default thresholds, and the number that was measured, exactly. The numbers of
ours come from runs whose threshold drops all but the documents that have its value. PACKAGES holds both packages without what they depend on;
a module that is not there is stood in for by one whose names are all there and do nothing. Explained, and counted as such: documents on which
the peer divides by zero; n-grams that are equally frequent, between which the peer's choice changes from process to process; letters beyond
L* that regex's [[:alpha:]] knows; characters newer than this Python's Unicode.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
import unicodedata

from kit import make_corpus, newer_unicode, read_corpus, read_dataset, run_script

STANDS_IN = set()


class Anything(type):
    """A class whose every attribute is such a class, and whose call gives back what it decorates."""
    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return make(name)

    def __call__(cls, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return make(cls.__name__)

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, key):
        return cls

    def __iter__(cls):
        return iter(())

    def __mro_entries__(cls, bases):
        return (object,)


def make(name):
    return Anything(name, (), {})


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return make(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: whatever no other one knows, outside the packages that count."""
    def find_spec(self, fullname, path=None, target=None):
        top = fullname.split(".")[0]
        if top in ("nemo_curator", "data_juicer", "emoji"):
            return None
        if top != fullname and top not in STANDS_IN:
            return None
        STANDS_IN.add(top)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def load(packages, name, file):
    """A module of a package whose __init__ would import the world: its own file alone, under its name."""
    parts = name.split(".")
    for k in range(1, len(parts)):
        parent = ".".join(parts[:k])
        if parent not in sys.modules:
            module = StandIn(parent)
            module.__path__ = [os.path.join(packages, *parts[:k])]
            sys.modules[parent] = module
    spec = importlib.util.spec_from_file_location(name, os.path.join(packages, file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_curator(packages):
    base = "nemo_curator.stages.text."
    folder = "nemo_curator/stages/text/"
    for module in ("utils.constants", "utils.text_utils", "filters.doc_filter"):
        load(packages, base + module, folder + module.replace(".", "/") + ".py")
    string = load(packages, base + "filters.heuristic.string", folder + "filters/heuristic/string.py")
    repetition = load(packages, base + "filters.heuristic.repetition.repetition", folder + "filters/heuristic/repetition/repetition.py")
    return string, repetition


class OldFilter:
    """What the text filters of Data-Juicer use of their base class: the range of what is kept, ends included unless an option says otherwise."""
    def __init__(self, *args, **kwargs):
        self.text_key = "text"

    def get_keep_boolean(self, value, low=None, high=None):
        return (low is None or value >= low) and (high is None or value <= high)


def load_juicer(packages):
    base = types.ModuleType("data_juicer.ops.base_op")
    registry = types.SimpleNamespace(register_module=lambda *_args, **_kwargs: lambda cls: cls)
    base.OPERATORS = base.TAGGING_OPS = base.UNFORKABLE = registry
    base.Filter = OldFilter
    for name in ("data_juicer", "data_juicer.ops", "data_juicer.ops.common", "data_juicer.ops.filter", "data_juicer.utils"):
        module = StandIn(name)
        module.__path__ = [os.path.join(packages, *name.split("."))]
        sys.modules[name] = module
    sys.modules["data_juicer.ops.base_op"] = base
    fusion = types.ModuleType("data_juicer.ops.op_fusion")
    fusion.INTER_LINES = fusion.INTER_WORDS = registry
    sys.modules["data_juicer.ops.op_fusion"] = fusion
    helper = load(packages, "data_juicer.ops.common.helper_func", "data_juicer/ops/common/helper_func.py")
    special = load(packages, "data_juicer.ops.common.special_characters", "data_juicer/ops/common/special_characters.py")
    common = sys.modules["data_juicer.ops.common"]
    for module in (helper, special):
        for name, value in vars(module).items():
            if not name.startswith("_"):
                setattr(common, name, value)
    load(packages, "data_juicer.utils.constant", "data_juicer/utils/constant.py")
    models = types.ModuleType("data_juicer.utils.model_utils")
    models.get_model = lambda *_args, **_kwargs: None
    models.prepare_model = lambda *_args, **_kwargs: None
    sys.modules["data_juicer.utils.model_utils"] = models
    found = {}
    for name, cls in (("alphanumeric", "AlphanumericFilter"), ("average_line_length", "AverageLineLengthFilter"),
                      ("maximum_line_length", "MaximumLineLengthFilter"), ("text_length", "TextLengthFilter"),
                      ("special_characters", "SpecialCharactersFilter"), ("words_num", "WordsNumFilter"),
                      ("word_repetition", "WordRepetitionFilter"), ("character_repetition", "CharacterRepetitionFilter"),
                      ("stopwords", "StopWordsFilter"), ("flagged_words", "FlaggedWordFilter")):
        found[name] = getattr(load(packages, "data_juicer.ops.filter.%s_filter" % name, "data_juicer/ops/filter/%s_filter.py" % name), cls)
    return found


STOP = ["the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "der", "die", "und", "не"]
FLAGGED = ["damn", "hell", "kill", "blood", "sex", "naked", "ass", "the"]


def cases(packages, tmp):
    """(name, Lua of the default, Lua of the run for numbers, value of documents that that one keeps, score(text), keep(score))"""
    string, repetition = load_curator(packages)
    top, low = "max = 0", 0
    one = "min = 1"
    many = "min = 1000000000, max = 1000000000"
    curator = [("non_alpha_numeric", string.NonAlphaNumericFilter(), top, low), ("symbols", string.SymbolsToWordsFilter(), top, low),
               ("numbers", string.NumbersFilter(), top, low), ("urls", string.UrlsFilter(), top, low),
               ("pornographic_urls", string.PornographicUrlsFilter(), None, None), ("bullets", string.BulletsFilter(), top, low),
               ("white_space", string.WhiteSpaceFilter(), top, low), ("parentheses", string.ParenthesesFilter(), top, low),
               ("long_word", string.LongWordFilter(), top, low), ("word_count", string.WordCountFilter(), many, None),
               ("boilerplate", string.BoilerPlateStringFilter(), top, low), ("mean_word_length", string.MeanWordLengthFilter(), "min = 1e6, max = 1e6", None),
               ("punctuation", string.PunctuationFilter(), top, low), ("ellipsis", string.EllipsisFilter(), top, low),
               ("common_english", string.CommonEnglishWordsFilter(stop_at_false=False), "min = 1000000000", None),
               ("words_with_letters", string.WordsWithoutAlphabetsFilter(), one, 1), ("repeated_lines", repetition.RepeatedLinesFilter(), one, 1),
               ("repeated_paragraphs", repetition.RepeatedParagraphsFilter(), one, 1), ("repeated_lines_char", repetition.RepeatedLinesByCharFilter(), one, 1),
               ("repeated_paragraphs_char", repetition.RepeatedParagraphsByCharFilter(), one, 1),
               ("top_ngrams", repetition.RepeatingTopNGramsFilter(), top, low), ("duplicate_ngrams", repetition.RepeatingDuplicateNGramsFilter(), top, low),
               ("duplicate_ngrams n=5", repetition.RepeatingDuplicateNGramsFilter(n=5, max_repeating_duplicate_ngram_ratio=0.15), top, low)]
    for name, peer, extreme, rest in curator:
        given = ""
        lua = name
        if name == "duplicate_ngrams n=5":
            given, lua = "n = 5, max = 0.15", "duplicate_ngrams"
        numbers = None if extreme is None else "curator.%s { %s }" % (lua, extreme if not given else "n = 5, max = 0")
        yield "curator " + name, "curator.%s { %s }" % (lua, given), numbers, rest, peer.score_document, peer.keep_document
    for kind, words in (("stopwords", STOP), ("flagged_words", FLAGGED)):
        with open(os.path.join(tmp, kind + ".json"), "w", encoding="utf-8") as out:
            json.dump({"en": words}, out)
    assets = types.ModuleType("data_juicer.utils.asset_utils")
    assets.ASSET_DIR = tmp
    assets.load_words_asset = lambda words_dir, words_type: json.load(open(os.path.join(words_dir, words_type + ".json"), encoding="utf-8"))
    sys.modules["data_juicer.utils.asset_utils"] = assets
    for name, cls in load_juicer(packages).items():
        peer = cls()
        huge = "min = 1e15, max = 1e15"
        extreme, rest = {"alphanumeric": (huge, None), "special_characters": (huge, None), "word_repetition": ("min = 1, max = 1", 1),
                         "character_repetition": ("min = 1, max = 1", 1), "stopwords": ("min = 1, max = 1", 1), "flagged_words": ("min = 1, max = 1", 1),
                         "average_line_length": (huge, None)}.get(name, ("min = 1000000000000000, max = 1000000000000000", None))
        words = {"stopwords": "words = { %s }, " % ", ".join(json.dumps(w, ensure_ascii=False) for w in STOP),
                 "flagged_words": "words = { %s }, " % ", ".join(json.dumps(w, ensure_ascii=False) for w in FLAGGED)}.get(name, "")

        def score(text, peer=peer):
            stats = {}
            if hasattr(peer, "compute_stats_batched"):
                peer.compute_stats_batched({"text": [text], "__dj__stats__": [stats]})
            else:
                peer.compute_stats_single({"text": text, "__dj__stats__": stats})
            return next(iter(stats.values()))

        def keep(value, peer=peer):
            low = getattr(peer, "min_ratio", getattr(peer, "min_len", getattr(peer, "min_num", None)))
            high = getattr(peer, "max_ratio", getattr(peer, "max_len", getattr(peer, "max_num", None)))
            return peer.get_keep_boolean(value, low, high)
        yield "juicer " + name, "juicer.%s { %s }" % (name, words), "juicer.%s { %s%s }" % (name, words, extreme), rest, score, keep


def run_ours(corpus, tmp, all_cases):
    """[({id: reason} dropped by default, {id: value} of the documents dropped for their numbers)]"""
    sinks = []
    for k, case in enumerate(all_cases):
        for kind, stage in (("d", case[1]), ("n", case[2])):
            if stage is not None:
                sinks.append('  (docs | s.named("%s%d", %s)).dropped | s.write_jsonl { "o/%s%d", columns = { "id", "drop_reason", "drop_value" }, '
                             'compression = "none" },' % (kind, k, stage, kind, k))
    run_script("""local s = require "sluice"
local curator = require "heuristics.curator"
local juicer = require "heuristics.data_juicer"
local docs = s.files { %s, split = "4MiB" } | s.read_jsonl {}
return s.pipeline { "numbers",
%s
}
""" % (json.dumps(corpus), "\n".join(sinks)), tmp, "numbers")
    for k, case in enumerate(all_cases):
        dropped = {row["id"]: row["drop_reason"] for row in read_dataset(os.path.join(tmp, "o/d%d" % k))}
        numbers = {} if case[2] is None else {row["id"]: row["drop_value"] for row in read_dataset(os.path.join(tmp, "o/n%d" % k))}
        yield dropped, numbers


def tied(text, n):
    """Whether several n-grams are the most frequent ones, as Curator counts them."""
    words = text.split()
    counts = {}
    for gram in zip(*[words[i:] for i in range(n)]):
        counts[gram] = counts.get(gram, 0) + 1
    most = max(counts.values(), default=0)
    return sum(count == most for count in counts.values()) > 1


def explain(name, text):
    if newer_unicode(text):
        return "newer Unicode"
    if name == "curator top_ngrams" and tied(text, 2):
        return "a tie"
    if name == "curator words_with_letters" and any(not c.isalpha() and unicodedata.category(c) in ("Nl", "So", "Mn", "Mc", "Me") for c in text):
        return "alphabetic but no letter"
    if name == "curator words_with_letters" and any(unicodedata.category(c) == "Cn" for c in text):
        return "newer Unicode"
    return None


def main():
    tmp, packages = sys.argv[1:3]
    sys.path.insert(0, packages)
    sys.meta_path.append(Finder())
    corpus = make_corpus(tmp)
    records = list(read_corpus(corpus))
    all_cases = list(cases(packages, tmp))
    failed = 0
    begin = os.times()
    results = list(run_ours(corpus, tmp, all_cases))
    now = os.times()
    ours_time = now.children_user + now.children_system - begin.children_user - begin.children_system
    for case, (dropped, numbers) in zip(all_cases, results):
        name, _, extreme, rest, score, keep = case
        differ, explained, zero = 0, {}, 0
        for record in records:
            text = record["text"]
            try:
                value = score(text)
            except (ZeroDivisionError, ValueError):
                zero += 1
                continue
            ours = numbers.get(record["id"], rest)
            same = keep(value) == (record["id"] not in dropped) and (extreme is None or (ours is not None and ours == value))
            if same:
                continue
            why = explain(name, text)
            if why is not None:
                explained[why] = explained.get(why, 0) + 1
                continue
            differ += 1
            if differ <= 3:
                print("  %s: %s: ours %r (%s), theirs %r (%s)" % (name, record["id"], ours, "drops" if record["id"] in dropped else "keeps",
                                                                    value, "keeps" if keep(value) else "drops"))
        failed += differ
        print("%-34s %6d documents, %4d dropped, %d differ; the peer fails on %d; explained: %s"
              % (name, len(records), len(dropped), differ, zero, ", ".join("%s %d" % item for item in sorted(explained.items())) or "none"))
    end = os.times()
    print("processor time: ours %.1f s (each measure twice), theirs %.1f s" % (ours_time, end.user + end.system - now.user - now.system))
    print("numbers and decisions of %d heuristics: %s" % (len(all_cases), "identical" if failed == 0 else "%d differences" % failed))
    sys.exit(1 if failed else 0)


main()
