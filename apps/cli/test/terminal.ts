import { type Host, runVerbs, type StopSignal } from '@tenure/app-kit'
import { program } from '../src/program.js'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  /** Makes both outputs a terminal of this size. */
  readonly terminal?: { readonly columns: number; readonly rows: number }
  /** Called with each piece of output; may send Ctrl-C. */
  readonly hear?: (text: string, signal: (signal: StopSignal) => void) => void
}

/** Runs `tenure` in this process with a fake terminal. */
export async function type(args: readonly string[], options: Options = {}): Promise<Said> {
  const { env = {}, terminal, hear = () => {} } = options
  const listeners = new Map<StopSignal, () => void>()
  const signal = (signal: StopSignal) => listeners.get(signal)?.()
  const said = { stdout: '', stderr: '' }
  const output = (name: 'stdout' | 'stderr', fd: number) => ({
    fd,
    isTTY: terminal !== undefined,
    ...terminal,
    write: (text: string | Uint8Array) => {
      said[name] += Buffer.from(text).toString()
      hear(String(text), signal)
    },
  })
  const host: Host = {
    argv: ['node', 'tenure', ...args],
    env: { ...env },
    stdout: output('stdout', 1),
    stderr: output('stderr', 2),
    on: (signal, listener) => listeners.set(signal, listener),
    exit: (code) => {
      throw new Error(`exit ${code}`)
    },
  }
  return { code: await runVerbs(program, host), ...said }
}

/** A transcript of the command, its output and its exit code. */
export function transcript(args: readonly string[], { code, stdout, stderr }: Said): string {
  const typed = args.map((word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`)).join(' ')
  const errors = stderr.replaceAll(/^(?=.)/gm, '2> ')
  return `$ tenure ${typed}\n${stdout}${errors}${code === 0 ? '' : `(${code})\n`}`
}
