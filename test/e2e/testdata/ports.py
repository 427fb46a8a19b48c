# A process of --framework=paddle. It binds its own endpoint and, as rank 0, the master's endpoint. It holds them
# until every other rank has connected to the master. It prints "bound ENDPOINT".
import os
import socket


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


own, master = os.environ["PADDLE_CURRENT_ENDPOINT"], os.environ["PADDLE_MASTER"]
rank, world = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
held = socket.create_server(endpoint(own))
print("bound", own, flush=True)
if rank == 0:
    with socket.create_server(endpoint(master)) as meeting:
        print("bound", master, flush=True)
        for _ in range(world - 1):
            meeting.accept()[0].close()
while rank > 0:
    try:
        socket.create_connection(endpoint(master), 5).close()
        break
    except OSError:
        pass  # rank 0 does not listen yet
