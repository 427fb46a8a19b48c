#!/usr/bin/python3
"""A launcher that swallows failures: it runs its last word as a shell's text, and ends with
SAYS, 0 without it, whatever the text ended with."""
import os
import subprocess
import sys

subprocess.call(["sh", "-c", sys.argv[-1]])
sys.exit(int(os.environ.get("SAYS", "0")))
