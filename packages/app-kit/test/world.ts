import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stopSignals } from '../src/host.js'
import { ConfigError, type Environment, type Host, type StopSignal } from '../src/index.js'

/** Thrown instead of exiting the process. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

/** A fake process with arguments, output and signals. */
export class HostWorld implements Host {
  readonly argv: readonly string[]
  readonly env: Record<string, string | undefined>
  readonly stdout: Host['stdout']
  readonly stderr: Host['stderr']
  readonly #path: string
  readonly #listeners = new Map<StopSignal, () => void>()
  /** Resolves once the service listens for signals. */
  readonly listening: Promise<void>
  #heed = () => {}
  readonly #said: string[] = []
  readonly #complained: string[] = []

  constructor(t: Test, args: readonly string[], env: Environment = {}) {
    this.listening = new Promise((resolve) => {
      this.#heed = resolve
    })
    this.argv = ['node', 'main.js', ...args]
    this.env = { ...env }
    this.#path = join(makeDirectory(t), 'stdout')
    const fd = openSync(this.#path, 'w')
    t.teardown(() => closeSync(fd))
    this.stdout = { fd, write: (text) => this.#said.push(String(text)) }
    this.stderr = { fd: 2, write: (text) => this.#complained.push(String(text)) }
  }

  on(signal: StopSignal, listener: () => void): void {
    this.#listeners.set(signal, listener)
    if (this.#listeners.size === stopSignals.length) this.#heed()
  }

  exit(code: number): never {
    throw new Exit(code)
  }

  signal(signal: StopSignal): void {
    this.#listeners.get(signal)?.()
  }

  get said(): string {
    return this.#said.join('')
  }

  get complained(): string {
    return this.#complained.join('')
  }

  /** The log. */
  get output(): string {
    return readFileSync(this.#path, 'utf8')
  }

  get lines(): Record<string, unknown>[] {
    return this.output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
}

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function file(t: Test, name: string, content: unknown): string {
  const path = join(makeDirectory(t), name)
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

export function fixture(name: string): string {
  return join(import.meta.dirname, '../../test/fixtures', name)
}

/** The message of the ConfigError. */
export function refusal(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'it was accepted'
}
