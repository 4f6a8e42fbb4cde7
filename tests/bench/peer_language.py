"""fastText's own prediction of languages, all labels with their scores, as datatrove's LanguageFilter asks for them.

    peer_language.py INPUT.jsonl MODEL

Prints the seconds of processor time of the predictions alone: reading the lines does not count.
"""
import sys
import time

import fasttext
import orjson


def main():
    fasttext.FastText.eprint = lambda *args: None
    model = fasttext.load_model(sys.argv[2])
    with open(sys.argv[1], "rb") as lines:
        texts = [(orjson.loads(line).get("text") or "").replace("\n", " ") for line in lines]
    start = time.process_time()
    for text in texts:
        model.predict(text, k=-1)
    print(f"{time.process_time() - start:.3f}")


if __name__ == "__main__":
    main()
