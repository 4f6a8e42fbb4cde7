"""Random strings rich in what Unicode has, for comparisons with peers. The same arguments give the same strings, always and everywhere:
remembered answers of peers are told apart by what they answer to."""
import random


def random_strings(count, seed, pools, words, first=(), longest=40, kinds=(0.45, 0.75, 0.9), mixed=3, wordy=0.5, scalars=(0x80, 0x3000, 0x110000)):
    """A list of the strings `first` and then, up to `count`, random ones of up to `longest` pieces: of characters of all pools; of those of
    `mixed` of them; of `words` (a share `wordy` of the pieces) and characters; of any scalar values below each of `scalars`. kinds: the
    shares of the first three kinds, summed up."""
    rng = random.Random(seed)
    out = list(first)
    while len(out) < count:
        kind, length = rng.random(), rng.randint(1, longest)
        if kind < kinds[0]:
            out.append("".join(rng.choice(rng.choice(pools)) for _ in range(length)))
        elif kind < kinds[1]:
            some = rng.sample(pools, mixed)
            out.append("".join(rng.choice(rng.choice(some)) for _ in range(length)))
        elif kind < kinds[2]:
            out.append("".join(rng.choice(words) if rng.random() < wordy else rng.choice(rng.choice(pools)) for _ in range(length // 2 + 1)))
        else:
            text = ""
            while len(text) < length:
                c = rng.choice(tuple(map(rng.randrange, scalars)))
                text += "" if 0xD800 <= c < 0xE000 else chr(c)
            out.append(text)
    return out
