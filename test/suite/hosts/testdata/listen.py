"""listen.py NAME ADDRESS PORT...: answer every connection with NAME. A connection that sends
"meet CASE COUNT" gets "met" when COUNT of them have sent it. Prints "listening"."""
import socket
import sys
import threading

name, address = sys.argv[1].encode() + b"\n", sys.argv[2]
waiting, lock = {}, threading.Lock()


def serve(peer):
    try:
        peer.settimeout(40)
        peer.sendall(name)
        words = peer.makefile("rb").readline().split()
        if len(words) == 3 and words[0] == b"meet":
            meet(peer, words[1], int(words[2]))
        else:
            peer.close()
    except OSError:
        peer.close()


def meet(peer, case, count):
    with lock:
        waiting.setdefault(case, []).append(peer)
        if len(waiting[case]) < count:
            return
        all = waiting.pop(case)
    for one in all:
        try:
            one.sendall(b"met\n")
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()


def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


listeners = [socket.create_server((address, int(port)), backlog=100) for port in sys.argv[3:]]
print("listening", flush=True)
for one in listeners[1:]:
    threading.Thread(target=accept, args=(one,), daemon=True).start()
accept(listeners[0])
