import type { Answer } from '@tenure/protocol'
import t from 'tap'
import { formatEndpoint, parseEndpoint } from '../src/connection/endpoint.js'
import type { TenureError } from '../src/index.js'
import { type PendingRequest, RequestTable } from '../src/link/request-table.js'

/** The table alone, without a socket or a clock. */
function pending(table: RequestTable, retry = true): PendingRequest {
  const request: PendingRequest = {
    ...{ id: table.takeId(), kind: 'ping', requestId: undefined, frame: Buffer.of(), retry },
    ...{ isPoll: false, maySend: true, wasSent: false, sent: () => undefined },
    settle: (_outcome: Answer | TenureError) => undefined,
  }
  table.add(request)
  return request
}

/** What a coordinator takes at once. */
const taking = (requestsInFlightMax: number) => ({
  requestsInFlightMax,
  pollsPerConnectionMax: 1,
})
const idOf = (request: PendingRequest | undefined) => request?.id

t.test('nothing is sent without a connection, and one place is kept for a probe', (t) => {
  const table = new RequestTable()
  const requests = [pending(table), pending(table), pending(table)]
  t.equal(table.next(), undefined)
  t.equal(table.probe(), undefined)
  table.connected(taking(3))
  t.equal(table.next(), requests[0])
  t.equal(table.next(), requests[1])
  t.equal(table.next(), undefined)
  t.equal(table.probe(), 4)
  t.equal(table.probe(), undefined)
  t.strictSame(table.answered(4), { known: true, request: undefined })
  t.equal(table.next(), undefined)
  t.strictSame(table.answered(1), { known: true, request: requests[0] })
  t.equal(table.next(), requests[2])
  t.end()
})

t.test('where one request at a time is taken, the probe waits for its turn', (t) => {
  const table = new RequestTable()
  const request = pending(table)
  table.connected(taking(1))
  t.equal(table.next(), request)
  t.equal(table.probe(), undefined)
  table.answered(request.id)
  t.equal(table.probe(), 2)
  t.end()
})

t.test(
  'a request that was given up is gone from the queue, or keeps its place without an owner',
  (t) => {
    const table = new RequestTable()
    const [first, second, third] = [pending(table), pending(table), pending(table)]
    table.connected(taking(2))
    t.equal(table.next(), first)
    table.abandon(first)
    table.abandon(second)
    t.equal(table.next(), undefined)
    t.strictSame(table.answered(1), { known: true, request: undefined })
    t.strictSame(table.answered(1), { known: true, request: undefined }, 'a second answer')
    t.strictSame(table.answered(3), { known: false, request: undefined }, 'it was not sent')
    t.equal(table.next(), third)
    t.end()
  },
)

t.test('after a lost connection comes first what was sent before, in its order', (t) => {
  const table = new RequestTable()
  const retries = [true, false, true, true, true]
  const requests = retries.map((retry) => pending(table, retry))
  table.connected(taking(5))
  for (let sent = 0; sent < 4; sent++) table.next()
  table.abandon(requests[2]!)
  t.strictSame(table.connectionLost().map(idOf), [2])
  t.equal(table.next(), undefined, 'not before there is another one')
  t.strictSame(table.answered(1), { known: false, request: undefined })
  table.connected(taking(5))
  t.strictSame([table.next(), table.next(), table.next(), table.next()].map(idOf), [
    1,
    4,
    5,
    undefined,
  ])
  t.end()
})

t.test('an endpoint is a host and a port, which is 7411 where it is missing', (t) => {
  const cases = [
    ['127.0.0.1:9', '127.0.0.1', 9, '127.0.0.1:9'],
    ['tenure.example', 'tenure.example', 7411, 'tenure.example:7411'],
    ['[::1]:80', '::1', 80, '[::1]:80'],
    ['[fe80::1%eth0]', 'fe80::1%eth0', 7411, '[fe80::1%eth0]:7411'],
  ] as const
  for (const [text, host, port, formatted] of cases) {
    t.strictSame(parseEndpoint(text, 'endpoint'), { host, port })
    t.equal(formatEndpoint({ host, port }), formatted)
  }
  for (const text of [
    '',
    ':80',
    'a:0',
    'a:65536',
    'a:b',
    'http://a:80',
    'a b',
    '::1',
    undefined,
    7,
  ]) {
    t.throws(() => parseEndpoint(text, 'endpoint'), { code: 'CLIENT_BAD_ARGUMENT' }, String(text))
  }
  t.end()
})
