"""Computes pi: each rank adds up every size-th strip under 4 / (1 + x^2), and rank 0 adds up the ranks' sums."""
import os
import socket
import time

try:
    import torch
except ImportError:  # an image without GPUs
    torch = None

STRIPS = 1_000_000
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
meet = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def part():
    if torch and torch.cuda.is_available():
        i = torch.arange(rank, STRIPS, size, dtype=torch.float64, device="cuda")
        return float((4 / (1 + ((i + 0.5) / STRIPS) ** 2)).sum()) / STRIPS
    return sum(4 / (1 + ((i + 0.5) / STRIPS) ** 2) for i in range(rank, STRIPS, size)) / STRIPS


def send(number):
    while True:
        try:
            with socket.create_connection(meet) as connection:
                connection.sendall(str(number).encode())
            return
        except OSError:  # rank 0 does not listen yet
            time.sleep(0.1)


if rank > 0:
    send(part())
else:
    family = socket.AF_INET6 if ":" in meet[0] else socket.AF_INET
    with socket.create_server(meet, family=family, backlog=size) as server:
        pi = part()
        for _ in range(size - 1):
            with server.accept()[0] as connection, connection.makefile() as text:
                pi += float(text.read())
    print(f"pi is {pi:.8f}, by {size} ranks")
