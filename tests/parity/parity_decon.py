#!/usr/bin/env python3
"""decon's rule (allenai/decon, "SIMPLE") as a model in Python against s.decontaminate { rule = "decon" }.

Usage: parity_decon.py TMP

decon itself is a Rust program that no registry has. The model is written from what its documentation and source state, with sets and
dictionaries, and knows nothing of Sluice's index: sampling of the text's 5-grams, every 10th until one is a question's; from a hit to the left and
to the right until each item of the hit has missed eleven times running; the matched n-grams' weight (inverse document frequency); the answer
behind the question (as it is up to three words, else 3-grams within the greater of 100 words and twice its length); the passage before it
(4-grams, two misses); weights .7/.2/.1, .75/.25, .85/.15 scaled by the confidence .5 + .5 N/20; the threshold from 1 at 20 words down to .8 at 50.
Where Sluice says that it differs (words for cl100k tokens, no hot n-grams, ln(1 + N/df)) the model does as Sluice. Compared of every document:
contaminated or not, the item, the score and the threshold. Item and score may be those of an equally good one.
"""
import json
import math
import os
import random
import sys

from kit import read_dataset, run_script

N, SAMPLE, MISSES, THRESHOLD = 5, 10, 11, 0.8
SHORT, ANSWER_N, PASSAGE_N = 3, 3, 4


def grams(words, n):
    return [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]


def interpolated(words, base):
    if words <= 20:
        return 1.0
    return base if words >= 50 else 1 - (1 - base) * (words - 20) / 30


class Item:
    def __init__(self, record):
        self.name = record["id"]
        self.words = {part: record.get(part, "").split() for part in ("question", "answer", "passage")}
        self.sets = {"question": set(grams(self.words["question"], N)), "passage": set(grams(self.words["passage"], PASSAGE_N)),
                     "answer": set(grams(self.words["answer"], ANSWER_N)) if len(self.words["answer"]) > SHORT else set()}

    def usable(self):
        every = [word for words in self.words.values() for word in words]
        return self.words["question"] and len(every) >= 20 and len(set(every)) >= 4

    def weights(self):
        answer, passage = bool(self.words["answer"]), bool(self.words["passage"])
        if not answer and not passage:
            return 1.0, 0.0, 0.0
        q, a, p = (0.7, 0.2, 0.1) if answer and passage else (0.75, 0.25, 0) if answer else (0.85, 0, 0.15)
        sure = min(1.0, 0.5 + 0.5 * len(self.sets["question"]) / 20)
        lost, q = q * (1 - sure), q * sure
        if answer and passage:
            a, p = a + lost / 2, p + lost / 2
            sure = min(1.0, 0.5 + 0.5 * len(set(self.words["answer"])) / 4)
            a, p = a * sure, p + a * (1 - sure)
        elif answer:
            a += lost
        else:
            p += lost
        return q, a, p


class Model:
    def __init__(self, records):
        self.items, seen = [], set()
        for record in records:
            item = Item(record)
            key = tuple(tuple(item.words[part]) for part in ("question", "answer", "passage"))
            if key not in seen and item.usable():
                self.items.append(item)
            seen.add(key)
        self.df = {part: {} for part in ("question", "answer", "passage")}
        for item in self.items:
            for part, found in item.sets.items():
                for gram in found:
                    self.df[part][gram] = self.df[part].get(gram, 0) + 1
        self.of_gram = {}
        for item in self.items:
            for gram in item.sets["question"]:
                self.of_gram.setdefault(gram, set()).add(item)

    def weight(self, part, found):
        return math.fsum(math.log(1 + len(self.items) / self.df[part][gram]) for gram in found)

    def share(self, item, part, found):
        whole = self.weight(part, item.sets[part])
        return self.weight(part, found) / whole if whole > 0 else 0.0

    def clusters(self, words):
        """For every hit: {item: (matched n-grams, first place, last place)}."""
        places = grams(words, N)
        i = 0
        while i < len(places):
            hit = self.of_gram.get(places[i])
            if not hit:
                i += SAMPLE
                continue
            matched = {item: {places[i]} for item in hit}
            spread = {item: [i, i] for item in hit}
            end = i
            for step in (-1, 1):
                missed = {item: 0 for item in hit}
                at = i
                while missed and 0 <= at + step < len(places):
                    at += step
                    there = self.of_gram.get(places[at], ())
                    for item in list(missed):
                        if item in there:
                            if places[at] not in matched[item]:
                                missed[item] = 0
                            matched[item].add(places[at])
                            spread[item] = [min(spread[item][0], at), max(spread[item][1], at)]
                        else:
                            missed[item] += 1
                            if missed[item] >= MISSES:
                                del missed[item]
                end = at
            yield [(item, matched[item], *spread[item]) for item in hit]
            i = max(i, end) + 1

    def answer(self, item, words, begin):
        answer = item.words["answer"]
        if not answer:
            return 0.0
        short = len(answer) <= SHORT
        window = words[begin:begin + (50 if short else max(100, 2 * len(answer)))]
        if short:
            return 1.0 if tuple(answer) in grams(window, len(answer)) else 0.0
        return self.share(item, "answer", item.sets["answer"] & set(grams(window, ANSWER_N)))

    def passage(self, item, words, end):
        if not item.words["passage"]:
            return 0.0
        window = words[max(0, end - max(100, 2 * len(item.words["passage"]))):end]
        found, missed = set(), 0
        for gram in reversed(grams(window, PASSAGE_N)):
            if missed > 2:
                break
            if gram in item.sets["passage"]:
                found.add(gram)
                missed = 0
            elif found:
                missed += 1
        return self.share(item, "passage", found)

    def judge(self, text):
        """{item: (score, threshold)} of all items that the text is contaminated by, each at its best place."""
        words = text.split()
        best = {}
        for cluster in self.clusters(words):
            for item, matched, first, last in cluster:
                question = self.share(item, "question", matched)
                least = (THRESHOLD - 0.3) / 0.7
                if question < interpolated(len(item.words["question"]), least) - 1e-9:
                    continue
                end = min(last + N, first + len(item.words["question"]))
                q, a, p = item.weights()
                score = q * question + a * self.answer(item, words, end) + p * self.passage(item, words, first)
                score = 1.0 if score > 1 - 1e-9 else score
                threshold = interpolated(sum(len(part) for part in item.words.values()), THRESHOLD)
                if score >= threshold - 1e-9 and score > best.get(item.name, (0, 0))[0]:
                    best[item.name] = (score, threshold)
        return best


def make(seed, n_items, n_documents):
    rng = random.Random(seed)
    vocabulary = ["w%d" % k for k in range(400)]

    def run(low, high):
        return [rng.choice(vocabulary) for _ in range(rng.randint(low, high))]
    phrases = [run(6, 9) for _ in range(12)]
    items = []
    for k in range(n_items):
        question = run(8, 60)
        if rng.random() < 0.3:
            question = rng.choice(phrases) + question
        item = {"id": "i%d" % k, "task": "t", "question": " ".join(question)}
        if rng.random() < 0.7:
            item["answer"] = " ".join(run(1, 3) if rng.random() < 0.4 else run(4, 70))
        if rng.random() < 0.4:
            item["passage"] = " ".join(run(10, 90))
        items.append(dict(rng.choice(items), id=item["id"]) if items and rng.random() < 0.03 else item)

    def changed(words, rate):
        out = []
        for word in words:
            roll = rng.random()
            if roll < rate:
                continue
            out += [word, rng.choice(vocabulary)] if roll < 2 * rate else [rng.choice(vocabulary)] if roll < 3 * rate else [word]
        return out
    documents = []
    for k in range(n_documents):
        words = run(0, 40)
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            item = rng.choice(items)
            rate = rng.choice([0, 0, 0.005, 0.01, 0.03, 0.1])
            parts = [item.get("passage", ""), item["question"], item.get("answer", "")]
            if rng.random() < 0.25:
                parts[rng.randrange(3)] = ""
            for part in parts:
                words += changed(part.split(), rate) + (run(0, 12) if rng.random() < 0.3 else [])
            words += run(0, 30)
        documents.append({"id": "d%d" % k, "text": " ".join(words)})
    return items, documents


def main():
    tmp = sys.argv[1]
    failed = found = near = 0
    for seed in range(5):
        items, documents = make(seed, 120, 2000)
        for name, rows in (("items", items), ("documents", documents)):
            with open(os.path.join(tmp, "%s%d.jsonl" % (name, seed)), "w", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in rows)
        run_script("""local s = require "sluice"
return s.pipeline { "decon", s.files "documents%d.jsonl" | s.read_jsonl {} | s.contamination { "items%d.jsonl", rule = "decon" }
  | s.write_jsonl { "out%d", columns = { "id", "contamination" }, compression = "none" } }
""" % (seed, seed, seed), tmp, "decon%d" % seed)
        ours = {row["id"]: row.get("contamination") for row in read_dataset(os.path.join(tmp, "out%d" % seed))}
        model = Model(items)
        for document in documents:
            expected, report = model.judge(document["text"]), ours[document["id"]]
            if expected:
                found += 1
                top = max(score for score, _ in expected.values())
                near += top < 1
                item = report and expected.get(report["item"])
                if item and abs(item[0] - top) < 1e-9 and abs(report["overlap"] - top) < 1e-9 and \
                        abs(report["matches"][0]["threshold"] - item[1]) < 1e-9 and \
                        (len(expected) > 10 or {match["item"] for match in report["matches"]} == set(expected)):
                    continue
            elif not report:
                continue
            failed += 1
            if failed <= 5:
                print("  seed %d, %s: ours %s, the model %s" % (seed, document["id"], json.dumps(report)[:300], dict(list(expected.items())[:3])))
    print("decon: 10000 documents, %d contaminated by the model (%d of them not wholly), %d differ" % (found, near, failed))
    sys.exit(1 if failed or not near else 0)


main()
