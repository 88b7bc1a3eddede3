import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'

// What `pnpm <name>` runs, as a process that some other one has started.

const scripts = join(import.meta.dirname, '../../../../scripts')
const env = cleanEnvironment(process.env)

const names = [
  ...['check', 'check-changesets', 'check-deploy', 'check-layers', 'check-packages'],
  ...['release-dry', 'test', 'test-busy'],
]

for (const name of names) {
  t.test(`${name} refuses an option that it does not know, and says how it is used`, (t) => {
    const script = join(scripts, `${name}.mjs`)
    const unknown = spawnSync(process.execPath, [script, '--foo'], { env, encoding: 'utf8' })
    t.equal(unknown.status, 2)
    t.match(unknown.stderr, /^Unknown option '--foo'.*\nUsage: \S/s)
    const help = spawnSync(process.execPath, [script, '--help'], { env, encoding: 'utf8' })
    t.match(help, { status: 0, stdout: /^Usage: \S/, stderr: '' })
    t.end()
  })
}

t.test('a number of rounds that is none is refused', (t) => {
  const args = [join(scripts, 'test-busy.mjs'), '--rounds', 'ten']
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  t.equal(status, 2)
  t.match(stderr, /^--rounds is ten; it must be a whole number from 1\nUsage: /)
  t.end()
})

const worker = [
  'run.mjs',
  'worker',
  '--exec',
  'true',
  '--coordinator',
  '127.0.0.1:1',
  '--http-port',
]

t.test('a signal for a script is one for the program that it runs', async (t) => {
  const [script = '', ...args] = worker
  const child = spawn(process.execPath, [join(scripts, script), ...args, 'off'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    if (line.includes('no coordinator there') && !child.killed) child.kill('SIGINT')
  }
  t.same(await exited, [0, null])
  t.match(said.at(-1), '"msg":"stopped"')
})

t.test('a program ends in order when what started its script is gone', async (t) => {
  const [script = '', ...args] = worker
  // What follows keeps the shell from becoming the script itself.
  const command = [
    '-c',
    '"$@"; true',
    'sh',
    process.execPath,
    join(scripts, script),
    ...args,
    'off',
  ]
  const shell = spawn('sh', command, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  for await (const line of createInterface({ input: shell.stdout })) {
    said.push(line)
    if (line.includes('no coordinator there')) shell.kill('SIGKILL')
  }
  t.match(said.at(-1), '"msg":"stopped"')
})
