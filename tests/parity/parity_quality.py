#!/usr/bin/env python3
"""Compares gopher_quality, gopher_repetition, c4_quality and fineweb_quality with datatrove's filters: keep or drop, reason, edited text.

Usage: parity_quality.py TMP

The corpus is the shared one (corpus.py), every filter has its defaults and sees every document. Needs datatrove and spaCy, the program in
$SLUICE. Exit: 0 all equal but for what is explained; 1 a difference.

Explained: a document with the token IS_ALPHA (spaCy's tokenizer reads freed memory at its second one; see parity_words.py).
"""
import multiprocessing
import os
import re
import sys
import warnings

from kit import Decision, compare, make_corpus, read_corpus, run_sluice

FILTERS = {"gopher_quality": "GopherQualityFilter", "gopher_repetition": "GopherRepetitionFilter",
           "fineweb_quality": "FineWebQualityFilter", "c4_quality": "C4QualityFilter"}
MADE = {}


def make_filters():
    from datatrove.pipeline import filters
    for name, cls in FILTERS.items():
        MADE[name] = getattr(filters, cls)()


def judge(record):
    """(id, {filter: (kept, reason, text)}) by the peer."""
    from datatrove.data import Document
    if not MADE:
        warnings.simplefilter("ignore")  # means of nothing
        make_filters()
    found = {}
    for name, judged in MADE.items():  # in the order of FILTERS: the last one edits
        document = Document(text=record["text"], id=record["id"])
        try:
            result = judged.filter(document)
        except Exception as error:  # the peer's pipeline would end here
            found[name] = (None, "%s: %s" % (type(error).__name__, error), None)
            continue
        kept = result is True or (isinstance(result, tuple) and result[0])
        found[name] = (kept, None if kept else result[1], document.text if name == "c4_quality" else None)
    return record["id"], found


def main():
    tmp = sys.argv[1]
    corpus = make_corpus(tmp)
    records = list(read_corpus(corpus))
    source = {r["id"]: r["text"] for r in records}
    with multiprocessing.Pool(min(os.cpu_count(), 8)) as pool:
        theirs = dict(pool.imap_unordered(judge, records, chunksize=16))
    failed = 0
    for name in FILTERS:
        ours = run_sluice("s.%s {}" % name, corpus, tmp, name)
        peer = {i: Decision(*found[name]) for i, found in theirs.items()}
        explained = {}
        for identifier, decision in peer.items():
            if decision.kept is None:
                explained[identifier] = "the peer ends with " + decision.reason
            elif re.search(r"\bIS_ALPHA\b", source[identifier]):
                explained[identifier] = "IS_ALPHA"
        failed += compare(name, ours, peer, explained, source=source, texts=name == "c4_quality")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
