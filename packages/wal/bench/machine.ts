import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'

/** Where and with what the figures were made. */
export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly node: string
  readonly platform: string
  readonly fileSystem: string
  readonly lmdb: string
  readonly classicLevel: string
  readonly date: string
}

export function describeMachine(fileSystem: string): Machine {
  const all = cpus()
  return {
    processor: all[0]?.model.trim() || process.arch,
    cores: all.length,
    node: process.versions.node,
    platform: process.platform,
    fileSystem,
    lmdb: versionOf('lmdb'),
    classicLevel: versionOf('classic-level'),
    date: new Date().toISOString(),
  }
}

/** Of an installed package, whether or not it exports its package.json. */
function versionOf(name: string): string {
  let directory = dirname(createRequire(import.meta.url).resolve(name))
  for (;;) {
    const found = readManifest(directory)
    if (found?.name === name) return found.version
    const parent = dirname(directory)
    if (parent === directory) return 'unknown'
    directory = parent
  }
}

function readManifest(directory: string): { name: string; version: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  } catch {
    // Not the package's root yet.
    return undefined
  }
}
