import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseCommandLine } from '../src/options.js'

const program = fileURLToPath(new URL('../src/main.js', import.meta.url))

t.test(
  'the defaults are two minutes, 50,000 tasks and four workers of each isolation',
  async (t) => {
    t.same(parseCommandLine([], 7), {
      faultMs: 120_000,
      tasks: 50_000,
      workers: 4,
      seed: 7,
      paddingBytesMax: 1024,
      keep: false,
      json: false,
    })
  },
)

t.test('the number of tasks grows with the minutes', async (t) => {
  t.equal(parseCommandLine(['--minutes', '30'], 7).tasks, 750_000)
})

t.test('every option is read', async (t) => {
  const numbers = ['--minutes', '0.5', '--tasks', '9', '--workers', '2', '--seed', '3']
  const others = ['--padding', '5', '--keep', '--json']
  t.same(parseCommandLine(['--', ...numbers, ...others], 7), {
    faultMs: 30_000,
    tasks: 9,
    workers: 2,
    seed: 3,
    paddingBytesMax: 5,
    keep: true,
    json: true,
  })
})

t.test('invalid options are rejected', async (t) => {
  for (const [args, message] of [
    [['--minutes', '0'], /^--minutes is 0; it must be a number above 0/],
    [['--tasks', '1.5'], /^--tasks is 1.5; it must be a whole number above 0$/],
    [['--workers', 'many'], /^--workers is many; /],
    [['--sed', '1'], /--sed/],
    [['now'], /now/],
  ] as const) {
    t.throws(() => parseCommandLine(args, 7), { message })
  }
})

const reason = process.platform === 'linux' ? false : 'it looks for processes in /proc'

t.test('Ctrl-C ends every process and leaves no file', { skip: reason }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-chaos-test-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const args = [program, '--tasks', '1000', '--workers', '1', '--seed', '1']
  const env = { ...process.env, TMPDIR: directory }
  const chaos = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => chaos.kill('SIGTERM'))
  await firstLine(chaos)
  t.ok(processesWith(`TMPDIR=${directory}`) > 1)
  chaos.kill('SIGINT')
  t.same(await once(chaos, 'exit'), [130, null])
  t.equal(processesWith(`TMPDIR=${directory}`), 0)
  t.same(readdirSync(directory), [])
})

/** Progress is reported only after the coordinator has accepted the connection. */
async function firstLine(chaos: ChildProcess): Promise<void> {
  await once(createInterface({ input: chaos.stderr! }), 'line')
}

function processesWith(variable: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => environmentOf(pid).includes(variable)).length
}

/** Empty for processes of other users and for processes that have exited. */
function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}
