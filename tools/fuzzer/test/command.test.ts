import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { runBombs } from '../src/bombs/bomb-run.js'
import { readFinding, saveFinding } from '../src/campaign/finding-files.js'
import { parseCommandLine } from '../src/options.js'
import { targetNames } from '../src/targets.js'

const program = fileURLToPath(new URL('../src/main.js', import.meta.url))
const run = (...args: string[]) =>
  spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })

t.test('the default is a minute for each target', async (t) => {
  t.same(parseCommandLine([], 7), {
    minutes: 1,
    targets: targetNames,
    seed: 7,
    json: false,
    bombs: false,
  })
})

t.test('every option is read', async (t) => {
  const common = { minutes: 1, targets: targetNames, seed: 7, json: false, bombs: false }
  for (const [args, taken] of [
    [['--', '--minutes', '0.5', '--json'], { minutes: 0.5, json: true }],
    [['--target', 'guard', '--seed', '3'], { targets: ['guard'], seed: 3 }],
    [['--bombs', '--minutes', '2'], { bombs: true, minutes: 2 }],
    [['--replay', 'x', '--json'], { replay: 'x', json: true }],
  ] as const) {
    t.same(parseCommandLine(args, 7), { ...common, ...taken })
  }
})

t.test('invalid options are rejected', async (t) => {
  for (const [args, message] of [
    [['--minutes', '0'], /^--minutes is 0; it must be a number above 0/],
    [['--target', 'moon'], /^--target is moon; it must be one of frames, /],
    [['--seed', '1.5'], /^--seed is 1.5; it must be a whole number above 0$/],
    [['--sed', '1'], /--sed/],
    [['--bombs', '--replay', 'x'], /^--replay and --bombs are mutually exclusive$/],
    [['--replay', 'x', '--seed', '1'], /^--replay and --seed are mutually exclusive$/],
    [['--bombs', '--target', 'guard'], /^--bombs and --target are mutually exclusive$/],
  ] as const) {
    t.throws(() => parseCommandLine(args, 7), { message })
  }
})

t.test('the summary is the last line', async (t) => {
  const { status, stdout } = run('--minutes', '0.003', '--target', 'guard', '--seed', '1', '--json')
  const summary = JSON.parse(stdout.trim().split('\n').at(-1)!)
  t.match(summary, { seed: 1, minutes: 0.003, inputs: { guard: Number }, findings: [] })
  t.ok(summary.inputs.guard > 0)
  t.equal(status, 0)
})

t.test('--replay runs a finding again, and its exit code is the result', async (t) => {
  const finding = { target: 'records', check: 'a check', detail: 'once', input: [] }
  const { status, stdout } = run('--replay', saveFinding(finding, t.testdir()))
  t.equal(status, 0)
  t.match(stdout, /all checks hold/)
})

t.test('a file without a finding is rejected', async (t) => {
  const finding = { target: 'records', check: 'a check', detail: 'once', input: [] }
  const files = [
    '{"target": "rec',
    JSON.stringify(null),
    ...[
      { ...finding, target: undefined },
      { ...finding, input: undefined },
      { ...finding, input: [null] },
      { ...finding, input: [{ hex: '00' }] },
      { ...finding, input: [{ kind: 'record', hex: '0g' }] },
      { ...finding, input: [{ kind: 'record', at: '1' }] },
      { ...finding, input: [{ kind: 'record', why: 'so' }] },
    ].map((value) => JSON.stringify(value)),
  ]
  for (const file of files) {
    const path = join(t.testdir({ file }), 'file')
    const message = `--replay is ${path}; it must be a file with a finding: `
    t.throws(() => readFinding(path), { message }, file)
  }
})

t.test('a finding of an unknown target is a usage error', async (t) => {
  const finding = { target: 'moon', check: 'a check', detail: 'once', input: [] }
  for (const [path, why] of [
    ['missing', /^--replay is missing; it must be a file with a finding: ENOENT/],
    [saveFinding(finding, t.testdir()), /^--replay is .*; it must be a finding of frames, /],
  ] as const) {
    const { status, stderr } = run('--replay', path)
    t.equal(status, 2)
    t.match(stderr, why)
    t.match(stderr, /^Usage: pnpm fuzz \[--minutes m\]/m)
    t.notMatch(stderr, /^ {4}at /m)
  }
})

const reason = process.platform === 'linux' ? false : 'it looks at memory in /proc'

t.test('bombs do not affect the coordinator or its other clients', { skip: reason }, async (t) => {
  const signal = new AbortController().signal
  const summary = await runBombs({ minutes: 0.005 }, { write: () => {} }, signal)
  t.comment(JSON.stringify(summary))
  t.match(summary, { survived: true, unhandled: [] })
  t.ok(summary.bombs > 100 && summary.healthySubmissions > 0)
  t.ok(summary.peakRssBytes! < 400 * 2 ** 20, `${summary.peakRssBytes} bytes at most`)
})

/**
 * Runs the bombs in a directory of their own; `act` gets the process id of the coordinator before
 * the first bomb.
 */
async function throwBombs(t: Test, act: (pid: number) => void, signal: AbortSignal) {
  const directory = t.testdir()
  const { TMPDIR } = process.env
  process.env.TMPDIR = directory
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  let said = ''
  const output = {
    write(text: string) {
      said += text
      const [, pid] = /^process (\d+) uses/.exec(text) ?? []
      if (pid !== undefined) act(Number(pid))
    },
  }
  const [run] = await Promise.allSettled([runBombs({ minutes: 0.02 }, output, signal)])
  t.same(readdirSync(directory), [], 'no file is left')
  t.notOk(process.getActiveResourcesInfo().includes('ProcessWrap'), 'no process is left')
  return { run, said }
}

t.test('a coordinator that dies is reported as not surviving', { skip: reason }, async (t) => {
  const kill = (pid: number) => process.kill(pid, 'SIGKILL')
  const { run, said } = await throwBombs(t, kill, new AbortController().signal)
  t.match(run, { value: { survived: false, peakRssBytes: null } })
  t.match(said, /^the coordinator exited by itself with code null$/m)
  t.match(said, /^unhandled: .*: connection refused$/m)
})

t.test('stopping during the bombs leaves no process and no file', { skip: reason }, async (t) => {
  const stopping = new AbortController()
  const { run } = await throwBombs(t, () => stopping.abort('enough'), stopping.signal)
  t.match(run, { status: 'rejected', reason: 'enough' })
})
