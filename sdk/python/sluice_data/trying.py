"""Rules on a sample: what a stage keeps and drops, and what other thresholds would."""

import os

from .errors import needed
from .program import command, objects, option_words, word


def _options(options):
    return [f"{name}={word(name, value).partition('=')[2]}" for name, value in (options or {}).items()]


def sample(script, path, *, at=None, after=None, n=None, seed=None, cwd=None, **arguments):
    """Writes rows that really reach (at) or leave (after) a stage to a file of JSON Lines. -> path"""
    command("sample", os.fspath(script), *(word(k, v) for k, v in arguments.items()), *option_words(at=at, after=after, n=None, seed=seed),
            *(["-n", str(n)] if n is not None else []), "-o", os.fspath(path), "--quiet", cwd=cwd)
    return path


def try_(stage_or_script, path, *, stage=None, options=None, labels=None, examples=None, workers=None, cwd=None, **arguments):
    """One stage on a sample. -> dict: documents, kept, dropped, reasons, …, and `examples`, a list of dicts

    stage_or_script: a stage's name, or a Lua file (then `stage` says which of it, and arguments are the script's).
    """
    told = objects("try", os.fspath(stage_or_script), os.fspath(path), *(word(k, v) for k, v in arguments.items()),
                   *option_words(stage=stage, option=_options(options), labels=labels, examples=examples, workers=workers), "--json", cwd=cwd)
    result = next(e for e in told if e.get("event") == "try")
    result["examples"] = [e for e in told if e.get("event") == "example"]
    result["more"] = [e for e in told if e.get("event") not in ("try", "example")]
    return result


def sweep(stage_or_script, path, *, option, low, high, n=9, stage=None, options=None, labels=None, frame=False, cwd=None, **arguments):
    """What each of n thresholds from low to high keeps: a list of dicts (threshold, kept, kept_bytes, …), or with frame a DataFrame."""
    told = objects("try", os.fspath(stage_or_script), os.fspath(path), *(word(k, v) for k, v in arguments.items()),
                   *option_words(stage=stage, option=_options(options), labels=labels, sweep=f"{option}={low}..{high}:{n}"), "--json", cwd=cwd)
    rows = [{k: v for k, v in e.items() if k != "event"} for e in told if e.get("event") == "threshold"]
    if frame:
        pandas = needed("pandas", "a frame")
        return pandas.DataFrame(rows)
    return rows
