"""dial.py HOST:PORT...: resolve and dial each, and print the answers as a JSON object:
the name of the host, or "error: " and the reason."""
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
