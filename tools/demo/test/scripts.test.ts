import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'

// Runs the scripts behind `pnpm <name>` as child processes.

const scripts = join(import.meta.dirname, '../../../../scripts')
const env = cleanEnvironment(process.env)

const names = [
  ...['check', 'check-changesets', 'check-deploy', 'check-layers', 'check-packages'],
  ...['release-dry', 'test', 'test-busy'],
]

for (const name of names) {
  t.test(`${name} rejects an unknown option and prints its usage`, (t) => {
    const script = join(scripts, `${name}.mjs`)
    const unknown = spawnSync(process.execPath, [script, '--foo'], { env, encoding: 'utf8' })
    t.equal(unknown.status, 2)
    t.match(unknown.stderr, /^Unknown option '--foo'.*\nUsage: \S/s)
    const help = spawnSync(process.execPath, [script, '--help'], { env, encoding: 'utf8' })
    t.match(help, { status: 0, stdout: /^Usage: \S/, stderr: '' })
    t.end()
  })
}

t.test('an invalid number of rounds is rejected', (t) => {
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

t.test('a script forwards signals to its program', async (t) => {
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
    if (line.includes('cannot reach a coordinator') && !child.killed) child.kill('SIGINT')
  }
  t.same(await exited, [0, null])
  t.match(said.at(-1), '"msg":"stopped"')
})

t.test('a program stops gracefully when the parent of its script is gone', async (t) => {
  const [script = '', ...args] = worker
  // The second command keeps the shell from replacing itself with the script.
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
    if (line.includes('cannot reach a coordinator')) shell.kill('SIGKILL')
  }
  t.match(said.at(-1), '"msg":"stopped"')
})
