import { readFileSync } from 'node:fs'
import { protocolVersion } from '@tenure/protocol'

/** What runs here: of interest when two of them do not understand each other. */
export interface Versions {
  readonly version: string
  readonly protocol: number
  readonly node: string
}

/** Of an app, as its own manifest says it. */
export function readVersions(manifest: URL): Versions {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { version, protocol: protocolVersion, node: process.version }
}
