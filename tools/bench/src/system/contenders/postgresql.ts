import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Place, ServerProgram } from '../../servers/server.js'
import { isInstalled } from '../../servers/server.js'

// Debian installs the programs outside PATH.
const programs = isInstalled('postgres') ? '' : '/usr/lib/postgresql/15/bin/'
const user = process.getuid?.() === 0 ? (userOf('postgres') ?? userOf('nobody')) : undefined

/** PostgreSQL with its defaults, listening on loopback only. */
export const postgresql = {
  program: `${programs}postgres`,
  user,
  // An immediate shutdown, which the next start treats as a crash. It leaves no process and no
  // shared memory.
  endSignal: 'SIGQUIT',
  args: ({ directory, port }) => [
    ...['-D', dataOf(directory), '-p', `${port}`, '-h', '127.0.0.1', '-k', ''],
    // The default of a hundred is too low for clients and workers together.
    ...['-c', 'max_connections=300'],
  ],
  version: () => execFileSync(`${programs}postgres`, ['--version'], { encoding: 'utf8' }).trim(),
  /** PostgreSQL refuses to run as root, so another user needs access to the directory. */
  async prepare({ directory }) {
    const data = dataOf(directory)
    mkdirSync(data, { mode: 0o700 })
    if (user !== undefined) {
      chownSync(data, user.uid, user.gid)
      chmodSync(directory, 0o711)
      chmodSync(dirname(directory), 0o711)
    }
    const settings = [
      ...['-D', data, '-U', 'postgres', '--auth', 'trust'],
      ...['--locale', 'C', '--encoding', 'UTF8'],
    ]
    execFileSync(`${programs}initdb`, settings, { ...user, stdio: ['ignore', 'ignore', 'inherit'] })
  },
} satisfies Omit<ServerProgram, 'answers'> & {
  version(): string
  prepare(place: Place): Promise<void>
}

export function addressOf(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

function dataOf(directory: string): string {
  return join(directory, 'data')
}

function userOf(name: string): { readonly uid: number; readonly gid: number } | undefined {
  const line = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm')
  const [, uid, gid] = line.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
