"""What the parity tests share: a pipeline run over a JSONL corpus, and the comparison of what two programs decided.

    from kit import Decision, compare, make_corpus, run_sluice, read_corpus
    corpus = make_corpus(tmp)                                  # corpus.py with $SLUICE_TEST_DATA and $PARITY_MEGABYTES
    ours = run_sluice("s.gopher_quality {}", corpus, tmp)      # {id: Decision(kept, reason, text)}
    theirs = {...}                                             # the same from the peer
    failed = compare("gopher_quality", ours, theirs)           # prints counts and the first differences; the number of unexplained ones
    sys.exit(1 if failed else 0)

Needs the program in $SLUICE (tests/run sets it) and Python's standard library. Text is compared where both sides have one.
"""
import collections
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))

Decision = collections.namedtuple("Decision", "kept reason text row")
Decision.__new__.__defaults__ = (None, None, None)  # reason and text may be missing; row is the whole record


def make_corpus(tmp, megabytes=None, seed=4):
    """Writes the shared corpus below tmp and gives its path."""
    path = os.path.join(tmp, "corpus.jsonl")
    size = str(megabytes or os.environ.get("PARITY_MEGABYTES") or 50)
    command = [sys.executable, os.path.join(HERE, "corpus.py"), path, "--megabytes", size, "--seed", str(seed)]
    if os.path.isdir(os.environ.get("SLUICE_TEST_DATA", "")):
        command += ["--data", os.environ["SLUICE_TEST_DATA"]]
    subprocess.run(command, check=True)
    sys.stdout.flush()
    return path


def read_corpus(path, empty=True):
    """The records of a JSONL file; without those of no text where a peer's reader skips them."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            record = json.loads(line)
            if empty or record["text"]:
                yield record


def read_dataset(path):
    """The records of the newest snapshot of a JSONL dataset."""
    for name in sorted(glob.glob(os.path.join(path, "latest", "*.jsonl*"))):
        if name.endswith(".zst"):
            data = subprocess.run(["zstd", "-dcq", name], stdout=subprocess.PIPE, check=True).stdout
        elif name.endswith(".gz"):
            data = gzip.open(name).read()
        else:
            data = open(name, "rb").read()
        for line in data.split(b"\n"):
            if line:
                yield json.loads(line)


def run_script(script, tmp, name="pipeline", workers=2, arguments=(), plugins=()):
    """Runs a Lua pipeline given as text, in tmp; ends the test when it fails."""
    path = os.path.join(tmp, name + ".lua")
    with open(path, "w", encoding="utf-8") as out:
        out.write(script)
    command = [os.environ["SLUICE"], "run", path, "--quiet", "--run-dir", os.path.join(tmp, name + ".run"), "--workers", str(workers)]
    for plugin in plugins:
        command += ["--plugin", plugin]
    result = subprocess.run(command + list(arguments), cwd=tmp, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        sys.exit("kit: %s ended with %d:\n%s" % (" ".join(command), result.returncode, result.stdout.decode(errors="replace")[-4000:]))


def run_sluice(stages, corpus, tmp, name="ours", prelude="", columns="", workers=2, split="4MiB", plugins=()):
    """{id: Decision} of `docs | STAGES` over a corpus: what is kept, and what every stage between dropped with its reason.

    stages: Lua, e.g. "s.c4_quality {} | s.gopher_quality {}"; prelude: Lua lines before the pipeline; columns: what s.read_jsonl declares
    beside id and text, e.g. 'url = "utf8"'. Undeclared members stay in the rows. Annotators' columns are in Decision.row.
    """
    script = """local s = require "sluice"
%s
local docs = s.files { %s, split = "%s" } | s.read_jsonl { columns = { %s } }
local out = docs | %s
return s.pipeline { "%s",
  out | s.write_jsonl { "%s/kept", compression = "none" },
  out.dropped | s.write_jsonl { "%s/dropped", compression = "none" } }
""" % (prelude, json.dumps(corpus, ensure_ascii=False), split, columns, stages, name.replace("-", "_"), name, name)
    run_script(script, tmp, name, workers, plugins=plugins)
    decisions = {}
    for row in read_dataset(os.path.join(tmp, name, "kept")):
        decisions[row["id"]] = Decision(True, None, row.get("text"), row)
    for row in read_dataset(os.path.join(tmp, name, "dropped")):
        if row["id"] in decisions:
            sys.exit("kit: %s: document %s is both kept and dropped" % (name, row["id"]))
        decisions[row["id"]] = Decision(False, row["drop_reason"], row.get("text"), row)
    return decisions


# What Unicode 15.0 added to 14.0, which is all that Python 3.11 knows of: (first, last).
NEW_IN_15 = ((0xCF3, 0xCF3), (0xECE, 0xECE), (0x10EFD, 0x10EFF), (0x1123F, 0x11241), (0x11B00, 0x11B09), (0x11F00, 0x11F10), (0x11F12, 0x11F3A), (0x11F3E, 0x11F59), (0x1342F, 0x1342F),
             (0x13439, 0x13455), (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1D2C0, 0x1D2D3), (0x1DF25, 0x1DF2A), (0x1E030, 0x1E06D), (0x1E08F, 0x1E08F), (0x1E4D0, 0x1E4F9), (0x1F6DC, 0x1F6DC),
             (0x1F774, 0x1F776), (0x1F77B, 0x1F77F), (0x1F7D9, 0x1F7D9), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA88), (0x1FAAD, 0x1FAAF), (0x1FABB, 0x1FABD), (0x1FABF, 0x1FABF), (0x1FACE, 0x1FACF),
             (0x1FADA, 0x1FADB), (0x1FAE8, 0x1FAE8), (0x1FAF7, 0x1FAF8), (0x31350, 0x323AF))
NEWER = re.compile("[%s]" % "".join("%s-%s" % (chr(a), chr(b)) for a, b in NEW_IN_15))


def newer_unicode(text):
    """Whether a text has a character that Sluice (Unicode 15) classifies and this Python does not know yet: a reason why decisions may differ."""
    return unicodedata.unidata_version < "15" and NEWER.search(text) is not None


def short(text, limit=160):
    text = repr(text)
    return text if len(text) <= limit else "%s... (%d)" % (text[:limit], len(text))


def difference(ours, theirs, reasons=True, texts=True):
    """None where two decisions agree, else what differs."""
    if ours is None or theirs is None:
        return "only in %s" % ("theirs" if ours is None else "ours")
    if bool(ours.kept) != bool(theirs.kept):
        return "ours %s, theirs %s" % (said(ours), said(theirs))
    if reasons and not ours.kept and (ours.reason or None) != (theirs.reason or None):
        return "ours %s, theirs %s" % (said(ours), said(theirs))
    if texts and ours.kept and ours.text is not None and theirs.text is not None and ours.text != theirs.text:
        at = next((k for k, (a, b) in enumerate(zip(ours.text, theirs.text)) if a != b), min(len(ours.text), len(theirs.text)))
        return "text differs at character %d: ours %s, theirs %s" % (at, short(ours.text[max(0, at - 20):at + 40]), short(theirs.text[max(0, at - 20):at + 40]))
    return None


def said(decision):
    return "keeps" if decision.kept else "drops (%s)" % decision.reason


def compare(label, ours, theirs, explained=None, reasons=True, texts=True, show=10, source=None):
    """Compares {id: Decision}; prints counts and the first differences; gives the number of unexplained differences.

    explained: {id: why} or a function (id, ours, theirs) -> why or None, for differences that are known and stated.
    source: {id: text} to show with a difference. No decisions at all are a difference, too.
    """
    unexplained, why = [], collections.Counter()
    for identifier in sorted(set(ours) | set(theirs)):
        found = difference(ours.get(identifier), theirs.get(identifier), reasons, texts)
        if found is None:
            continue
        reason = None
        if callable(explained):
            reason = explained(identifier, ours.get(identifier), theirs.get(identifier))
        elif explained:
            reason = explained.get(identifier)
        if reason:
            why[reason] += 1
        else:
            unexplained.append((identifier, found))
    counts = collections.Counter("kept" if d.kept else d.reason or "dropped" for d in theirs.values())
    print("%-24s %d documents, %d differ%s" % (label, len(theirs), len(unexplained), "".join("; %d explained: %s" % (n, r) for r, n in sorted(why.items()))))
    print("    %s" % ", ".join("%s %d" % item for item in sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
    for identifier, found in unexplained[:show]:
        print("  DIFFERS %s: %s" % (identifier, found))
        if source and identifier in source:
            print("    %s" % short(source[identifier], 300))
    if len(unexplained) > show:
        print("  ... and %d more" % (len(unexplained) - show))
    sys.stdout.flush()
    if not ours or not theirs:
        print("  DIFFERS %s: nothing was compared" % label)
        return 1
    return len(unexplained)
