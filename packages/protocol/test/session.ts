import {
  ClientConnection,
  encodeAnswer,
  encodeRequest,
  encodeWelcome,
  type LeaseTerms,
} from '@tenure/protocol'
import { unpack } from 'msgpackr'
import { unframe } from './bytes.js'

/**
 * The session that `docs/protocol.md` shows byte by byte: a task is submitted, leased and completed over one
 * connection. The document must contain `sessionText`.
 */
type Names = readonly (string | { readonly [name: string]: Names })[]

interface Message {
  readonly from: 'client' | 'coordinator'
  readonly frame: Buffer
  readonly kind: string
  /** Names of the values after the type. */
  readonly names: Names
}

const bytesPerLine = 10
const termNames = ['lease_expiry', 'window_end', 'held', 'lease', 'window']
const terms: LeaseTerms = {
  leaseExpiry: 1_800_000_030_000,
  windowEnd: 1_800_003_600_000,
  heldMs: 3,
  leaseMs: 30_000,
  windowMs: 3_600_000,
}

const payload = Buffer.from('resize 17.jpg')

const session: readonly Message[] = [
  {
    from: 'client',
    frame: ClientConnection.hello({ role: 'admin', name: 'worker-1', capacity: 1 }),
    kind: 'hello',
    names: ['version', 'role', 'name', 'token', 'capacity', 'extras'],
  },
  {
    from: 'coordinator',
    frame: encodeWelcome({
      version: 1,
      epoch: 4,
      leaseDurationMs: 30_000,
      heartbeatIntervalMs: 10_000,
      syncMode: 'always',
      limits: {
        frameBytesMax: 1_048_576,
        payloadBytesMax: 262_144,
        resultBytesMax: 65_536,
        requestsInFlightMax: 64,
        pollsPerConnectionMax: 256,
        waitMsMax: 60_000,
      },
      log: '3f6c0d6e5a2b4c1e9d8f7a6b5c4d3e2f',
    }),
    kind: 'welcome',
    names: ['version', 'epoch', 'lease', 'heartbeat', 'sync_mode', 'limits', 'extras'],
  },
  {
    from: 'client',
    frame: encodeRequest({ kind: 'submit', id: 1, payload, requestId: 'photo-17' }),
    kind: 'submit',
    names: [
      ...['id', 'payload', 'queue', 'not_before', 'delay', 'request_id', 'execution_window'],
      'retries',
    ],
  },
  {
    from: 'coordinator',
    frame: encodeAnswer({ kind: 'submitted', id: 1, taskId: 41, known: false }),
    kind: 'submitted',
    names: ['id', 'task_id', 'known'],
  },
  {
    from: 'client',
    frame: encodeRequest({ kind: 'lease', id: 2, queues: ['default'], waitMs: 20_000 }),
    kind: 'lease',
    names: ['id', { queues: ['queue'] }, 'wait'],
  },
  {
    from: 'coordinator',
    frame: encodeAnswer({
      kind: 'leased',
      id: 2,
      taskId: 41,
      leaseId: 42,
      attempt: 1,
      queue: 'default',
      payload,
      ...terms,
    }),
    kind: 'leased',
    names: [...['id', 'task_id', 'lease_id', 'attempt', 'queue', 'payload'], { terms: termNames }],
  },
  {
    from: 'client',
    frame: encodeRequest({
      kind: 'complete',
      id: 3,
      taskId: 41,
      leaseId: 42,
      reportId: 'r-1',
      result: Buffer.from('ok'),
    }),
    kind: 'complete',
    names: ['id', 'task_id', 'lease_id', 'report_id', 'result'],
  },
  {
    from: 'coordinator',
    frame: encodeAnswer({ kind: 'committed', id: 3, state: 'COMPLETED' }),
    kind: 'committed',
    names: ['id', 'state', 'eligible_at'],
  },
]

export const sessionText = session.map(describe).join('\n')

function describe({ from, frame, kind, names }: Message): string {
  const to = from === 'client' ? 'coordinator' : 'client'
  const lines = [`${from} → ${to}: ${kind}`]
  lines.push(line(frame.subarray(0, 4), `length of the body: ${frame.length - 4}`, 1))
  const body = unframe(frame)
  lines.push(line(body.subarray(0, 1), `list of ${body[0]! - 0x90}`, 1))
  lines.push(line(body.subarray(1, 2), `type ${body[1]}, ${kind}`, 2))
  values(body, 2, names, 2, lines)
  return `${lines.join('\n')}\n`
}

/** Describes one value for each name, and returns the offset after them. */
function values(body: Buffer, from: number, names: Names, depth: number, lines: string[]): number {
  let at = from
  for (const named of names) {
    const head = body[at]!
    if (typeof named === 'object') {
      const [[name, parts] = ['', []]] = Object.entries(named)
      lines.push(line(body.subarray(at, at + 1), `${name}: list of ${head - 0x90}`, depth))
      at = values(body, at + 1, parts, depth + 1, lines)
    } else if (head === 0xde) {
      const count = body.readUInt16BE(at + 1)
      lines.push(line(body.subarray(at, at + 3), `${named}: map of ${count}`, depth))
      at = pairs(body, at + 3, count, depth + 1, lines)
    } else {
      const end = at + sizeOf(body, at)
      const value = body.subarray(at, end)
      lines.push(line(value, `${named}: ${show(unpack(value))}`, depth))
      at = end
    }
  }
  return at
}

function pairs(body: Buffer, from: number, count: number, depth: number, lines: string[]): number {
  let at = from
  for (let index = 0; index < count; index++) {
    const middle = at + sizeOf(body, at)
    const end = middle + sizeOf(body, middle)
    const key: unknown = unpack(body.subarray(at, middle))
    lines.push(line(body.subarray(at, middle), `key ${show(key)}`, depth))
    lines.push(line(body.subarray(middle, end), show(unpack(body.subarray(middle, end))), depth))
    at = end
  }
  return at
}

/** Covers only the forms that occur in this session. */
function sizeOf(body: Buffer, at: number): number {
  const head = body[at]!
  if (head <= 0x7f || head === 0xc0 || head === 0xc2 || head === 0xc3) return 1
  if (head >= 0xa0 && head <= 0xbf) return 1 + head - 0xa0
  if (head === 0xc4 || head === 0xd9) return 2 + body[at + 1]!
  const sizes: { readonly [head: number]: number } = { 203: 9, 204: 2, 205: 3, 206: 5 }
  const size = sizes[head]
  if (size === undefined) throw new Error(`cannot describe a value with the first byte ${head}`)
  return size
}

function show(value: unknown): string {
  if (value === null) return 'nil'
  if (value instanceof Uint8Array) return `bytes ${JSON.stringify(Buffer.from(value).toString())}`
  return JSON.stringify(value)
}

function line(bytes: Buffer, text: string, depth: number): string {
  const rows: string[] = []
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const row = bytes.subarray(at, at + bytesPerLine)
    rows.push([...row].map((byte) => byte.toString(16).padStart(2, '0')).join(' '))
  }
  const indented = rows.map((row) => '  '.repeat(depth) + row)
  const width = 3 * bytesPerLine + 8
  return [`${indented[0]!.padEnd(width)}${text}`, ...indented.slice(1)].join('\n')
}
