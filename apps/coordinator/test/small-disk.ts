import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeDirectory } from './coordinator-process.js'

/** A file system of its own, so small that it can be filled. */
export interface SmallDisk {
  readonly path: string
  /** Somebody else takes that much of it. */
  fill(bytes: number): void
  /** And gives it back. */
  empty(): void
}

/** `undefined` where this user may mount nothing. */
export function mountSmallDisk(t: Test, megabytes: number): SmallDisk | undefined {
  const path = makeDirectory(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  if (mounted.status !== 0) return undefined
  t.teardown(() => {
    spawnSync('umount', ['--lazy', path])
  })
  const ballast = join(path, 'ballast')
  return {
    path,
    fill: (bytes) => writeFileSync(ballast, new Uint8Array(bytes)),
    empty: () => rmSync(ballast),
  }
}
