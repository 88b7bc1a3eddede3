import { ProtocolError } from '../errors.js'
import { messageLimits, protocolVersion } from '../limits.js'
import { type Facts, wrongField } from '../wire/fields.js'
import { type ListedFields, ListReader, ListWriter } from '../wire/listed-fields.js'
import { packFrame, unpackMessage } from '../wire/msgpack.js'
import { answerLayouts } from './answer-layouts.js'
import type { Mutable } from './layout.js'
import type { Reason } from './reasons.js'

/**
 * The first frame in each direction. The client introduces itself:
 *
 *     [0 hello, version, role, name, token, capacity, {extras}]
 *
 * The coordinator answers with a welcome, or rejects the hello and closes the connection:
 *
 *     [64 welcome, version, epoch, lease, heartbeat, sync_mode, {limits}, {extras}]
 *     [71 rejected, 0, reason, message, retry_after, {extras}]
 *
 * `name` is the worker's id: the coordinator grants leases to this name. `capacity` is the number of tasks
 * that the worker runs concurrently; it is only informational. Readers ignore unknown keys of `extras`, so that
 * later releases can add some.
 */
export interface Hello {
  readonly version: number
  readonly role: Role
  readonly name: string
  readonly token?: string | undefined
  readonly capacity: number
}

/**
 * The allowed requests of a connection: `produce` submits and reads tasks, `work` leases and reports, `admin`
 * everything.
 */
export const roles = ['produce', 'work', 'admin'] as const
export type Role = (typeof roles)[number]

export interface Welcome {
  readonly version: number
  /** Number of openings of the log. A changed epoch means that the coordinator was restarted. */
  readonly epoch: number
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  /** When the coordinator answers: with `always`, after the record is durable. */
  readonly syncMode: string
  readonly limits: Limits
  /** Id of the coordinator's log. Another id means another scheduler, with other tasks. */
  readonly log: string
}

/** The coordinator's knobs that a client or worker needs to know. */
export interface Limits {
  readonly frameBytesMax: number
  readonly payloadBytesMax: number
  readonly resultBytesMax: number
  readonly requestsInFlightMax: number
  /** Maximum number of unanswered polls. They do not count as requests in flight. */
  readonly pollsPerConnectionMax: number
  readonly waitMsMax: number
}

const helloType = 0
const welcomeType = 64

export function encodeHello(hello: Hello): Buffer {
  const fields = new ListWriter([helloType])
  passVersion(fields, hello.version)
  passHello(fields, hello.version, hello)
  return packFrame(fields.values, true)
}

/** A hello in another protocol version. Its other fields cannot be read. */
export interface OtherVersion {
  readonly otherVersion: number
}

export function decodeHello(body: Uint8Array): Hello | OtherVersion {
  const values = unpackMessage(body)
  requireType('hello', values[0], helloType)
  const fields = new ListReader(values, 1)
  const version = passVersion(fields, undefined)
  if (version !== protocolVersion) return { otherVersion: version }
  requireLength('hello', values.length, 7)
  return passHello(fields, version)
}

function passVersion(fields: ListedFields, version: number | undefined): number {
  return fields.whole('version', version, 1, 0xffff)
}

/** Passes the fields after the version. */
function passHello(fields: ListedFields, version: number, from?: Hello): Hello {
  const role = fields.word('role', from?.role, roles)
  const name = fields.text('name', from?.name, 1, messageLimits.workerIdBytesMax)
  const token = fields.has(from?.token)
    ? fields.text('token', from?.token, 1, messageLimits.tokenBytesMax)
    : undefined
  const capacity = fields.whole('capacity', from?.capacity, 0, 1_000_000)
  // No key is known yet.
  if (fields.has(undefined)) fields.facts('extras', undefined)
  const hello: Mutable<Hello> = { version, role, name, capacity }
  if (token !== undefined) hello.token = token
  return hello
}

export function encodeWelcome(welcome: Welcome): Buffer {
  const fields = new ListWriter([welcomeType])
  passWelcome(fields, welcome)
  return packFrame(fields.values, true)
}

/** Why the coordinator rejects the connection. */
export interface Refusal {
  readonly reason: Reason
  readonly message: string
  /** With NOT_ACTIVE: the address of the active coordinator, if it is known. */
  readonly active?: string | undefined
}

export function decodeWelcome(body: Uint8Array): Welcome | Refusal {
  const values = unpackMessage(body)
  const fields = new ListReader(values, 1)
  if (values[0] === answerLayouts.rejected.number) {
    const id = fields.whole('id', undefined, 0, 0)
    const { reason, message, active } = answerLayouts.rejected.pass(fields, id)
    return active === undefined ? { reason, message } : { reason, message, active }
  }
  requireType('welcome', values[0], welcomeType)
  requireLength('welcome', values.length, 8)
  return passWelcome(fields)
}

function passWelcome(fields: ListedFields, from?: Welcome): Welcome {
  const most = Number.MAX_SAFE_INTEGER
  return {
    version: passVersion(fields, from?.version),
    epoch: fields.whole('epoch', from?.epoch, 0, most),
    leaseDurationMs: fields.whole('lease', from?.leaseDurationMs, 1, most),
    heartbeatIntervalMs: fields.whole('heartbeat', from?.heartbeatIntervalMs, 1, most),
    syncMode: fields.text('sync_mode', from?.syncMode, 1, 16),
    limits: readLimits(fields.facts('limits', from && { ...from.limits })),
    log: readLog(fields.facts('extras', from && { log: from.log })),
  }
}

function readLimits(map: { readonly [name: string]: unknown }): Limits {
  const read = (name: keyof Limits) =>
    new ListReader([map[name]], 0).whole(`limits.${name}`, undefined, 0, 2 ** 53)
  return {
    frameBytesMax: read('frameBytesMax'),
    payloadBytesMax: read('payloadBytesMax'),
    resultBytesMax: read('resultBytesMax'),
    requestsInFlightMax: read('requestsInFlightMax'),
    pollsPerConnectionMax: read('pollsPerConnectionMax'),
    waitMsMax: read('waitMsMax'),
  }
}

/** Reads the log id, and checks the keys that are reserved for coordinators with several shards. */
function readLog({ log, shard, shards, endpoints }: Facts): string {
  const { valuesMax, endpointBytesMax } = messageLimits
  const most = Number.MAX_SAFE_INTEGER
  const id = new ListReader([log], 0).text('extras.log', '', 32, 32)
  if (!/^[0-9a-f]{32}$/.test(id)) {
    throw wrongField('extras.log', 'a string', '32 hexadecimal digits in lower case')
  }
  const reserved = new ListReader([shard, shards, endpoints].filter(isGiven), 0)
  if (isGiven(shard)) reserved.whole('extras.shard', 0, 0, most)
  if (isGiven(shards)) reserved.whole('extras.shards', 0, 1, most)
  if (isGiven(endpoints)) {
    reserved.list('extras.endpoints', [], 0, valuesMax, (own) =>
      own.text('extras.endpoints', '', 1, endpointBytesMax),
    )
  }
  return id
}

function isGiven(value: unknown): boolean {
  return value !== undefined
}

function requireType(kind: string, found: unknown, type: number): void {
  if (found === type) return
  throw wrong(`the first message has type ${found}; it must be a ${kind} with type ${type}`)
}

function requireLength(kind: string, found: number, length: number): void {
  if (found !== length) throw wrong(`${kind} has ${found} fields; it must have ${length}`)
}

function wrong(what: string): ProtocolError {
  return new ProtocolError('PROTOCOL_BAD_MESSAGE', what)
}
