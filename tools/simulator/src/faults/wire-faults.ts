import { editOf, type Fault } from './fault.js'

const connected = 'packages/protocol/test/connection.test.ts'
const framed = 'packages/protocol/test/frame.test.ts'
const coded = 'packages/protocol/test/codec.test.ts'
const paged = 'packages/protocol/test/messages.test.ts'
const hostile = 'packages/protocol/test/hostile.test.ts'
const spelled = 'packages/protocol/test/spelling.test.ts'
const served = 'packages/coordinator-server/test/server.test.ts'
const peered = 'packages/coordinator-server/test/peer.test.ts'
const role = 'a role may send what docs/protocol.md lists, and nothing else'
const small = 'a frame is limited to 4096 bytes before the welcome and to the agreed size after it'
const greeting = 'the hello must arrive and be welcomed within the handshake timeout'
const token = 'a token grants its roles'
const levels = 'a message at the limit of levels or values is accepted, and one more is rejected'

const connection = editOf('protocol', 'connections/server-connection')
const frame = editOf('protocol', 'wire/frame')
const requests = editOf('protocol', 'messages/request-layouts')
const codec = editOf('protocol', 'messages/message-codec')
const typed = editOf('protocol', 'wire/typed-fields')
const msgpack = editOf('protocol', 'wire/msgpack')
const reader = editOf('values', 'value-reader')
const handshake = editOf('protocol', 'messages/handshake')
const limits = editOf('protocol', 'limits')
const guard = editOf('protocol', 'wire/guard')
const gate = editOf('coordinator-server', 'net/gate')
const peer = editOf('coordinator-server', 'net/peer')
const flow = editOf('coordinator-server', 'net/flow-control')
const peers = editOf('coordinator-server', 'net/peers')

/** Decoding of messages, admission of peers, and permissions of roles: docs/protocol.md. */
export const wireFaults: readonly Fault[] = [
  ...(
    [
      ['queueBytesMax: 64', 'queueBytesMax: 128'],
      ['queuesMax: 16', 'queuesMax: 17'],
      ['requestIdBytesMax: 128', 'requestIdBytesMax: 64'],
      ['tokenBytesMax: 1024', 'tokenBytesMax: 512'],
      ['listMax: 1000', 'listMax: 10_000'],
      ['helloBytesMax: 4096', 'helloBytesMax: 8192'],
      ['depthMax: 8', 'depthMax: 9'],
    ] as const
  ).map(
    ([old, bad]): Fault => ({
      name: `the limit ${old} is ${bad}`,
      test: [paged, 'docs/protocol.md lists every message limit'],
      edits: limits(old, bad),
    }),
  ),
  {
    name: 'a reason code has another meaning',
    test: [paged, 'docs/protocol.md lists every reason with its meaning'],
    edits: editOf('protocol', 'messages/reasons')('EXPIRED: ', "EXPIRED: 'x' + "),
  },
  {
    name: 'the protocol has another version',
    test: [paged, 'docs/protocol.md shows the exact bytes of the session'],
    edits: limits('protocolVersion = 1', 'protocolVersion = 2'),
  },
  {
    name: 'a frame of exactly the limit is refused',
    test: [framed, 'a frame of exactly the limit is accepted, before and after raising it'],
    edits: frame('length > this.#bodyBytesMax', 'length >= this.#bodyBytesMax'),
  },
  {
    name: 'a frame over the limit is accepted',
    test: [framed, 'a length over the limit is rejected once its four bytes have arrived'],
    edits: frame('if (length > this.#bodyBytesMax)', 'if (false)'),
  },
  {
    name: 'a hello of any size is accepted',
    test: [connected, small],
    edits: connection('new FrameDecoder(messageLimits.helloBytesMax)', 'new FrameDecoder(2 ** 20)'),
  },
  {
    name: 'the frame limit is not raised after the welcome',
    test: [connected, small],
    edits: connection('this.#decoder.allow(this.#limits.frameBytesMax);', ''),
  },
  {
    name: 'requests are handled before the welcome',
    test: [connected, 'before the welcome only a hello is accepted'],
    edits: connection("if (this.#mode === 'greeting')\n", 'if (body[1] === 0)\n'),
  },
  {
    name: 'a handshake has no time limit',
    test: [connected, greeting],
    edits: connection('now + limits.handshakeMs', 'undefined'),
  },
  {
    name: 'each byte of a hello extends its time limit',
    test: [connected, greeting],
    edits: connection(
      'this.#decoder.push(bytes);',
      "this.#decoder.push(bytes); if (this.#mode === 'greeting') this.#deadline = now + this.#limits.handshakeMs;",
    ),
  },
  {
    name: 'a frame has a millisecond too much time',
    test: [connected, 'a frame has a timeout, and an idle connection has none'],
    edits: connection('now >= this.#deadline', 'now > this.#deadline'),
  },
  {
    name: 'a peer that waits because its connection is full times out',
    test: [connected, 'the frame timeout is suspended while the connection is full'],
    edits: connection('            this.suspendFrameTimeout();\n', ''),
  },
  {
    name: 'a connection is never full',
    test: [connected, 'a full connection returns no request before one is answered'],
    edits: connection('this.#inFlight >= this.#limits.requestsInFlightMax', 'false'),
  },
  {
    name: 'polls make a connection full',
    test: [connected, 'polls do not make a connection full'],
    edits: connection('if (isPoll(request))', 'if (false)'),
  },
  {
    name: 'a hello in another version is decoded as the current one',
    test: [connected, 'a hello in another version is recognized, whatever follows the version'],
    edits: handshake('if (version !== protocolVersion)', 'if (false)'),
  },
  {
    name: 'a submission with both a time and a delay is accepted',
    test: [coded, 'submit survives a round trip in every combination of its options'],
    edits: requests('if (from === undefined && request.notBefore !== undefined', 'if (false'),
  },
  {
    name: 'a request without an id is answered',
    test: [coded, 'a request without an id ends the connection'],
    edits: codec('id === undefined || !(error instanceof ProtocolError)', 'false'),
  },
  {
    name: 'the long form of a list is rejected',
    test: [spelled, 'lease decodes the same in every spelling'],
    edits: reader('head === 0xdd && this.#isAny', 'false'),
  },
  {
    name: 'a negative number is read as a large one',
    test: [
      spelled,
      'heartbeat with an invalid field is rejected with the same message in every spelling',
    ],
    edits: reader('(this.#u8(0) << 24) >> 24', 'this.#u8(0)'),
  },
  {
    name: 'bytes after a frequent message are accepted',
    test: [
      spelled,
      'heartbeat decodes the same with the typed reader and msgpackr, mutated or not',
    ],
    edits: codec('fields.requireEnd();', ''),
  },
  {
    name: 'a frequent message that is not MessagePack is answered MALFORMED',
    test: [spelled, 'submit decodes the same with the typed reader and msgpackr, mutated or not'],
    edits: codec('checkStructure(body, messageLimits);', ''),
  },
  {
    name: 'a text in a frequent message may have any length',
    test: [coded, 'fail: a field of the wrong type or over its limit is reported, with the id'],
    edits: typed('!isTextOf(value, min, max)', 'false'),
  },
  {
    name: 'msgpackr writes values that messages may not contain',
    test: [coded, 'encoding an answer with a fraction throws'],
    edits: msgpack('requirePlain(values, isStrict);', ''),
  },
  {
    name: 'one level too many is accepted',
    test: [hostile, levels],
    edits: guard('depth >= this.#limits.depthMax', 'depth > this.#limits.depthMax'),
  },
  {
    name: 'one value too many is accepted',
    test: [hostile, levels],
    edits: guard(
      '++this.#values > this.#limits.valuesMax',
      '++this.#values > this.#limits.valuesMax + 1',
    ),
  },
  {
    name: 'the announced length of a container is not checked',
    test: [hostile, 'a container larger than the remaining bytes is rejected at its head'],
    edits: guard('if (values > this.#bytes.length - at)', 'if (false)'),
  },
  ...(
    [
      ['produce', 'produce: new Set([', "produce: new Set(['kill', "],
      [
        'work',
        "'complete', 'fail', 'withdraw']),\n    admin",
        "'complete', 'fail', 'withdraw', 'submit']),\n    admin",
      ],
      ['admin', "'kill', 'workers'", "'workers'"],
    ] as const
  ).map(
    ([name, old, bad]): Fault => ({
      name: `the role ${name} has another permission`,
      test: [served, role],
      edits: gate(old, bad),
    }),
  ),
  {
    name: 'a role has all permissions',
    test: [served, 'a role may send its own requests'],
    edits: peer('!Gate.mayAsk(role, kind)', 'false'),
  },
  {
    name: 'a token opens every role',
    test: [served, token],
    edits: gate('if (roles.includes(role))', 'if (true)'),
  },
  {
    name: 'a wrong token counts as no token',
    test: [served, token],
    edits: gate('if (token === undefined || roles.length === 0)', 'if (false)'),
  },
  {
    name: 'a missing token equals the empty token',
    test: [served, 'a missing token differs from an empty one'],
    edits: gate('if (token === undefined || roles.length === 0)', 'if (roles.length === 0)'),
  },
  {
    name: 'a hello in another version is welcomed',
    test: [served, 'a peer with another protocol version is rejected by version number'],
    edits: peer("'UNSUPPORTED_VERSION', message", "'PROTOCOL', message"),
  },
  {
    name: 'one connection too many is accepted',
    test: [served, 'connections over the limit are rejected'],
    edits: peers('connections.size >= connectionsMax', 'connections.size > connectionsMax'),
  },
  {
    name: 'one poll too many waits on a connection',
    test: [peered, 'a waiting lease request over the limit is rejected immediately'],
    edits: peer('this.#connection.polls > this', 'this.#connection.polls - 1 > this'),
  },
  {
    name: 'a peer that does not read stays connected',
    test: [
      peered,
      'a peer is disconnected only if it reads nothing for slowReaderMs, however much is unsent',
    ],
    edits: flow('return nowMs - this.#left.atMs >= slowReaderMs;', 'return false;'),
  },
  {
    name: 'a slow reader is disconnected',
    test: [
      peered,
      'a peer is disconnected only if it reads nothing for slowReaderMs, however much is unsent',
    ],
    edits: flow('|| bytes !== this.#left.bytes', ''),
  },
]
