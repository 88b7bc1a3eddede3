import { readFileSync } from 'node:fs'
import { protocolVersion } from '@tenure/protocol'

/** The versions to compare when two processes do not understand each other. */
export interface Versions {
  readonly version: string
  readonly protocol: number
  readonly node: string
}

/** Reads the version of an app from its `package.json`. */
export function readVersions(manifest: URL): Versions {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { version, protocol: protocolVersion, node: process.version }
}
