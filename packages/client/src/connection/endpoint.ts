import { describe } from '@tenure/options'
import { check } from '../errors.js'

/** The address of a coordinator. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

const defaultPort = 7411

const shape =
  /^(?:\[(?<bracketed>[0-9a-fA-F:.%\w]+)\]|(?<host>[^\s:/@[\]]+))(?::(?<port>\d{1,5}))?$/

/** Parses `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. */
export function parseEndpoint(text: unknown, name: string): Endpoint {
  const groups = typeof text === 'string' ? shape.exec(text)?.groups : undefined
  const host = groups?.bracketed ?? groups?.host
  const port = groups?.port === undefined ? defaultPort : Number(groups.port)
  if (host === undefined || port < 1 || port > 65_535) {
    throw check.refusal(name, show(text), 'like "host:7411", "host" or "[::1]:7411"')
  }
  return { host, port }
}

/** Hides a URL that may contain a password or a key. */
function show(text: unknown): string {
  const shown = describe(text)
  return /[@?]/.test(shown) ? 'a URL with credentials or a query' : shown
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
