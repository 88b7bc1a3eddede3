import { editOf, type Fault } from './fault.js'

const asked = 'packages/http-port/test/http-port.test.ts'
const foreign = 'any other name is rejected, however similar to an allowed one'

const http = editOf('http-port', 'http-port')
const hosts = editOf('http-port', 'allowed-hosts')

/** Pages, host names and resource limits of the HTTP port. */
export const httpPortFaults: readonly Fault[] = [
  {
    name: 'a path without a page is served',
    test: [asked, 'an unknown path is 404, and the answer lists the paths'],
    edits: http('status: 404', 'status: 200'),
  },
  {
    name: 'a POST is treated as a GET',
    test: [asked, 'a method other than GET and HEAD is 405 on every path, with the allowed ones'],
    edits: http("if (method !== 'GET' && method !== 'HEAD')", 'if (false)'),
  },
  {
    name: 'a page that fails is not an error',
    test: [asked, 'a page that throws is 500, and others still work'],
    edits: editOf('http-port', 'pages')('status: 500', 'status: 200'),
  },
  {
    name: 'a request under a foreign host name is served',
    test: [asked, 'a request with a foreign host is rejected, with the flag that allows it'],
    edits: http('if (!allowed.allows(headers.host))', 'if (false)'),
  },
  {
    name: 'a host name that begins like an allowed one is allowed',
    test: [asked, foreign],
    edits: hosts("host === 'localhost'", "host.startsWith('localhost')"),
  },
  {
    name: 'every host name is allowed',
    test: [asked, foreign],
    edits: hosts(
      'return isIP(host) === 4 || isLocalhost(host) || this.#names.has(host);',
      'return true;',
    ),
  },
  {
    name: 'a connection over the limit closes no other',
    test: [asked, 'a connection over the limit closes the oldest one'],
    edits: http('if (sockets.size <= connectionsMax || oldest === undefined)', 'if (true)'),
  },
  {
    name: 'a connection over the limit is closed instead of the oldest one',
    test: [asked, 'a connection over the limit closes the oldest one'],
    edits: http('const [oldest] = sockets;', 'const oldest = [...sockets].at(-1);'),
  },
  {
    name: 'a request has no time limit',
    test: [asked, 'a request that is not complete in time is answered 408'],
    edits: http('headersTimeout: requestMs,\n        requestTimeout: requestMs,', ''),
  },
  {
    name: 'an idle connection is never closed',
    test: [asked, 'a connection that is idle for too long is closed without an answer'],
    edits: http('server.timeout = idleMs;', 'server.timeout = 0;'),
  },
]
