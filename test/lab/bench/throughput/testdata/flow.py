"""Run N streams at once and report the bytes that they carried, and the time.

Usage: flow.py N WORKER LINE. Each LINE of sh prints one number to its standard
output: the bytes that it received. This program prints the sum of these, the seconds, and the
seconds of CPU time of this pod, of the worker's pod, and of the whole machine.
"""

import os
import subprocess
import sys
import time

V1 = "/sys/fs/cgroup/cpuacct/cpuacct.usage"
V2 = "/sys/fs/cgroup/cpu.stat"


def usage(text):
    return int(text) / 1e9 if text.strip().isdigit() else int(text.split()[1]) / 1e6


def pods(worker):
    path = V1 if os.path.exists(V1) else V2
    there = subprocess.run(["agent", "rsh", worker, "cat", path], check=True, capture_output=True, text=True).stdout
    with open(path) as here:
        return usage(here.read()), usage(there)


def machine():
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def main():
    count, worker, line = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    pods_before = pods(worker)
    machine_before, began = machine(), time.monotonic()
    streams = [subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, text=True) for _ in range(count)]
    told = [s.communicate()[0] for s in streams]
    took, machine_cpu = time.monotonic() - began, machine() - machine_before
    for s, said in zip(streams, told):
        if s.returncode != 0 or not said.strip().isdigit():
            sys.exit(f"{line}: exit code {s.returncode}, said {said!r}")
    cpu = [after - before for before, after in zip(pods_before, pods(worker))]
    print(sum(map(int, told)), took, *cpu, machine_cpu)


main()
