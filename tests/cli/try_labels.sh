# sluice try --label: keys at a terminal label documents, the nearest to the limit first; each answer is in the file at once.
"$PYTHON" -c 'import pty; pty.openpty()' 2>/dev/null || { echo 'no python3, or no pseudo-terminals: is /dev/pts mounted?'; exit 77; }
"$PYTHON" - <<'END' || exit 1
import json, os, pty, select, subprocess, sys, time
with open("s.jsonl", "w") as out:
    for n in range(20):
        out.write(json.dumps({"id": f"d{n}", "text": "7" * (n * 5) + "x" * (100 - n * 5)}) + "\n")
open("h.lua", "w").write('''local s = require "sluice"
return s.heuristic { "digits", options = { max = { "float", 0.52, min = 0, max = 1 } },
  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max" } }
''')
open("labels.jsonl", "w").write('{"id":"d0","label":"keep"}')  # without the last newline
master, slave = pty.openpty()
command = [os.environ["SLUICE"], "try", "h.lua", "s.jsonl", "--labels", "labels.jsonl", "--label", "--examples", "0"]
process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True, start_new_session=True)
os.close(slave)
screen = b""

def read_until(text, since):
    global screen
    end = time.monotonic() + 60
    while text not in screen[since:]:
        assert time.monotonic() < end, screen
        ready, _, _ = select.select([master], [], [], 1)
        if ready:
            try:
                screen += os.read(master, 65536)
            except OSError:
                return
        elif process.poll() is not None:
            return

asked = []
since = 0
for key in "kdxskud" + "q":
    if key != "x":
        read_until(b"q quit: ", since)
        shown = screen[since:].decode()
        asked.append(shown.split("\r\n")[1 if since == 0 else 2].split(":")[0])
        since = len(screen)
    os.write(master, key.encode())
    if key in "kd":
        end = time.monotonic() + 60
        wanted = {"k": b"keep", "d": b"drop"}[key]
        read_until(wanted, since)
read_until(b"\0", since)  # to the end
process.wait(60)
assert process.returncode == 0, (process.returncode, screen)
print("asked:", *asked)
print(open("labels.jsonl").read(), end="")
print(screen[since:].decode().replace("\r", "").split("quit\n")[1].split("\n\n")[-1].strip())
END
echo '-- what is said is not asked again'
"$SLUICE" try h.lua s.jsonl --labels labels.jsonl --examples 3 | sed -e 's/^  [0-9.]* s: .*/  SPEED/'
"$SLUICE" try h.lua s.jsonl --labels labels.jsonl --label </dev/null 2>&1
echo "status $?"
