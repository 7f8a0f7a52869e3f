// SPDX-License-Identifier: MIT OR Apache-2.0
// Serves Perfetto's trace processor on a Unix socket, in the protocol of `trace_processor
// server unix`. It is the one of Perfetto's web page: engine_bundle.js is made for a web worker
// and talks through a message port, so this is what such a worker would find around it.
// Usage: node engine.js DIRECTORY-OF-THE-BUNDLE SOCKET; ends when its standard input does.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');

const [directory, socket] = process.argv.slice(2);

// What loads the WebAssembly file that the bundle asks for.
class FileRequest {
  open(_method, name) {
    this.file = path.join(directory, path.basename(name));
  }

  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

const worker = { location: { href: 'engine_bundle.js' } };
const around = {
  self: worker,
  location: worker.location,
  WorkerGlobalScope: class {},
  XMLHttpRequest: FileRequest,
  console: { log() {}, warn() {}, error: console.error },
  process: undefined, // else it would take this for Node
  fetch: undefined,
};
const bundle = fs.readFileSync(path.join(directory, 'engine_bundle.js'), 'utf8');
new Function(...Object.keys(around), bundle)(...Object.values(around));

// The bundle is ready for requests once its own promises have been kept.
setImmediate(() => {
  let client;
  const port = { postMessage: (bytes) => client.write(Buffer.from(bytes)) };
  worker.onmessage({ data: port });
  net
    .createServer((connection) => {
      client = connection;
      connection.on('data', (bytes) => port.onmessage({ data: new Uint8Array(bytes) }));
    })
    .listen(socket);
  process.stdin.on('end', () => process.exit(0)).resume();
});
