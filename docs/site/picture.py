"""picture.py BIN SVG: runs commands with the agent of BIN in a terminal, and draws what they printed and when."""
import html
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import time

COLUMNS, CHAR, ROW, MARGIN = 84, 8.4, 20, 20
COLORS = {31: "#ff8b92", 32: "#a5d6a7", 33: "#ffcb6b", 34: "#82aaff", 35: "#d7a8f0", 36: "#89ddff"}
WORD, PAUSE, HOLD = 0.1, 0.4, 2.5  # seconds: to type a word, between commands, at the end

TRAIN = """import os, time
for step in 1, 2, 3:
    time.sleep(0.4)
    if os.environ["RANK"] == "0":
        print("step", step, flush=True)
"""
SCENES = (
    ["agent run --fake 4 --slots 2 -- mpirun ./pi"],
    ["agent run --fake 3 --framework torch --max-restarts 1 \\", "    --fake-fault 'kill worker=1 after=1s' -- python3 train.py"],
)


def record(command, folder, path):
    """Runs the command in a terminal, and yields seconds since its start and a line of its output."""
    master, slave = pty.openpty()
    begin = time.monotonic()
    process = subprocess.Popen(command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    rest = b""
    while True:
        try:
            rest += os.read(master, 65536)
        except OSError:  # EIO: the last writer has closed the terminal
            break
        *lines, rest = rest.split(b"\n")
        for line in lines:
            yield time.monotonic() - begin, line.decode().rstrip("\r")
    if process.wait() != 0:
        sys.exit(f"picture: {command}: exit code {process.returncode}")


def spans(line):
    """The texts of a line, each with the class of its color: c31 is red."""
    color = ""
    for code, text in re.findall(r"(?:\x1b\[(\d+)m)?([^\x1b]*)", line):
        color = f"c{code}" if code and code != "0" else "" if code else color
        if text:
            yield color, text


def events(folder, path):
    """What appears on the screen: seconds, row, column, class, text. The last one ends the picture."""
    clock, row = 0.5, 0
    for lines in SCENES:
        for i, line in enumerate(lines):
            shown = ("$ " if i == 0 else "  ") + line
            for word in re.finditer(r"\S+", shown):
                clock += WORD
                yield clock, row, word.start(), "typed", word[0]
            row += 1
        clock += PAUSE
        ran = 0
        for ran, line in record("\n".join(lines), folder, path):
            column = 0
            for color, text in spans(line):
                yield clock + ran, row, column, "agent" if text.startswith("agent: ") else color, text
                column += len(text)
            if column > COLUMNS:
                sys.exit(f"picture: too long for {COLUMNS} columns: {line!r}")
            row += 1
        clock, row = clock + ran + PAUSE, row + 1
    yield clock + HOLD, row, 0, "", ""


def draw(all):
    *shown, (length, rows, *_) = all
    width, height = COLUMNS * CHAR + 2 * MARGIN, (rows + 1) * ROW + 2 * MARGIN
    times = sorted({round(event[0], 2) for event in shown})
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">'
    yield "<title>agent run in a terminal: pi by a real mpirun on 4 fake workers, then a run that restarts after a worker was killed</title><style>"
    yield "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6deeb;white-space:pre}"
    yield ".typed{fill:#fff;font-weight:bold}.agent{fill:#7fdbca}"
    yield "".join(f".c{code}{{fill:{color}}}" for code, color in COLORS.items())
    for i, at in enumerate(times):
        share = 100 * at / length
        yield f".t{i}{{animation:k{i} {length:.1f}s infinite}}@keyframes k{i}{{0%,{share:.2f}%{{opacity:0}}{share + 0.01:.2f}%,100%{{opacity:1}}}}"
    yield "@media (prefers-reduced-motion:reduce){text{animation:none!important}}</style>"
    yield f'<rect width="{width:.0f}" height="{height:.0f}" rx="10" fill="#101826" stroke="#4b5b73"/>'
    yield "".join(f'<circle cx="{MARGIN + 20 * i}" cy="20" r="6" fill="{fill}"/>' for i, fill in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    for at, row, column, kind, text in shown:
        name = f"t{times.index(round(at, 2))} {kind}".strip()
        x, y = MARGIN + column * CHAR, 2 * MARGIN + (row + 0.8) * ROW
        yield f'<text class="{name}" x="{x:.1f}" y="{y:.0f}" textLength="{len(text) * CHAR:.1f}">{html.escape(text)}</text>'
    yield "</svg>\n"


def main():
    bin, svg = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "train.py").write_text(TRAIN)
        (pathlib.Path(folder) / "pi").symlink_to(bin / "pi")
        svg.write_text("\n".join(draw(list(events(folder, f"{bin}:{os.environ['PATH']}")))))


main()
