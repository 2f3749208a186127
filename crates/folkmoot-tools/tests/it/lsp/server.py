"""A language server for Python with the standard library alone: it compiles the file and reports what the compiler says.

    server.py [push | pull] [habit]
"""

import json
import os
import sys
import time

way = sys.argv[1]
habit = sys.argv[2] if len(sys.argv) > 2 else None
asked = []
waiting = []


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive():
    if waiting:
        return waiting.pop(0)
    return read()


def read():
    length = None
    while (line := sys.stdin.buffer.readline().strip()):
        name, value = line.split(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None if length is None else json.loads(sys.stdin.buffer.read(length))


def raw(text):
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def diagnose(text):
    try:
        compile(text, "file", "exec")
        return []
    except SyntaxError as error:
        line = text.splitlines()[error.lineno - 1]
        units = len(line[: error.offset - 1].encode("utf-16-le")) // 2
        at = {"line": error.lineno - 1, "character": units}
        return [{"range": {"start": at, "end": at}, "severity": 1, "source": "compile", "message": error.msg}]


def ask(method, params):
    """A question to the client, and its answer."""
    send({"id": f"ask-{len(asked)}", "method": method, "params": params})
    asked.append(method)
    while (message := read()).get("id") != f"ask-{len(asked) - 1}":
        waiting.append(message)
    return message


documents = {}


def main():
    if habit == "exit":
        sys.exit("not installed, and auto-install is " + os.environ.get("RUSTUP_AUTO_INSTALL", "on"))
    if habit == "silent":
        time.sleep(60)
    if habit == "garbage":
        raw(b"Starting server...\n")
    if habit == "long":
        raw(b"Content-Length: 999999999\r\n\r\n{")
    if habit == "short":
        raw(b'Content-Length: 5\r\n\r\n{"jsonrpc": "2.0"}')
    if habit == "flood":
        while True:
            send({"method": "window/logMessage", "params": {"type": 4, "message": "hm"}})
    while (message := receive()) is not None:
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            if habit == "refuse":
                send({"id": message["id"], "error": {"code": -32002, "message": "no workspace"}})
                continue
            capabilities = {"textDocumentSync": 1}
            if way == "pull":
                capabilities["diagnosticProvider"] = {"interFileDependencies": False, "workspaceDiagnostics": False}
            send({"id": message["id"], "result": {"capabilities": capabilities}})
        elif method == "initialized" and habit == "curious":
            assert ask("workspace/configuration", {"items": [{"section": "a"}, {"section": "b"}]})["result"] == [None, None]
            assert ask("client/registerCapability", {"registrations": []})["result"] is None
            assert ask("window/workDoneProgress/create", {"token": "t"})["result"] is None
            assert ask("make/coffee", {})["error"]["code"] == -32601
        elif method == "textDocument/didOpen":
            uri, text = params["textDocument"]["uri"], params["textDocument"]["text"]
            documents[uri] = text
            if habit == "die":
                sys.exit("out of memory")
            if habit == "mute":
                continue
            if habit == "odd":
                send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": [{"range": 7}]}})
            if habit == "slow":
                # As those that build first: nothing found yet, then at work for a while.
                send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}})
                send({"method": "$/progress", "params": {"token": "build", "value": {"kind": "begin", "title": "build"}}})
                time.sleep(0.5)
            if way == "push":
                send({"method": "textDocument/publishDiagnostics", "params": {"uri": "file:///other.py", "diagnostics": [{}]}})
                send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": diagnose(text)}})
            if habit == "slow":
                send({"method": "$/progress", "params": {"token": "build", "value": {"kind": "end"}}})
        elif method == "textDocument/diagnostic":
            if habit == "cancel" and "cancelled" not in asked:
                asked.append("cancelled")
                send({"id": message["id"], "error": {"code": -32802, "message": "cancelled by the server"}})
                continue
            items = diagnose(documents[params["textDocument"]["uri"]])
            send({"id": message["id"], "result": {"kind": "full", "items": items}})
        elif method == "shutdown":
            send({"id": message["id"], "result": None})
        elif method == "exit":
            if "FAREWELL" in documents.get(next(iter(documents), ""), ""):
                open(os.path.join(os.getcwd(), "farewell"), "w").close()
            sys.exit(0)


main()
