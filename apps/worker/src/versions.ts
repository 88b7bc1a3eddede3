import { readFileSync } from 'node:fs'
import { protocolVersion } from '@tenure/protocol'

const manifest = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }

export const versions = { version, protocol: protocolVersion, node: process.version }
