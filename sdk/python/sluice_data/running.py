"""`run`: a pipeline from start to end, and its report as an object."""

import html
import json
import os
import tempfile
import threading

from .datasets import Dataset
from .errors import error_of, needed
from .program import command, objects, option_words, said, start, stop, word
from .progress import Bar


class Run:
    """What a run did. `report`: the program's report, as in RUN/report.json; `events`: its last progress of each phase."""

    def __init__(self, report, run_dir, events=()):
        self.report = report
        self.run_dir = run_dir
        self.events = list(events)

    @property
    def datasets(self):
        """What it wrote, by the writers' names: {name: Dataset}, at their snapshots."""
        return {d["writer"]: Dataset(f"{d['path']}@{d['snapshot']}") for d in self.report.get("datasets", [])}

    @property
    def stages(self):
        """A dict for each stage: stage, in, out, dropped, quarantined, reasons."""
        return [{"stage": s.get("name"), "in": s.get("in", 0), "out": s.get("out", 0),
                 "dropped": sum((s.get("dropped") or {}).values()), "quarantined": s.get("quarantined", 0),
                 "reasons": s.get("dropped") or {}} for s in self.report.get("funnel", [])]

    def to_pandas(self):
        """The stages as a DataFrame."""
        pandas = needed("pandas", "to_pandas")
        return pandas.DataFrame([{k: v for k, v in s.items() if k != "reasons"} for s in self.stages])

    def why(self, id=None, **options):
        """What `sluice why` says: of a document, or with reason=, near=True, … of many; a list of dicts."""
        return objects("why", self.run_dir, *option_words(id=id, **options), "--json")

    def html(self, path=None):
        """The report as a page that loads nothing; written to path, or given as text."""
        if path is not None:
            command("report", self.run_dir, "--html", os.fspath(path))
            return path
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "report.html")
            command("report", self.run_dir, "--html", page)
            with open(page, encoding="utf-8") as file:
                return file.read()

    def __repr__(self):
        wrote = ", ".join(f"{name}: {d['rows']} rows" for name, d in
                          ((d["writer"], d) for d in self.report.get("datasets", [])))
        return f"<Run {self.report.get('name', '')} in {self.run_dir}: {wrote}>"

    def _repr_html_(self):
        rows = []
        for s in self.stages:
            reasons = ", ".join(f"{html.escape(str(r))}: {n:,}" for r, n in sorted(s["reasons"].items(), key=lambda x: -x[1])[:5])
            rows.append(f"<tr><td style='text-align:left'>{html.escape(str(s['stage']))}</td><td>{s['in']:,}</td><td>{s['out']:,}</td>"
                        f"<td>{s['dropped']:,}</td><td style='text-align:left'>{reasons}</td></tr>")
        wrote = "".join(f"<li>{html.escape(d['writer'])}: {html.escape(d['path'])}@{d['snapshot']}, {d['rows']:,} rows</li>"
                        for d in self.report.get("datasets", []))
        return ("<table><thead><tr><th>stage</th><th>in</th><th>out</th><th>dropped</th><th>reasons</th></tr></thead><tbody>"
                + "".join(rows) + f"</tbody></table><ul>{wrote}</ul>")


def _follow(process, bar):
    """Reads events to the end. -> report, last event of each phase, the error's message or None"""
    report, phases, message = None, {}, None
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        kind = event.get("event")
        if kind == "progress":
            phases[event.get("phase")] = event
            bar.update(event)
        elif kind == "report":
            report = event["report"]
        elif kind == "error":
            message = event.get("message")
    return report, list(phases.values()), message


def run(script, *, run_dir=None, workers=None, memory=None, scratch=None, plugins=(), limit=None, fresh=False, take_over=False,
        trust=False, progress=None, cwd=None, **arguments):
    """Runs a pipeline and waits for its end. -> Run

    script: path of a Lua file, or of a run directory; arguments: those that the script declares (s.args). What was done before is not done
    again. progress: True, False, or None (a bar where there is a terminal or notebook). Raises a SluiceError; Ctrl-C stops it, and the
    same call goes on.
    """
    words = ["run", os.fspath(script), *(word(n, v) for n, v in arguments.items()), "--json",
             *option_words(run_dir=run_dir, workers=workers, memory=memory, scratch=scratch, plugin=list(plugins), limit=limit,
                           fresh=fresh, take_over=take_over, trust=trust)]
    process = start(words, cwd)
    bar = Bar(progress)
    told = []
    reader = threading.Thread(target=lambda: told.append(process.stderr.read()), daemon=True)
    reader.start()
    try:
        report, events, message = _follow(process, bar)
        process.wait()
    except BaseException:
        stop(process)
        raise
    finally:
        bar.close()
        reader.join(timeout=10)
    if process.returncode != 0:
        raise error_of(process.returncode, message or said("".join(told)))
    return Run(report, report["run_dir"], events)


def check(script, *, cwd=None, **arguments):
    """Checks a script without reading data. Raises ConfigError; gives what the program says."""
    return command("check", os.fspath(script), *(word(n, v) for n, v in arguments.items()), cwd=cwd).strip()
