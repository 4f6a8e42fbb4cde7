#!/usr/bin/env python3
"""Writes the corpus on which Sluice and its peers are compared: hostile documents first, then real text.

Usage: corpus.py OUT.jsonl [--data DIR] [--megabytes N] [--seed S]

Every line is {"id", "text", "url"}; ids are unique, urls are never empty, texts are valid Unicode. "adv/…" are made by hand or by the
seed, the others come from the *.jsonl.zst and *.tar.zst of DIR (from any text below it where it has none of those), about as
many bytes of each kind, cut to 200,000 characters except for one in eight, in an order the seed tells. Without a DIR: the corpus of
the demonstration, else the documentation of the machine. "adv/empty" has no text: readers of some peers skip it.
The same arguments give the same bytes. Needs Python's standard library, and `zstd` and `tar` for archives.
"""
import argparse
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile

CUT = 200000
HERE = os.path.dirname(os.path.abspath(__file__))
ENGLISH = ("the quick brown fox jumps over the lazy dog and that is what we have to be with . It was of great interest to those who "
           "read about such things in the evening , for they had never seen a fox that could jump so well").split()

# Pieces of hostile text: the random documents are mixes of these.
PIECES = [
    "Hello, world!", "don't", "I'm", "can't've", "y'all'd've", "won\u2019t", "he'll", "WE'LL", "Gonna", "cannot", "O'Neill's", "rock'n'roll",
    "Mr. Smith", "U.S.A.", "e.g.", "i.e.,", "a.m.", "p.m.", "Ph.D.", "vs.", "Jan.", "10am", "5km", "$3.50", "\u20ac1.000,00", "50%", "1,234.56", "-12",
    "+1-202-555-0143", "(c)", ":-)", ":(", "<3", "\u00af\\_(\u30c4)_/\u00af", "...", "\u2026", "wait... what?!", "?!?!", "!!!", "--", "\u2014", "\u2013", "a--b",
    "\"quoted\"", "\u201cquoted\u201d", "\u2018single\u2019", "\u00abguillemets\u00bb", "''double''", "``ticks''", "'", "\"", "(parens)", "[1]", "[citation needed]",
    "{", "}", "{x}", "function() { return 1; }", "lorem ipsum", "Lorem Ipsum dolor sit amet", "javascript", "JavaScript must be enabled.",
    "terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies",
    "john.doe@example.com", "a.b+c@sub.example.co.uk", "user@localhost", "@handle", "#hashtag", "192.168.0.1", "8.8.8.8", "256.1.1.1", "1.2.3.4:80",
    "10.0.0.1", "2001:db8::1", "http://example.com", "https://www.example.org/a/b?c=d&e=f#g", "www.site.com", "ftp://h/x", "example.com/path", "mailto:x@y.z",
    "- item", "* item", "\u2022 bullet", "\u25cf bullet", "\u2023 x", "\u25e6 y", "1. first", "a) b", "# Title", "## Section", "> quote", "| a | b |", "---", "***", "===",
    "#", "##", "...\n", "\u2026\n", "Read more...", "Share this", "Click here", "Sign-in", "items in cart", "Read comments",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "1\ufe0f\u20e3",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u200fabc\u200e", "\u202eevil\u202c", "\u0664\u0662", "\u06f1\u06f2\u06f3", "\u0967\u0968\u0969",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e\u0964", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3002", "\uff26\uff55\uff4c\uff4c\u3000\uff11\uff12\uff13", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8.",
    "\u0413\u0434\u0435 \u043b\u043e\u0433\u0438\u043a\u0430?", "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac;", "Stra\u00dfe \u0130stanbul \u01c5 \ufb01n", "e\u0301a\u0308o\u0302", "Z\u0351\u036b\u0343a\u0300\u0301\u0302\u0303l\u0315g\u0321o\u0322", "\u1e9e\u2126\u212a", "\u00bd \u00b2 \u2167 \u2460",
    " ", "  ", "\t", "\u00a0", "\u2003", "\u2009", "\u202f", "\u205f", "\u3000", "\u1680", "\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad",
    "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029",
    "\x01", "\x07", "\x08", "\x1b[0m", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\ue000", "\U0010ffff", "\u0378",
    "a" * 60, "ab" * 40, "-" * 30, "_____", "=====", "x" * 1001, "\u00e9" * 30, "word " * 12, "word. " * 6, "<p>", "</div>", "&amp;", "&nbsp;", "\\n", "\\u0041", "%20",
    "and/or", "well-known", "state-of-the-art", "C++", "C#", ".NET", "AT&T", "Q&A", "24/7", "1990s", "'90s", "3rd", "x86_64", "snake_case", "camelCase", "A.B.C",
    "the", "be", "to", "of", "and", "that", "have", "with", "The", "This is a sentence.", "Is this one?", "Yes!", "No.", "And so on...", "end.", "end?", "end!", "end\"", "end.\"", "end\u3002",
]
SEPARATORS = [" ", " ", " ", " ", "", "\n", "\n", "\n\n", ". ", ", ", "\t", "\r\n", "\u3000", "  "]
SCALARS = ((0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0xe00), (0xe00, 0x2000), (0x2000, 0x2c00), (0x2e80, 0xa000), (0xa000, 0xd800),
           (0xe000, 0x10000), (0x10000, 0x20000), (0x1f300, 0x1fb00), (0, 0x20), (0x20000, 0x110000))

SURROGATE = re.compile("[\ud800-\udfff]")

HOSTS = ["example.com", "www.example.com", "news.bbc.co.uk", "blog.example.co.uk", "shop.example.com.au", "a.b.c.example.org", "someone.github.io", "foo.blogspot.com",
         "myblog.wordpress.com", "en.wikipedia.org", "de.m.wikipedia.org", "stackoverflow.com", "arxiv.org", "www.gov.uk", "city.kawasaki.jp", "www.city.kobe.jp",
         "xn--e1afmkfd.xn--p1ai", "\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444", "b\u00fccher.example.de", "xn--bcher-kva.example.de", "\u4f8b\u5b50.\u4e2d\u56fd", "localhost", "intranet", "192.168.0.1", "8.8.8.8",
         "[2001:db8::1]", "1.2.3.4.5", "EXAMPLE.COM", "Example.Org.", "s3.amazonaws.com", "bucket.s3.amazonaws.com", "co.uk", "com", "example.notatld", "sub_domain.example.net",
         "hotcams.example.com", "free-porn-videos.example.net", "casino-poker.example.info", "xxx.example.biz", "sussex.ac.uk", "www.essex.ac.uk", "scunthorpe.gov.uk",
         "adultfriends.example.com", "buy-viagra-online.example.ru", "malware-download.example.cc", "onlinegambling.example.com", "sexy-girls.tumblr.com", "nudes.example.tv"]
PATHS = ["", "/", "/index.html", "/a/b/c", "/2021/05/17/title-of-the-post", "/search?q=free+sex+cams", "/watch?v=dQw4w9WgXcQ", "/%7Euser/", "/path;p=1?x=y#frag", "/page.php?id=12&cat=porn",
         "/Adult/Content", "/escort-service-in-town", "/wiki/Sussex", "/live/webcam-chat", "/poker/online", "/caf\u00e9/\u00fcber", "/a b", "//double//slash", "/download/keygen/crack", "/wp-content/uploads/x.jpg"]
ODD_URLS = ["http://", "not a url", "example.com/path", "//example.org/x", "mailto:x@y.z", "HTTP://EXAMPLE.COM/", "ftp://u:p@host.co.uk:21/a?b#c", "https://user:secret@shop.example.com:8443/cart",
            "http://http://example.com", "https:///nohost", "http://.com", "http://-a-.com/", "http://a..b.com/", "javascript:alert(1)", "data:text/plain,hi", "file:///etc/motd", " http://example.com/ ",
            "http://example.com:99999/", "http://[::1]:8080/x", "x", "https://www.example.com?x=1", "https://www.example.com#top", "http://\u2603.example.com/", "http://ex\u00e4mple.com/", "http://example.com\\@evil.com/"]


def stable_random(*parts):
    return random.Random(int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()[:8], "big"))


def make_url(identifier, seed):
    rng = stable_random("url", seed, identifier)
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(ODD_URLS)
    if kind < 0.5:
        host = rng.choice(HOSTS)
    else:  # many registered domains, a few of them frequent
        name = "site%d" % int(400 * rng.random() ** 2)
        host = rng.choice(["", "", "www.", "m.", "blog."]) + name + rng.choice([".com", ".com", ".org", ".net", ".co.uk", ".de", ".fr", ".com.br", ".co.jp", ".info", ".gov.in"])
    port = rng.choice(["", "", "", "", "", "", ":80", ":8080"])
    return rng.choice(["http://", "https://", "https://"]) + host + port + rng.choice(PATHS)


def prose(rng, words):
    out = []
    while len(out) < words:
        n = rng.randint(4, 18)
        sentence = [rng.choice(ENGLISH) for _ in range(n)]
        out += [sentence[0].capitalize()] + sentence[1:-1] + [sentence[-1] + rng.choice([".", ".", ".", "?", "!", ";", ""])]
    return " ".join(out)


def fixed():
    """(name, text): what breaks word splitters, line rules and readers."""
    rng = random.Random(1)
    out = [("empty", ""), ("space", " "), ("spaces", " " * 50), ("newline", "\n"), ("newlines", "\n" * 50), ("crlf", "\r\n" * 7), ("nul", "a\x00b \x00\x00 c"), ("one-word", "word"),
           ("one-letter", "a"), ("one-ideograph", "\u4e2d"), ("one-emoji", "\U0001f600"), ("one-mark", "\u0301"), ("one-bom", "\ufeff"), ("one-zwj", "\u200d"), ("one-dot", "."), ("one-nbsp", "\u00a0"),
           ("one-line", prose(rng, 60)), ("no-spaces", "a" * 20000), ("no-spaces-mixed", "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(20000))),
           ("no-spaces-chinese", "\u7684\u4e00\u662f\u4e0d\u4e86\u4eba\u6211\u5728\u6709\u4ed6\u3002\uff0c" * 800), ("no-spaces-thai", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01" * 300),
           ("emoji", "\U0001f600\U0001f603\U0001f604 " * 80), ("emoji-zwj", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 60 + " \U0001f3f3\ufe0f\u200d\U0001f308 text"),
           ("emoji-flags", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ee" * 21), ("emoji-skin", "\U0001f44d\U0001f3fd\U0001f44d\U0001f3ff ok " * 30), ("emoji-keycap", "1\ufe0f\u20e3 2\ufe0f\u20e3 #\ufe0f\u20e3 " * 20),
           ("rtl-arabic", "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u0648\u0631\u062d\u0645\u0629 \u0627\u0644\u0644\u0647\u060c \u0643\u064a\u0641 \u062d\u0627\u0644\u0643\u061f " * 40),
           ("rtl-hebrew", "\u05e9\u05dc\u05d5\u05dd \u05dc\u05db\u05d5\u05dc\u05dd. \u05de\u05d4 \u05e9\u05dc\u05d5\u05de\u05db\u05dd? " * 40), ("rtl-mixed", "abc \u200f\u0627\u0644\u0633\u0644\u0627\u0645 123\u200e def \u202b\u05e9\u05dc\u05d5\u05dd\u202c. " * 30),
           ("bidi-controls", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069text" * 20), ("combining", "e\u0301\u0302\u0303 a\u0308 n\u0303 " * 60),
           ("zalgo", "".join(c + "".join(chr(0x300 + rng.randrange(0x70)) for _ in range(12)) for c in "He comes, the nezperdian hive-mind of chaos")), ("marks-only", "\u0301" * 500),
           ("devanagari", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e\u0964 \u092f\u0939 \u090f\u0915 \u0935\u093e\u0915\u094d\u092f \u0939\u0948\u0965 " * 40), ("hangul-jamo", "\u1112\u1161\u11ab\u1100\u116e\u11a8 " * 60),
           ("line-1mb", prose(rng, 205000)[:1000000]), ("lines-1mb-2", "start\n" + prose(rng, 30000)[:150000] + "\nend."), ("controls", "".join(chr(c) for c in range(0x20)) * 10 + "text \x7f\x80\x9f"),
           ("controls-between", " ".join("w%s" % chr(c) for c in list(range(0x20)) + list(range(0x7f, 0xa1)))), ("terminators", "one\ntwo\r\nthree\rfour\x0bfive\x0csix\x1cseven\x1deight\x1enine\x1ften\x85eleven\u2028twelve\u2029thirteen"),
           ("terminators-trailing", "one.\n\n\r\n two.\u2028\u2029\n"), ("terminators-doubled", "a.\n\nb.\r\n\r\nc.\r\rd.\n\r\ne.\u2029\u2029f."), ("spaces-unicode", "a" + "b".join("\t \x0b\x0c\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000") + "c"),
           ("spaces-not", "a" + "b".join("\u180e\u200b\u200c\u200d\u2060\ufeff\u00ad") + "c"), ("nbsp", "non\u00a0breaking\u00a0spaces " * 30), ("ideographic-space", "\u5168\u89d2\u3000\u7a7a\u767d " * 30),
           ("fullwidth", "\uff34\uff48\uff49\uff53 \uff49\uff53 \uff46\uff55\uff4c\uff4c\uff0e\uff11\uff12\uff13\uff01 " * 20), ("short-lines", "a\n" * 5000), ("short-lines-words", "\n".join(rng.choice(ENGLISH) for _ in range(3000))),
           ("short-lines-sentences", "\n".join("It is so." for _ in range(500))), ("punctuation", "!?.,;:-()[]{}\"'" * 40), ("punctuation-lines", "\n".join("!?.,;:" for _ in range(100))), ("dots", "." * 2000), ("dots-spaced", ". " * 500),
           ("ellipses", "word... " * 100), ("ellipses-lines", "\n".join(["This line goes on..."] * 20 + ["and this\u2026"] * 20)), ("hashes", "#tag #tag2 ### # " * 50), ("brackets", "{ a } { b } [1] [2] (c) " * 20),
           ("curly", "A sentence with a curly bracket in it {like this}.\n" + prose(rng, 80)), ("lorem", prose(rng, 60) + "\nLorem ipsum dolor sit amet.\n" + prose(rng, 60)), ("javascript", prose(rng, 40) + "\nPlease enable JavaScript to see this page.\n" + prose(rng, 60)),
           ("policy", prose(rng, 40) + "\nThis site uses cookies and a privacy policy applies here.\n" + prose(rng, 60)), ("citation", "A fact.[1] Another fact.[citation needed] And [edit] more.[12]\n" * 10), ("quotes-ends", "\"He said so.\"\n\u201cShe said so.\u201d\nThey said 'so.'\n" * 10),
           ("bullets", "\n".join(b + " an item of the list that has some words" for b in ["-", "*", "\u2022", "\u25cf", "\u25e6", "\u2023", "\u25aa", "1.", "a)"] * 6)), ("bullets-only", "\n".join(["\u2022 item"] * 60)),
           ("urls", "\n".join("https://www.example.com/%d?%s" % (i, "q" * 40) for i in range(60))), ("url-long", "see https://example.com/" + "a/b" * 1500 + " for more"), ("emails", "write to john.doe@example.com or jane+x@mail.example.co.uk, not to root@localhost. " * 10),
           ("ips", "hosts 8.8.8.8, 192.168.1.1, 10.0.0.1, 256.300.1.1, 1.2.3, 172.16.0.1 and 203.0.113.77:80. " * 10), ("numbers-scripts", "\u0661\u0662\u0663 \u0967\u0968\u0969 \u0e51\u0e52\u0e53 \u2167 \u00bd \u00b2 \uff11\uff12 \U0001d7ce 123 " * 20), ("numbers", " ".join(str(i * 7919) for i in range(2000))),
           ("contractions", "I'm you're he's she'd we've they'll can't won't don't isn't y'all o'clock ma'am 'tis 'twas rock'n'roll I\u2019m don\u2019t " * 10), ("abbreviations", "Dr. A. B. Smith Jr., Ph.D., of the U.S.A. met Mr. and Mrs. Jones at 5 p.m. on Jan. 3rd vs. Feb. 4th, e.g. at St. Mary's Inc. " * 10),
           ("hyphens", "state-of-the-art well-known e-mail co-operate \u2010 \u2011 \u2012 \u2013 \u2014 \u2015 - -- --- " * 20), ("case", "\u00df \u1e9e \u0130 \u0131 \u01c5 \ufb01 \u03a3\u03c3\u03c2 \u212a \u2126 STRASSE " * 20), ("repeat-line", "The same line again and again.\n" * 60),
           ("repeat-paragraph", "The same paragraph of some words.\n\n" * 40), ("repeat-words", "spam " * 400), ("repeat-ngrams", "one two three four five six seven eight nine ten " * 40), ("repeat-chars", ("ab" * 30 + " ") * 20), ("repeat-tail", prose(rng, 100) + " end" * 200),
           ("long-words", " ".join("w" * n for n in range(1, 120))), ("word-1001", "x" * 1001 + " " + prose(rng, 40)), ("word-1000", "x" * 1000 + " " + prose(rng, 40)), ("single-chars", "a b c d e f g h i j " * 40), ("tabs", "a\tb\t\tc\n" * 60), ("trailing-spaces", "line with spaces.   \n   and more.\t\n" * 20),
           ("blank-lines", prose(rng, 30) + "\n \n\t\n\u00a0\n\u3000\n" + prose(rng, 30)), ("html", "<html><body><p class=\"x\">Text &amp; more</p><script>var a = {b: 1};</script></body></html>\n" * 10), ("json", "{\"a\": [1, 2, {\"b\": null}], \"c\": \"\\u0041\\n\"}\n" * 20),
           ("replacement", "bad \ufffd bytes \ufffd\ufffd here " * 20), ("private-use", "\ue000\ue001 \uf8ff \U000f0000 \U0010ffff " * 20), ("noncharacters", "\ufffe\uffff\ufdd0 \U0001ffff x " * 10), ("unassigned", "\u0378\u0379 \u0e00 \U0001fbff a " * 10), ("bom-start", "\ufeffThe text begins with a mark. " + prose(rng, 40)), ("soft-hyphen", "hy\u00adphen\u00adation " * 40),
           ("variation", "\u2764\ufe0f \u2764\ufe0e \u82a6\U000e0100 " * 20), ("tags", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f " * 10), ("ligatures", "\ufb00\ufb01\ufb02\ufb03 \u0132 \u01c4 \u00e6 \u0153 " * 20), ("math", "\U0001d400\U0001d41a \u2211\u222b\u221a \u2264 \u2260 x\u00b2+y\u00b2=z\u00b2 " * 20), ("end-marks", "One. Two! Three? Four\u3002Five\uff01Six\uff1f Seven\u0964 Eight\u06d4 Nine\u203d Ten\u2049 " * 10)]
    # Word counts and lengths at the thresholds of the rules, from both sides.
    for n in (1, 2, 3, 4, 5, 48, 49, 50, 51, 52, 79, 80, 81, 99, 100, 101):
        out.append(("words-%d" % n, " ".join(ENGLISH[i % len(ENGLISH)] for i in range(n)) + "."))
    for n in (1, 2, 3, 4, 5, 6, 7):
        out.append(("sentences-%d" % n, " ".join("This is sentence number %d of them." % i for i in range(n))))
        out.append(("lines-%d" % n, "\n".join("This is line number %d of the text and it has words." % i for i in range(n))))
    for n in (2, 3, 4, 5, 6, 7, 8, 9, 10):
        out.append(("ngram-twice-%d" % n, prose(rng, 40) + (" " + " ".join("g%d" % i for i in range(n))) * 2 + " " + prose(rng, 40)))
        out.append(("line-twice-%d" % n, "\n".join([prose(rng, 9) for _ in range(10)] + ["The line that comes again."] * n)))
        out.append(("hash-ratio-%d" % n, " ".join(["word"] * (10 * n) + ["#"] * n) + "."))
        out.append(("dots-ratio-%d" % n, "\n".join(["This one ends well."] * 10 + ["This one does not..."] * n)))
        out.append(("bullet-ratio-%d" % n, "\n".join(["A line of words."] * 2 + ["- a bullet of words"] * 2 * n)))
        out.append(("alpha-ratio-%d" % n, " ".join(["word"] * 40 + ["12"] * n)))
    return [("adv/" + name, text) for name, text in out]


def random_documents(count, seed):
    for number in range(count):
        rng = stable_random("adversarial", seed, number)
        kind = rng.random()
        length = int(2 ** rng.uniform(0, 9))
        if kind < 0.35:
            parts = [rng.choice(PIECES) + rng.choice(SEPARATORS) for _ in range(length)]
        elif kind < 0.55:
            few = rng.sample(PIECES, rng.randint(2, 12))
            parts = [rng.choice(few) + rng.choice(SEPARATORS) for _ in range(length)]
        elif kind < 0.85:  # prose that something hostile interrupts
            parts = [rng.choice(PIECES) + rng.choice(SEPARATORS) if rng.random() < 0.15 else prose(rng, rng.randint(1, 25)) + rng.choice(SEPARATORS[3:]) for _ in range(1 + length // 8)]
        else:
            ranges = rng.sample(SCALARS, rng.randint(1, 4))
            parts = []
            for _ in range(length * 3):
                low, high = rng.choice(ranges)
                c = rng.randrange(low, high)
                parts.append(rng.choice(SEPARATORS) if rng.random() < 0.15 else "" if 0xd800 <= c < 0xe000 else chr(c))
        text = "".join(parts)
        if text.strip():
            yield "adv/random-%d" % number, text


def run(*command):
    """What a program writes; ends this one when it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit("corpus: %s: %s" % (" ".join(command), result.stderr.decode(errors="replace").strip()))
    return result.stdout


def members(path, wanted):
    """{name: bytes} of those files of a .tar.zst for whose names `wanted` is true, in the order of their names."""
    with tarfile.open(fileobj=io.BytesIO(run("zstd", "-dcq", path))) as archive:
        found = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile() and wanted(entry.name)}
    return dict(sorted(found.items()))


def records(name, data):
    for number, line in enumerate(data.split(b"\n")):
        if line.strip():
            record = json.loads(line)
            text = record.get("text") or record.get("chosen") or record.get("output")
            if isinstance(text, str):
                yield "%s/%s" % (name, record.get("id", number)), text


def paragraphs(name, data, size):
    """A long text as it is, and in pieces of about `size` characters that end with a paragraph."""
    text = data.decode("utf-8", "replace")
    yield name, text
    piece, number = "", 0
    for part in re.split(r"(?<=\n\n)|(?<=\r\n\r\n)", text):
        piece += part
        if len(piece) >= size:
            yield "%s#%d" % (name, number), piece
            piece, number = "", number + 1
    if piece:
        yield "%s#%d" % (name, number), piece


def books(path):
    names = ("alice29.txt", "asyoulik.txt", "lcet10.txt", "plrabn12.txt", "dhammapada-polish-transl.txt", "jargon.txt", "moby-dick.txt", "botchan.txt", "wagahaiwa_nekodearu.txt", "kjv.txt")
    for name, data in members(path, lambda name: name.endswith(names + ("anarchist-faq.jsonl",))).items():
        name = "books/" + os.path.basename(name)
        if name.endswith(".jsonl"):
            yield from records(name, data)
        else:
            yield from paragraphs(name, data, 20000 if "kjv" in name else 4000)


def unicode_samples(path):
    files = members(path, lambda name: name.endswith(("cld2-samples.jsonl", "blns.txt", "chars.txt", "BreakTest.txt", "NormalizationTest.txt")))
    for name, data in files.items():
        if name.endswith(".jsonl"):
            yield from records("langid", data)
        else:
            yield "unicode/" + os.path.basename(name), data.decode("utf-8", "replace")[:100000]
        if name.endswith("blns.txt"):
            for number, line in enumerate(data.decode("utf-8", "replace").split("\n")):
                if line.strip() and not line.startswith("#"):
                    yield "unicode/naughty#%d" % number, line


def chats(path):
    for name, data in members(path, lambda name: name.endswith(("c4_demo.jsonl", "wiki_demo.txt", "alpaca_en_demo.json", "alpaca_zh_demo.json"))).items():
        name = "chat/" + os.path.basename(name)
        if name.endswith(".jsonl"):
            yield from records(name, data)
        elif name.endswith(".json"):
            for number, record in enumerate(json.loads(data)):
                yield "%s#%d" % (name, number), record["instruction"] + "\n" + record["output"]
        else:
            yield from paragraphs(name, data, 3000)


def pages(path):
    for name, data in members(path, lambda name: name.endswith("/expected.html")).items():
        page = data.decode("utf-8", "replace")
        yield "html/" + name.split("/")[-2], page
        yield "html/%s/text" % name.split("/")[-2], re.sub(r"\n\s*\n+", "\n", re.sub(r"<[^>]*>", "", page))


def collection(directory):
    """(share, documents) of the files of a collection."""
    archives = (("manpages.jsonl.zst", 20, None), ("linux-doc-rst.jsonl.zst", 10, None), ("fortunes.jsonl.zst", 10, None), ("gcide.jsonl.zst", 6, None), ("code.jsonl.zst", 14, None),
                ("books.tar.zst", 12, books), ("unicode.tar.zst", 16, unicode_samples), ("chat.tar.zst", 6, chats), ("html.tar.zst", 6, pages))
    for name, share, make in archives:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            yield share, make(path) if make else records(name.split(".")[0], run("zstd", "-dcq", path))


def any_text(directory):
    """Documents of whatever text lies below a directory."""
    for base, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            short = os.path.relpath(path, directory)
            if name.endswith((".jsonl", ".jsonl.zst", ".jsonl.gz")):
                tool = {"zst": ("zstd", "-dcq"), ".gz": ("gzip", "-dc")}.get(name[-3:], ("cat",))
                yield from records(short, run(*tool, path))
            elif name.endswith((".txt", ".md", ".rst", "README", "copyright")) and os.path.isfile(path):
                yield from paragraphs(short, open(path, "rb").read(), 4000)


def real(directory, budget, seed):
    """Documents of about `budget` bytes, each source with its share, in a seeded order."""
    sources = list(collection(directory))
    if not sources:
        sources = [(1, any_text(directory))]
    total = sum(share for share, _ in sources)
    out, known = [], set()
    for share, documents in sources:
        candidates = []
        for identifier, text in documents:
            if not text.strip() or SURROGATE.search(text) or identifier in known:
                continue
            known.add(identifier)
            rank = hashlib.sha256(("%d %s" % (seed, identifier)).encode("utf-8", "replace")).digest()
            if len(text) > CUT and (rank[31] % 8 != 0 or len(text) > 400000 + budget // 20):
                text = text[:CUT]
            candidates.append((rank, identifier, text))
        candidates.sort()
        left = budget * share // total
        for rank, identifier, text in candidates:
            out.append((rank[8:], identifier, text))
            left -= len(text.encode())
            if left < 0:
                break
    out.sort()
    return [(identifier, text) for _, identifier, text in out]


def cached(options, directory):
    """Where this corpus is kept for the next test of the same build, or None where there is no build."""
    build = os.environ.get("BUILD")
    if not build:
        return None
    state = [open(os.path.abspath(__file__), encoding="utf-8").read(), str(options.megabytes), str(options.seed), os.path.abspath(directory)]
    for base, directories, names in os.walk(directory):
        directories.sort()
        state += ["%s %d" % (os.path.join(base, name), os.lstat(os.path.join(base, name)).st_size) for name in sorted(names)]
    key = hashlib.sha256("\n".join(state).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(build, "tests", "parity", "corpus-%s.jsonl" % key)


def write(path, directory, options):
    documents = fixed() + list(random_documents(400, options.seed))
    hostile = sum(len(text.encode()) for _, text in documents)
    documents += real(directory, max(int(options.megabytes * 1000000) - hostile, 500000), options.seed)
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for identifier, text in documents:
            json.dump({"id": identifier, "text": text, "url": make_url(identifier, options.seed)}, out, ensure_ascii=False)
            out.write("\n")
    size = sum(len(text.encode()) for _, text in documents)
    print("%d documents, %.1f MB of text (%.1f MB of it hostile), from %s" % (len(documents), size / 1e6, hostile / 1e6, os.path.normpath(directory)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--data", default=os.environ.get("SLUICE_TEST_DATA"))
    parser.add_argument("--megabytes", type=float, default=float(os.environ.get("PARITY_MEGABYTES") or 50))
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()
    places = (options.data, os.path.join(HERE, "..", "..", "build", "demo", "corpus"), "/usr/share/doc")
    directory = next((place for place in places if place and os.path.isdir(place)), None)
    if not directory:
        sys.exit("corpus: there is no text: give --data DIR, or make demo first")
    kept = cached(options, directory)
    if not kept or not os.path.exists(kept):
        write(options.out, directory, options)
        if kept:
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            scratch = "%s.%d" % (kept, os.getpid())
            shutil.copyfile(options.out, scratch)
            os.replace(scratch, kept)
    else:
        shutil.copyfile(kept, options.out)
        print("the corpus that an earlier test made: %s" % os.path.basename(kept))


if __name__ == "__main__":
    main()
