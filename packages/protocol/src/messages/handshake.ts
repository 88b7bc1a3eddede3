import { ProtocolError } from '../errors.js'
import { messageLimits, protocolVersion } from '../limits.js'
import { packFrame, unpackBody } from '../wire/codec.js'
import { Fields } from '../wire/fields.js'
import { type Reason, reasons } from './reasons.js'

/**
 * The first frame in each direction. The asker says who it is:
 *
 *     [0 hello, version, role, name, token, capacity]
 *
 * and is welcomed, or refused and disconnected:
 *
 *     [64 welcome, version, epoch, lease, heartbeat, sync_mode, {limits}]
 *     [71 rejected, 0, reason, message, retry_after]
 *
 * `name` is the worker's id: its leases are its own under this name. `capacity` is how many tasks it
 * runs at once; advice, nothing more.
 */
export interface Hello {
  readonly version: number
  readonly role: Role
  readonly name: string
  readonly token?: string
  readonly capacity: number
}

/** What a connection may ask for: submit and look; lease and report; everything. */
export const roles = ['produce', 'work', 'admin'] as const
export type Role = (typeof roles)[number]

export interface Welcome {
  readonly version: number
  /** How often the log was opened: another number means that the coordinator was restarted. */
  readonly epoch: number
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  /** When an answer is given: `always` after the record is on the disk. */
  readonly syncMode: string
  readonly limits: Limits
}

/** The coordinator's knobs as far as they concern those who ask. */
export interface Limits {
  readonly frameBytesMax: number
  readonly payloadBytesMax: number
  readonly resultBytesMax: number
  readonly requestsInFlightMax: number
  /** Of lease requests that may wait, which are not counted among those. */
  readonly pollsPerConnectionMax: number
  readonly waitMsMax: number
}

const helloType = 0
const welcomeType = 64
const rejectedType = 71

export function encodeHello({ version, role, name, token = null, capacity }: HelloToSend): Buffer {
  return packFrame([helloType, version, role, name, token, capacity])
}

type HelloToSend = Omit<Hello, 'token'> & { readonly token?: string | null }

/** Somebody who speaks another version; what its hello says behind that is not for us to read. */
export interface OtherVersion {
  readonly otherVersion: number
}

export function decodeHello(body: Uint8Array): Hello | OtherVersion {
  const values = unpackBody(body)
  const fields = new Fields(values, 1)
  if (values[0] !== helloType) {
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', 'the first message must be a hello')
  }
  const version = fields.whole('version', 1, 0xffff)
  if (version !== protocolVersion) return { otherVersion: version }
  if (values.length !== 6) {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      `hello has ${values.length} fields; it must have 6`,
    )
  }
  const role = fields.word('role', roles)
  const name = fields.text('name', 1, messageLimits.workerIdBytesMax)
  const token = fields.optional((own) => own.text('token', 1, messageLimits.tokenBytesMax))
  const capacity = fields.whole('capacity', 0, 1_000_000)
  return { version, role, name, ...(token !== undefined && { token }), capacity }
}

export function encodeWelcome(welcome: Welcome): Buffer {
  const { version, epoch, leaseDurationMs, heartbeatIntervalMs, syncMode, limits } = welcome
  return packFrame([
    welcomeType,
    version,
    epoch,
    leaseDurationMs,
    heartbeatIntervalMs,
    syncMode,
    limits,
  ])
}

/** Why the coordinator refuses the connection. */
export interface Refusal {
  readonly reason: Reason
  readonly message: string
}

export function decodeWelcome(body: Uint8Array): Welcome | Refusal {
  const values = unpackBody(body)
  const fields = new Fields(values, 1)
  if (values[0] === rejectedType) {
    fields.whole('id', 0, 0)
    const reason = fields.text('reason', 1, 64)
    const message = fields.text('message', 0, messageLimits.reasonBytesMax)
    return { reason: Object.hasOwn(reasons, reason) ? (reason as Reason) : 'INTERNAL', message }
  }
  if (values[0] !== welcomeType || values.length !== 7) {
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', 'the first answer must be a welcome')
  }
  const most = Number.MAX_SAFE_INTEGER
  return {
    version: fields.whole('version', 1, 0xffff),
    epoch: fields.whole('epoch', 0, most),
    leaseDurationMs: fields.whole('lease', 1, most),
    heartbeatIntervalMs: fields.whole('heartbeat', 1, most),
    syncMode: fields.text('sync_mode', 1, 16),
    limits: readLimits(fields.map('limits')),
  }
}

function readLimits(map: { readonly [name: string]: unknown }): Limits {
  const read = (name: keyof Limits) =>
    new Fields([map[name]], 0).whole(`limits.${name}`, 0, 2 ** 53)
  return {
    frameBytesMax: read('frameBytesMax'),
    payloadBytesMax: read('payloadBytesMax'),
    resultBytesMax: read('resultBytesMax'),
    requestsInFlightMax: read('requestsInFlightMax'),
    pollsPerConnectionMax: read('pollsPerConnectionMax'),
    waitMsMax: read('waitMsMax'),
  }
}
