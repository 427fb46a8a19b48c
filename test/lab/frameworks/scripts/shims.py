"""rsync, git and the real pdsh over the ssh of Muster.

shims.py rsync|git|pdsh: run transfers of some seconds, in the launcher.
shims.py slow: copy standard input to standard output, at 8 MB a second.
shims.py count WORD: print lines for some seconds."""
import hashlib
import os
import subprocess
import sys
import tempfile
import time

from seen import say

MB = 1 << 20
SIZE = 50 * MB
LINES = 20000
SELF = "python3 " + os.path.abspath(__file__)


def call(*argv, **options):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, **options).stdout.decode()


def transfer(name, *argv, **options):
    """Runs a transfer. The row compares its start and end with the times at which links were cut."""
    say("begins", name=name)
    began = time.time()
    out = call(*argv, **options)
    return out, {"name": name, "at": began, "until": time.time()}


def tree(top):
    """Writes SIZE bytes that do not compress, under names with characters that a shell would misread."""
    length = 1
    left = SIZE
    while left > 0:
        os.makedirs(f"{top}/part {length % 7}", exist_ok=True)
        with open(f"{top}/part {length % 7}/it's $i \"{length}\" {left}", "wb") as file:
            file.write(os.urandom(min(length, left)))
        left -= length
        length = length * 2 if length < 16 * MB else 1
    os.symlink("nowhere", top + "/link")


def sums(top):
    """Returns the checksum and mode of each file below top, by name."""
    found = {}
    for at, directories, files in os.walk(top):
        for name in files:
            path = os.path.join(at, name)
            is_link = os.path.islink(path)
            text = os.readlink(path).encode() if is_link else open(path, "rb").read()
            found[os.path.relpath(path, top)] = (os.lstat(path).st_mode, hashlib.sha256(text).hexdigest())
    return found


def rsync(host, here):
    there = call("ssh", host, "mktemp -d").strip()
    tree(here + "/tree")
    want = sums(here + "/tree")
    _, push = transfer("to a worker", "rsync", "-a", "--bwlimit=8m", here + "/tree/", f"{host}:{there}/")
    _, pull = transfer("and back", "rsync", "-a", "--bwlimit=8m", "-e", "ssh", f"{host}:{there}/", here + "/back/")
    same = sums(here + "/back") == want
    for moved in push, pull:
        say("transfer", same=same, bytes=SIZE, **moved)


def git(host, here):
    """A push to a worker, and a clone from it."""
    os.environ.update({f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})
    there = call("ssh", host, 'd=$(mktemp -d) && git init -q --bare "$d/on the worker.git" && echo "$d/on the worker.git"').strip()
    tree(here + "/one")
    for words in ("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one"):
        call("git", *words, cwd=here + "/one")
    _, push = transfer("push", "git", "push", "-q", f"--receive-pack={SELF} slow | git-receive-pack", f"ssh://{host}{there}", "HEAD", cwd=here + "/one")
    _, clone = transfer("clone", "git", "clone", "-q", f"--upload-pack=sh -c 'git-upload-pack \"$0\" | {SELF} slow'", f"{host}:{there}", here + "/two")
    call("git", "fsck", "--strict", "--no-progress", cwd=here + "/two")
    heads = [call("git", "rev-parse", "HEAD", cwd=here + name) for name in ("/one", "/two")]
    heads.append(call("ssh", host, f"git -C '{there}' rev-parse HEAD"))
    same = len(set(heads)) == 1 and not call("git", "status", "--porcelain", cwd=here + "/two")
    for moved in push, clone:
        say("transfer", same=same, bytes=SIZE, **moved)


def pdsh(hosts):
    out, moved = transfer("lines of two workers", "/usr/bin/pdsh", "-S", "-w", ",".join(hosts), SELF + " count %h",
                          env={**os.environ, "PDSH_RCMD_TYPE": "ssh"})
    lines = {host: [] for host in hosts}
    for line in out.splitlines():
        host, _, rest = line.partition(": ")
        lines[host].append(rest)
    same = all(lines[host] == [f"{i} {host} {'x' * 100}" for i in range(LINES)] for host in hosts)
    say("transfer", same=same, bytes=len(out), **moved)


def slow():
    while data := os.read(0, MB // 10):
        time.sleep(len(data) / (8 * MB))
        while data:
            data = data[os.write(1, data):]


def count(word):
    for i in range(LINES):
        print(i, word, "x" * 100, flush=i % 500 == 0)
        if i % 500 == 0:
            time.sleep(0.15)


if sys.argv[1] == "slow":
    slow()
elif sys.argv[1] == "count":
    count(sys.argv[2])
else:
    workers = [line.split()[0] for line in call("agent", "hosts").splitlines()]
    with tempfile.TemporaryDirectory() as here:
        if sys.argv[1] == "pdsh":
            pdsh(workers[:2])
        else:
            {"rsync": rsync, "git": git}[sys.argv[1]](workers[-1], here)
