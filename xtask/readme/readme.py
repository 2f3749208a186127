"""Runs the blocks of README.md in a fresh home, and fails where the output differs.

    python readme.py README.md FOLDER_OF_THE_BINARY [--print]

A block says by its first line what becomes of it:

    ```sh NAME        is written to a file of that name
    ```console        is typed into terminal 1; ```console 2 into terminal 2
    ```sh             is not run here: CI runs these two commands itself

In a console block each line that begins with `$ ` (and what `\\` continues) is typed. What follows
must be printed, apart from ids, times and sizes. `…` stands for the rest of a line or, alone, for
any number of lines. Where a line ends with `[y/N] y` or the like, the answer is typed when the
question is there. A block without `$ ` is what the terminal's last command goes on to print.
`--print` shows what was printed instead of comparing it.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import sys
import tempfile
import termios
import time

PROMPT = "ready@@ "
LIMIT_SECONDS = 90
COLUMNS = 100

# What differs from run to run, in the order in which it is looked for.
VARIABLE = [
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (r"\b(gate|question|run|halt|delivery|webhook|tok|req|key)-[A-Za-z0-9_.~-]*[0-9a-f]{8,}", r"\1-ID"),
    (r"sha256:[0-9a-f]{64}", "sha256:DIGEST"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b[0-9a-f]{8,64}\b", "HEX"),
    (r"\b\d+(\.\d+)? ?(ms|s|min|h|KB|MB|GB)\b( ago)?", "SPAN"),
    (r"just now", "SPAN"),
    (r"[ \t]+", " "),
]


def plain(line):
    # A status line is overwritten by what is printed next.
    line = line.rstrip("\r").split("\r")[-1]
    for pattern, replacement in VARIABLE:
        line = re.sub(pattern, replacement, line)
    return line.strip()


def blocks(text):
    """The fenced blocks: (line number, words after the fence, lines)."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        if lines[at].startswith("```"):
            begun, words = at, lines[at][3:].split()
            at += 1
            block = []
            while not lines[at].startswith("```"):
                block.append(lines[at])
                at += 1
            yield begun + 1, words, block
        at += 1


def commands(block):
    """The block as [(command or None, expected lines)]."""
    parts, at = [], 0
    while at < len(block):
        if block[at].startswith("$ "):
            typed = block[at][2:]
            while typed.endswith("\\"):
                at += 1
                typed += "\n" + block[at]
            parts.append((typed, []))
        elif parts:
            parts[-1][1].append(block[at])
        else:
            parts.append((None, [block[at]]))
        at += 1
    return parts


def as_pattern(expected):
    """A regular expression over lines that were made plain."""
    whole = ""
    for line in expected:
        if line.strip() == "…":
            whole += r"(?:[^\n]*\n)*?"
        elif line.strip():
            pieces = [re.escape(plain(piece)) for piece in line.split("…")]
            whole += r"\s?[^\n]*".join(pieces) + r" ?\n"
    return re.compile(whole)


def free_port():
    """Another server may have the usual one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Terminal:
    def __init__(self, environment, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting"], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        # All that was printed, where the last command was typed, and what of it no block has shown yet.
        self.seen, self.typed_at, self.from_here = "", 0, 0
        self.until(lambda: self.is_ready())

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:
                return False
        return True

    def until(self, condition):
        end = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if time.monotonic() > end or not self.read(0.1):
                return False
        return True

    def is_ready(self):
        return self.seen[self.typed_at:].endswith(PROMPT)

    def type(self, text):
        os.write(self.fd, (text + "\n").encode())

    def printed(self):
        return self.seen[self.from_here:].replace(PROMPT, "")

    def run(self, command, expected, is_last):
        """Types the command, answers what it asks, and returns what was printed and whether it fits."""
        if command is not None:
            if not self.until(self.is_ready):
                return "the command before did not end", False
            self.typed_at = self.from_here = len(self.seen)
            self.type(command)
        answers = [re.match(r"^(.*?(?:\?|\):))(?: \[y/N\])? (\S+)$", line) for line in expected]
        answers = [(match[1], match[2]) for match in answers if match]
        for question, answer in answers:
            if not self.until(lambda: question in self.printed() and not self.is_ready()):
                return self.printed(), False
            time.sleep(0.2)
            self.type(answer)
        pattern = as_pattern(expected)

        def fits():
            lines = self.printed().split("\n")
            if command is not None:
                lines = lines[command.count("\n") + 1:]
            text = "".join(plain(line) + "\n" for line in lines if line.strip())
            ended = self.is_ready()
            # What still runs may print more later; what has ended may not have printed more.
            return pattern.fullmatch(text) if ended else is_last and expected and pattern.match(text)

        # One that prints nothing at the end of a block waits for somebody; a later block shows the rest.
        fitted = self.read(1) if is_last and not expected else self.until(fits)
        printed, self.from_here = self.printed(), len(self.seen)
        return printed, fitted

    def close(self):
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def main():
    readme, binaries = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    only_print = "--print" in sys.argv
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        folder = pathlib.Path(home) / "work"
        folder.mkdir()
        environment = {
            "HOME": home,
            "USER": "alice",
            "LOGNAME": "alice",
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "PS1": PROMPT,
            "PS2": "",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
        }
        terminals, port = {}, free_port()
        for number, words, block in blocks(readme.read_text()):
            if words[:1] == ["sh"] and len(words) == 2:
                file = folder / words[1]
                file.write_text("\n".join(block) + "\n")
                file.chmod(0o755)
            elif words[:1] == ["console"]:
                name = words[1] if len(words) > 1 else "1"
                if name not in terminals:
                    terminals[name] = Terminal(environment, folder)
                parts = commands(block)
                for at, (command, expected) in enumerate(parts):
                    command = command and command.replace(":7400", f":{port}").replace(
                        "folkmoot serve", f"folkmoot serve --listen 127.0.0.1:{port}"
                    )
                    printed, fits = terminals[name].run(command, expected, at + 1 == len(parts))
                    if only_print:
                        print(f"--- line {number}, terminal {name}\n{printed}")
                    elif not fits:
                        failed += 1
                        print(f"README.md:{number}: this was printed in place of what stands there:\n{printed}\n")
            elif words != ["sh"]:
                failed += 1
                print(f"README.md:{number}: say what this block is; see xtask/readme/readme.py")
        for terminal in terminals.values():
            terminal.close()
    print("README: all blocks print what stands there" if not failed else f"README: {failed} blocks differ")
    sys.exit(1 if failed else 0)


main()
