import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AppExit, AppProcess, cleanEnvironment } from '@tenure/testing'
import type { Test } from 'tap'

const binary = fileURLToPath(new URL('../src/main.js', import.meta.url))

/** The built binary in a separate process, with its output. */
export class CoordinatorProcess extends AppProcess {
  constructor(t: Test, args: readonly string[], env: Record<string, string> = {}) {
    super(t, binary, { args, env: { ...cleanEnvironment(process.env), ...env } })
  }

  /** Starts on free ports, and resolves when the coordinator has started. */
  static async start(
    t: Test,
    dataDir: string,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ) {
    const free = ['--data-dir', dataDir, '--port', '0', '--http-port', '0']
    const coordinator = new CoordinatorProcess(t, [...free, ...args], env)
    const { port, httpPort, epoch, lastLsn, replayed, tasks } = await coordinator.line('started')
    return {
      coordinator,
      started: { epoch, lastLsn, replayed, tasks },
      port: Number(port),
      httpPort,
    }
  }
}

/** Resolves to the exit code of a process that should not keep running. */
export function runToEnd(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<AppExit> {
  return new CoordinatorProcess(t, args, env).exited
}

/** A directory that is removed after the processes that use it have ended. */
export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A path that does not exist yet. */
export function makeDataDir(t: Test): string {
  return join(makeDirectory(t), 'data')
}

export function fixture(name: string): string {
  return join(import.meta.dirname, '../../test/fixtures', name)
}
