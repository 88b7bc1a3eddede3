import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Machine as AnyMachine, describeMachine as describeAny } from '@tenure/harness'

/** The machine and the versions of the software. */
export interface Machine extends AnyMachine {
  readonly fileSystem: string
  readonly lmdb: string
  readonly classicLevel: string
}

export function describeMachine(fileSystem: string): Machine {
  const lmdb = versionOf('lmdb')
  const classicLevel = versionOf('classic-level')
  return { ...describeAny(), fileSystem, lmdb, classicLevel }
}

/** Version of an installed package, whether or not it exports its package.json. */
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
