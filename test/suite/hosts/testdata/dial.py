"""dial.py HOST:PORT...: resolve and dial each, print a JSON object of who answered:
the name, or "error: " and why not."""
import concurrent.futures
import json
import socket
import sys


def who(endpoint):
    host, port = endpoint.rsplit(":", 1)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), 5) as to:
            return to.makefile().readline().strip() or "error: no word"
    except (OSError, ValueError) as e:
        return "error: %s" % e


with concurrent.futures.ThreadPoolExecutor(32) as pool:
    print(json.dumps(dict(zip(sys.argv[1:], pool.map(who, sys.argv[1:])))))
