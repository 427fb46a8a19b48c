"""first_lines.py COUNT COMMAND...: run COMMAND and print the milliseconds from its
start until it had written COUNT lines. Exit with 1 if it wrote a different number of
lines, or with COMMAND's own code if that is not 0."""

import subprocess
import sys
import time

want = int(sys.argv[1])
start = time.monotonic()
with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as command:
    seen = 0
    for _ in command.stdout:
        seen += 1
        if seen == want:
            took = time.monotonic() - start
if command.returncode:
    sys.exit(command.returncode)
if seen != want:
    sys.exit(f"{seen} lines, want {want}")
print(round(took * 1000, 1))
