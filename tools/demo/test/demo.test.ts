import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const demo = fileURLToPath(new URL('../src/demo.js', import.meta.url))

t.test('the demonstration succeeds and explains why a task ran twice', async (t) => {
  // The loader of tap would go into every process and thread.
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [demo, '--lease', '6000', '--pause', '0'], {
    stdio: 'pipe',
    env,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text
    })
  const [code] = await once(child, 'close')
  t.equal(code, 0, output)
  t.match(output, /ran twice because lease \d+ of worker cora expired .+ before its report arrived/)
  t.match(output, /→ It ran once\. A lease granted before the crash is still valid after it\./)
})

t.test('start --help prints the usage and runs nothing', async (t) => {
  const start = fileURLToPath(new URL('../src/start.js', import.meta.url))
  for (const flag of ['--help', '-h']) {
    const child = spawn(process.execPath, [start, flag], { stdio: 'pipe', cwd: t.testdir() })
    let output = ''
    child.stdout.on('data', (text) => {
      output += text
    })
    t.same(await once(child, 'close'), [0, null])
    t.match(output, /^Usage: npx pnpm start \[flags of the coordinator\]\n/)
    t.notMatch(output, 'started')
  }
})

for (const [when, pauseMs] of [
  ['1 of 5', '60000'],
  ['is submitted', '0'],
] as const) {
  t.test(`Ctrl-C ends the demonstration (at "${when}") with all its processes`, async (t) => {
    const { NODE_OPTIONS: _, ...env } = process.env
    const child = spawn(process.execPath, [demo, '--lease', '60000', '--pause', pauseMs], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env,
    })
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    for await (const text of child.stdout) {
      output += text
      if (output.includes(when)) break
    }
    const ended = once(child, 'exit')
    const started = childrenOf(child.pid)
    t.ok(started.length > 0)
    child.kill('SIGINT')
    t.same(await ended, [130, null])
    t.same(started.filter(isAlive), [])
  })
}

function childrenOf(parent = 0): number[] {
  return readdirSync('/proc')
    .filter((name) => Number(/\) \S (\d+) /.exec(readStat(name))?.[1]) === parent)
    .map(Number)
}

function isAlive(pid: number): boolean {
  return /\) [^ZX] /.test(readStat(String(pid)))
}

/** Empty if the process has ended in the meantime. */
function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
