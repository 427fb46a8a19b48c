#!/usr/bin/env python3
"""seen.py [ARGUMENTS...]: replaces a script or a launcher of processes. Prints "seen"
and a JSON object: its worker, its arguments, the variables that its container did not
have, and the small text files that arguments and variables name. If HOSTS_MEET is
"ADDRESS:PORT COUNT", it exits when COUNT processes of the case have reached this point."""
import json
import os
import socket
import stat
import subprocess
import sys


def text(path):
    """The text of a small file, or the output of a script."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > 1 << 16:
            return None
        if os.path.basename(path) == "discover_hosts.sh":
            return subprocess.run([path], stdout=subprocess.PIPE, check=True).stdout.decode()
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def container():
    try:
        with open("/proc/1/environ", "rb") as file:
            return set(os.fsdecode(word) for word in file.read().split(b"\0"))
    except OSError:
        return set()


had = container()
env = {name: value for name, value in os.environ.items() if name + "=" + value not in had}
words = [os.path.basename(sys.argv[0])] + sys.argv[1:]
files = {path: text(path) for path in list(env.values()) + words if path.startswith("/")}
said = {"case": env.get("HOSTS_CASE", ""), "worker": env.get("MUSTER_WORKER", ""), "argv": words,
        "env": env, "files": {path: body for path, body in files.items() if body is not None}}
os.write(1, b"seen " + json.dumps(said).encode() + b"\n")
if "HOSTS_MEET" in env:
    place, count = env["HOSTS_MEET"].split()
    host, port = place.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as to:
        to.settimeout(30)
        to.sendall(b"meet %s %s\n" % (said["case"].encode(), count.encode()))
        sys.exit(0 if b"met\n" in b"".join(iter(lambda: to.recv(100), b"")) else "the others did not come")
