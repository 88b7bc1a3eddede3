import {
  type Answer,
  ClientConnection,
  type ConnectionLimits,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  encodeWelcome,
  FrameDecoder,
  messageLimits,
  protocolVersion,
  type Request,
  ServerConnection,
  type Welcome,
} from '@tenure/protocol'
import t from 'tap'
import { bodyOf, frameOf, fromHex } from './bytes.js'

const connectionLimits: ConnectionLimits = {
  frameBytesMax: 10_000,
  requestsInFlightMax: 3,
  handshakeMs: 1000,
  frameMs: 500,
}

const welcome: Welcome = {
  version: 1,
  epoch: 4,
  leaseDurationMs: 30_000,
  heartbeatIntervalMs: 10_000,
  syncMode: 'always',
  limits: {
    frameBytesMax: 10_000,
    payloadBytesMax: 9000,
    resultBytesMax: 5000,
    requestsInFlightMax: 3,
    pollsPerConnectionMax: 2,
    waitMsMax: 60_000,
  },
  log: 'ab'.repeat(16),
}

const hello = ClientConnection.hello({ role: 'work', name: 'w1', capacity: 2 })
const ping = (id: number) => encodeRequest({ kind: 'ping', id })
const pong = (id: number): Answer => ({ kind: 'pong', id })
const badMessage = { name: 'ProtocolError', code: 'PROTOCOL_BAD_MESSAGE' }
const tooLarge = { name: 'ProtocolError', code: 'PROTOCOL_FRAME_TOO_LARGE' }

function begun(now = 0, limits: Partial<ConnectionLimits> = {}): ServerConnection {
  return new ServerConnection({ ...connectionLimits, ...limits }, now)
}

/** A connection after the welcome. */
function open(limits: Partial<ConnectionLimits> = {}): ServerConnection {
  const connection = begun(0, limits)
  connection.push(hello, 0)
  connection.next(0)
  connection.welcome(welcome)
  return connection
}

/** The ids of the requests that `next` returns. */
function idsFrom(connection: ServerConnection, now = 0): number[] {
  const ids: number[] = []
  for (let arrival = connection.next(now); arrival; arrival = connection.next(now)) {
    if (arrival.kind === 'request') ids.push(arrival.request.id)
  }
  return ids
}

// ---- the coordinator's side

t.test('next() returns the hello, and requests after the welcome', (t) => {
  const connection = begun()
  t.equal(connection.next(0), undefined)
  t.equal(connection.isOpen, false)
  connection.push(hello, 0)
  t.strictSame(connection.next(0), {
    kind: 'hello',
    hello: { version: protocolVersion, role: 'work', name: 'w1', capacity: 2 },
  })
  t.equal(connection.isOpen, false)
  t.strictSame(connection.welcome(welcome), encodeWelcome(welcome))
  t.equal(connection.isOpen, true)
  connection.push(ping(1), 0)
  t.strictSame(connection.next(0), {
    kind: 'request',
    request: { kind: 'ping', id: 1 },
    bytes: ping(1).length - 4,
  })
  t.equal(connection.inFlight, 1)
  t.strictSame(connection.answer(pong(1)), encodeAnswer(pong(1)))
  t.equal(connection.inFlight, 0)
  t.end()
})

/** One request of each kind; the compiler requires new kinds, too. */
const requests: { [K in Request['kind']]: Extract<Request, { kind: K }> } = {
  submit: { kind: 'submit', id: 1, payload: Buffer.of(1) },
  lease: { kind: 'lease', id: 1, queues: ['a'], waitMs: 0 },
  heartbeat: { kind: 'heartbeat', id: 1, taskId: 1, leaseId: 2 },
  complete: { kind: 'complete', id: 1, taskId: 1, leaseId: 2 },
  fail: { kind: 'fail', id: 1, taskId: 1, leaseId: 2, reason: '' },
  kill: { kind: 'kill', id: 1, taskId: 1, reason: '' },
  get: { kind: 'get', id: 1, taskId: 1 },
  list: { kind: 'list', id: 1, fromTaskId: 1, limit: 1 },
  workers: { kind: 'workers', id: 1 },
  stats: { kind: 'stats', id: 1 },
  ping: { kind: 'ping', id: 1 },
  withdraw: { kind: 'withdraw', id: 1, of: 2 },
  why: { kind: 'why', id: 1, taskId: 1 },
  history: { kind: 'history', id: 1, taskId: 1, fromLsn: 1 },
  checkpoint: { kind: 'checkpoint', id: 1 },
}
const everyRequest: readonly Request[] = Object.values(requests)

t.test('before the welcome only a hello is accepted', (t) => {
  for (const request of everyRequest) {
    const connection = begun()
    connection.push(encodeRequest(request), 0)
    t.throws(() => connection.next(0), badMessage, request.kind)
    const impatient = begun()
    impatient.push(Buffer.concat([hello, encodeRequest(request)]), 0)
    t.equal(impatient.next(0)?.kind, 'hello')
    t.throws(() => impatient.next(0), badMessage, `${request.kind} after a hello`)
  }
  for (const frame of [encodeAnswer(pong(1)), encodeWelcome(welcome), frameOf(bodyOf('hello'))]) {
    const connection = begun()
    connection.push(frame, 0)
    t.throws(() => connection.next(0), badMessage)
  }
  t.end()
})

t.test(
  'a frame is limited to 4096 bytes before the welcome and to the agreed size after it',
  (t) => {
    const early = begun()
    early.push(fromHex('00001001'), 0)
    t.throws(() => early.next(0), tooLarge)

    const exactly = begun()
    exactly.push(fromHex('00001000'), 0)
    t.equal(exactly.next(0), undefined)

    const connection = open()
    const payload = Buffer.alloc(9000)
    connection.push(encodeRequest({ kind: 'submit', id: 1, payload }), 0)
    t.match(connection.next(0), { request: { kind: 'submit', payload } })
    connection.push(fromHex('00002711'), 0)
    t.throws(() => connection.next(0), tooLarge)
    t.end()
  },
)

t.test('the longest possible hello fits into its frame', (t) => {
  const longest = encodeHello({
    version: 0xffff,
    role: 'produce',
    name: '€'.repeat(42),
    token: 'x'.repeat(messageLimits.tokenBytesMax),
    capacity: 1_000_000,
  })
  t.ok(longest.length - 4 <= messageLimits.helloBytesMax)
  t.end()
})

t.test('a hello in another version is recognized, whatever follows the version', (t) => {
  const connection = begun()
  connection.push(frameOf(bodyOf(0, 2, { new: 'world' })), 0)
  t.strictSame(connection.next(0), { kind: 'hello', hello: { otherVersion: 2 } })
  t.equal(connection.isOpen, false)
  t.end()
})

t.test('a malformed request can be answered and counts as in flight', (t) => {
  const connection = open()
  connection.push(frameOf(bodyOf(7, 5, 'no task')), 0)
  t.match(connection.next(0), { kind: 'request', request: { kind: 'malformed', id: 5 } })
  t.equal(connection.inFlight, 1)
  t.end()
})

t.test('a request without an id and malformed MessagePack end the connection', (t) => {
  const structure = { name: 'ProtocolError', code: 'PROTOCOL_BAD_STRUCTURE' }
  for (const [body, error] of [
    [bodyOf(11, null), badMessage],
    [bodyOf(11), badMessage],
    [bodyOf(11, 0), badMessage],
    [bodyOf('ping', 1), badMessage],
    [fromHex('c1'), structure],
    [fromHex(''), structure],
    [fromHex('920b01c0'), structure],
  ] as const) {
    const connection = open()
    connection.push(frameOf(body), 0)
    t.throws(() => connection.next(0), error)
  }
  t.end()
})

t.test('a full connection returns no request before one is answered', (t) => {
  const connection = open()
  connection.push(Buffer.concat([1, 2, 3, 4, 5, 6].map(ping)), 0)
  t.equal(connection.isFull, false)
  t.strictSame(idsFrom(connection), [1, 2, 3])
  t.equal(connection.isFull, true)
  t.equal(connection.inFlight, 3)
  t.equal(connection.next(0), undefined)
  connection.answer(pong(2))
  t.equal(connection.isFull, false)
  t.strictSame(idsFrom(connection), [4])
  t.equal(connection.isFull, true)
  for (const id of [1, 3, 4]) connection.answer(pong(id))
  t.strictSame(idsFrom(connection), [5, 6])
  t.equal(connection.isFull, false)
  t.end()
})

t.test('polls do not make a connection full', (t) => {
  const connection = open()
  const lease = (id: number, waitMs: number) =>
    encodeRequest({ kind: 'lease', id, queues: ['a'], waitMs })
  const polls = [1, 2, 3, 4, 5].map((id) => lease(id, 1000))
  connection.push(Buffer.concat([...polls, ping(6), ping(7), lease(8, 0), ping(9)]), 0)
  t.strictSame(
    idsFrom(connection),
    [1, 2, 3, 4, 5, 6, 7, 8],
    'a lease request without a wait counts',
  )
  t.strictSame([connection.inFlight, connection.polls, connection.isFull], [3, 5, true])
  connection.answer({ kind: 'empty', id: 1 }, true)
  t.strictSame([connection.inFlight, connection.polls], [3, 4])
  connection.answer({ kind: 'empty', id: 8 })
  t.strictSame(idsFrom(connection), [9])
  t.end()
})

t.test('the hello must arrive and be welcomed within the handshake timeout', (t) => {
  const silent = begun(100)
  t.equal(silent.isOverdue(1099), false)
  t.equal(silent.isOverdue(1100), true)

  const slow = begun(100)
  for (const [index, byte] of hello.subarray(0, -1).entries()) {
    slow.push(Uint8Array.of(byte), 100 + index)
    t.equal(slow.next(100 + index), undefined)
  }
  t.equal(slow.isOverdue(1099), false)
  t.equal(slow.isOverdue(1100), true, 'single bytes do not extend the timeout')

  const waiting = begun(100)
  waiting.push(hello, 200)
  waiting.next(200)
  t.equal(waiting.isOverdue(1100), true)
  waiting.welcome(welcome)
  t.equal(waiting.isOverdue(1_000_000), false)
  t.end()
})

t.test('a frame has a timeout, and an idle connection has none', (t) => {
  const connection = open()
  t.equal(connection.isOverdue(1_000_000), false)
  const frame = ping(1)
  for (let at = 0; at < frame.length - 1; at++) {
    connection.push(frame.subarray(at, at + 1), 2000 + at)
    t.equal(connection.next(2000 + at), undefined)
    t.equal(connection.isOverdue(2499), false)
    t.equal(connection.isOverdue(2500), true)
  }
  connection.push(frame.subarray(-1), 2400)
  t.strictSame(idsFrom(connection, 2400), [1])
  t.equal(connection.isOverdue(1_000_000), false)
  t.end()
})

t.test('the timeout of a frame starts when the frame before it ends', (t) => {
  const connection = open({ requestsInFlightMax: 1000 })
  for (let id = 1; id <= 100; id++) {
    const now = 400 * id
    const [rest, half] = [id === 1 ? ping(1) : ping(id).subarray(3), ping(id + 1).subarray(0, 3)]
    t.equal(connection.isOverdue(now), false)
    connection.push(Buffer.concat([rest, half]), now)
    t.strictSame(idsFrom(connection, now), [id])
    t.equal(connection.isOverdue(now + 499), false)
    t.equal(connection.isOverdue(now + 500), true)
  }
  t.end()
})

t.test('the frame timeout is suspended while the connection is full', (t) => {
  const connection = open()
  connection.push(Buffer.concat([1, 2, 3, 4].map(ping)).subarray(0, -1), 1000)
  t.strictSame(idsFrom(connection, 1000), [1, 2, 3])
  t.equal(connection.isOverdue(1_000_000), false)
  connection.push(ping(4).subarray(-1), 2000)
  connection.push(ping(5).subarray(0, 3), 2000)
  t.equal(connection.next(2000), undefined)
  t.equal(connection.isOverdue(1_000_000), false, 'also while the peer continues to send')
  connection.answer(pong(1))
  t.strictSame(idsFrom(connection, 4000), [4])
  connection.answer(pong(2))
  t.equal(connection.next(5000), undefined)
  t.equal(connection.isOverdue(5499), false, 'the timeout starts when reading resumes')
  t.equal(connection.isOverdue(5500), true)
  t.end()
})

t.test('the client sees why the coordinator closes the connection', (t) => {
  const client = new ClientConnection()
  client.push(encodeWelcome(welcome))
  client.push(ServerConnection.farewell('STOPPING', 'bye'))
  t.equal(client.next()?.kind, 'welcome')
  t.strictSame(client.next(), {
    kind: 'answer',
    answer: { kind: 'rejected', id: 0, reason: 'STOPPING', message: 'bye' },
  })
  t.end()
})

// ---- the client's side

t.test('the first reply is a welcome, and later replies are answers', (t) => {
  const client = new ClientConnection()
  t.equal(client.next(), undefined)
  client.push(Buffer.concat([encodeWelcome(welcome), encodeAnswer(pong(2)), encodeAnswer(pong(1))]))
  t.strictSame(client.next(), { kind: 'welcome', welcome })
  t.strictSame(client.next(), { kind: 'answer', answer: pong(2) })
  t.strictSame(client.next(), { kind: 'answer', answer: pong(1) })
  t.equal(client.next(), undefined)
  t.end()
})

t.test('a refusal carries its reason', (t) => {
  const client = new ClientConnection()
  client.push(ServerConnection.farewell('UNAUTHORIZED', 'no token'))
  t.strictSame(client.next(), {
    kind: 'refused',
    refusal: { reason: 'UNAUTHORIZED', message: 'no token' },
  })
  t.end()
})

t.test('a client accepts only a welcome first, and only answers after it', (t) => {
  for (const frame of [encodeAnswer(pong(1)), hello, ping(1)]) {
    const early = new ClientConnection()
    early.push(frame)
    t.throws(() => early.next(), badMessage)
    const late = new ClientConnection()
    late.push(encodeWelcome(welcome))
    late.next()
    late.push(frame)
    if (frame.equals(encodeAnswer(pong(1)))) t.match(late.next(), { answer: pong(1) })
    else t.throws(() => late.next(), badMessage)
  }
  const twice = new ClientConnection()
  twice.push(Buffer.concat([encodeWelcome(welcome), encodeWelcome(welcome)]))
  twice.next()
  t.throws(() => twice.next(), badMessage)
  t.end()
})

t.test('a client limits frames to 4096 bytes, then to the size in the welcome', (t) => {
  const early = new ClientConnection()
  early.push(fromHex('00001001'))
  t.throws(() => early.next(), tooLarge)
  const client = new ClientConnection()
  client.push(encodeWelcome(welcome))
  client.next()
  client.push(fromHex('00002710'))
  t.equal(client.next(), undefined)
  const other = new ClientConnection()
  other.push(encodeWelcome(welcome))
  other.next()
  other.push(fromHex('00002711'))
  t.throws(() => other.next(), tooLarge)
  t.end()
})

t.test('both sides communicate byte by byte, with answers in any order', (t) => {
  const client = new ClientConnection()
  const server = begun()
  const toServer = Buffer.concat([
    hello,
    ...everyRequest.map((request, index) => encodeRequest({ ...request, id: index + 1 })),
  ])
  const seen: unknown[] = []
  for (const byte of toServer) {
    server.push(Uint8Array.of(byte), 0)
    const arrival = server.next(0)
    if (arrival?.kind === 'hello')
      for (const b of server.welcome(welcome)) client.push(Uint8Array.of(b))
    if (arrival?.kind === 'request')
      for (const b of server.answer(pong(arrival.request.id))) client.push(Uint8Array.of(b))
    for (let reply = client.next(); reply; reply = client.next()) {
      seen.push(reply.kind === 'answer' ? reply.answer.id : reply.kind)
    }
  }
  t.strictSame(seen, ['welcome', ...everyRequest.map((_, index) => index + 1)])
  t.end()
})

t.test('the hello of a client contains its version and token', (t) => {
  const decoder = new FrameDecoder(4096)
  decoder.push(ClientConnection.hello({ role: 'admin', name: 'a', token: 's', capacity: 0 }))
  t.strictSame(Buffer.from(decoder.next()!), bodyOf(0, protocolVersion, 'admin', 'a', 's', 0, null))
  t.end()
})
