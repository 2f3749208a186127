"""serve.py MODEL [PORT]: llama.cpp's OpenAI-compatible server on the loopback, until standard input closes or Ctrl-C.

PORT 0, which it is unless given, is any that is free. When it answers, it prints one line: where it is.
"""

import os
import pathlib
import signal
import sys

import xllamacpp

SLOTS = 4
TOKENS_A_SLOT = 2048


def main():
    # It has nothing to save; and while the model is loaded, Python itself would not hear of a signal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    model = pathlib.Path(sys.argv[1])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {model.name.removesuffix(".gguf")}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * TOKENS_A_SLOT
    # One thread is faster than two where others use the cores as well.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.use_jinja = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


main()
