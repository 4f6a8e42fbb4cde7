"""A bar for a run: one line of a terminal, or of a notebook's output; nothing where neither is."""

import sys


def in_notebook():
    """Whether output goes to a notebook."""
    try:
        from IPython import get_ipython
        return get_ipython().__class__.__name__ == "ZMQInteractiveShell"
    except Exception:
        return False


def line_of(event, width=24):
    """What a progress event says, on one line."""
    tasks = max(event.get("tasks", 0), 1)
    done = min(event.get("done", 0), tasks)
    full = width * done // tasks
    seconds = event.get("seconds", 0) or 0
    rate = event.get("text_bytes", 0) / seconds / 1e6 if seconds > 0 else 0
    text = f"{'█' * full}{'░' * (width - full)} {done}/{tasks} tasks  {event.get('phase', '')}"
    return text + (f"  {rate:.0f} MB/s" if rate >= 1 else "") + f"  {seconds:.1f} s"


class Bar:
    """Shows progress events; `show` is True, False, or None for wherever somebody can see it."""

    def __init__(self, show=None):
        self.handle = None
        self.notebook = show is not False and in_notebook()
        self.terminal = not self.notebook and (show is True or (show is None and sys.stderr.isatty()))
        self.width = 0

    def update(self, event):
        """Takes a progress event of the program."""
        line = line_of(event)
        if self.notebook:
            from IPython.display import display
            shown = {"text/plain": line}
            if self.handle is None:
                self.handle = display(shown, raw=True, display_id=True)
            else:
                self.handle.update(shown, raw=True)
        elif self.terminal:
            sys.stderr.write("\r" + line.ljust(self.width))
            sys.stderr.flush()
            self.width = len(line)

    def close(self):
        """Ends the line."""
        if self.terminal and self.width > 0:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
