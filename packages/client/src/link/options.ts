import { messageLimits, type Role, roles } from '@tenure/protocol'
import { type Clock, type Random, systemClock, systemRandom } from '@tenure/seams'
import type { Backoff, DialerSettings } from '../connection/dialer.js'
import { parseEndpoint } from '../connection/endpoint.js'
import { guarded, type LinkObserver } from '../connection/link-observer.js'
import { nodeTransport } from '../connection/node-transport.js'
import type { TlsOptions, Transport } from '../connection/transport.js'
import { check } from '../errors.js'

export interface LinkOptions {
  /** `host:port` each, tried in turn. The default port is 7411. */
  readonly endpoints: readonly string[]
  /** Name of this client. A worker's leases belong to its name. Default: generated. */
  readonly name?: string | undefined
  /** `produce` submits and queries, `work` leases and reports, `admin` may do everything. Default `produce`. */
  readonly role?: Role | undefined
  readonly token?: string | undefined
  /** `true` uses Node's default CAs. */
  readonly tls?: boolean | TlsOptions | undefined
  /** Maximum number of concurrent tasks of this worker. Default 0: not stated. */
  readonly capacity?: number | undefined
  /** Timeout for the first connection, over all endpoints and attempts. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Timeout for one connection attempt, up to the welcome. Default 3,000. */
  readonly attemptTimeoutMs?: number | undefined
  /** Default timeout of a call. Default 30,000. */
  readonly requestTimeoutMs?: number | undefined
  /** Silence after which the coordinator is probed. Default 10,000. */
  readonly keepAliveMs?: number | undefined
  /** Delays between rounds of connection attempts. Default 100 ms to 5,000 ms. */
  readonly backoff?: Partial<Backoff>
  readonly observer?: LinkObserver | undefined
  /** External inputs, replaced in tests and simulations. */
  readonly transport?: Transport | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

/** The checked options with their defaults. */
export interface LinkSettings extends DialerSettings {
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly observer: LinkObserver
}

const optionNames: readonly (keyof LinkOptions)[] = [
  'endpoints',
  'name',
  'role',
  'token',
  'tls',
  'capacity',
  'connectTimeoutMs',
  'attemptTimeoutMs',
  'requestTimeoutMs',
  'keepAliveMs',
  'backoff',
  'observer',
  'transport',
  'clock',
  'random',
]

export function resolveLinkOptions(options: LinkOptions): LinkSettings {
  check.names('options', options, optionNames)
  const { endpoints, role = 'produce', token, random = systemRandom } = options
  check.list('options.endpoints', endpoints, 'a list of at least one "host:port"', 1)
  check.oneOf('options.role', role, roles)
  const { workerIdBytesMax, tokenBytesMax } = messageLimits
  const { name = `client-${random.id()}`, capacity = 0 } = options
  const hello = {
    role,
    name: check.text('options.name', name, 1, workerIdBytesMax),
    token: token === undefined ? undefined : check.text('options.token', token, 1, tokenBytesMax),
    capacity: check.whole('options.capacity', capacity, 0, 1_000_000),
  }
  return {
    endpoints: endpoints.map((text, index) => parseEndpoint(text, `options.endpoints[${index}]`)),
    hello,
    random,
    tls: resolveTls(options.tls ?? false),
    connectTimeoutMs: check.duration(
      'options.connectTimeoutMs',
      options.connectTimeoutMs ?? 10_000,
    ),
    attemptTimeoutMs: check.duration('options.attemptTimeoutMs', options.attemptTimeoutMs ?? 3000),
    requestTimeoutMs: check.duration(
      'options.requestTimeoutMs',
      options.requestTimeoutMs ?? 30_000,
    ),
    keepAliveMs: check.duration('options.keepAliveMs', options.keepAliveMs ?? 10_000),
    backoff: resolveBackoff(options.backoff ?? {}),
    observer: guarded(options.observer ?? {}),
    transport: options.transport ?? nodeTransport,
    clock: options.clock ?? systemClock,
  }
}

function resolveTls(given: boolean | TlsOptions): TlsOptions | undefined {
  if (typeof given === 'boolean') return given ? {} : undefined
  check.names('options.tls', given, ['ca', 'cert', 'key', 'passphrase', 'servername'])
  return given
}

function resolveBackoff(given: Partial<Backoff>): Backoff {
  check.names('options.backoff', given, ['initialMs', 'maxMs'])
  const initialMs = check.duration('options.backoff.initialMs', given.initialMs ?? 100)
  const maxMs = check.duration('options.backoff.maxMs', given.maxMs ?? Math.max(5000, initialMs))
  return { initialMs, maxMs }
}
