import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { drawScenario } from '../src/scenario/draw.js'
import { writeScenario } from '../src/scenario/scenario-file.js'

const program = fileURLToPath(new URL('../src/main.js', import.meta.url))

function sim(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args])
  return { status, out: stdout.toString(), error: stderr.toString() }
}

t.test('--json prints the whole summary as one object', async (t) => {
  const { status, out } = sim('--seed', '1', '--seeds', '3', '--threads', '1', '--json')
  t.equal(status, 0)
  t.match(JSON.parse(out), {
    seeds: 3,
    failures: [],
    virtualHours: Number,
    faults: {},
    probesMissed: [],
  })
})

t.test('a scenario file is played, with every event', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-sim-test-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'scenario.json')
  writeScenario(path, { about: 'nothing', check: 'none', scenario: drawScenario(5) })
  const { status, out, error } = sim('--scenario', path, '--events')
  t.equal(status, 0)
  t.match(out, /all checks hold/)
  t.match(error, /life 1 begins/)
  t.equal(error, sim('--seed', '5', '--events').error, 'the events are those of its seed')
})

t.test('a planted bug is found, and its copy is removed', async (t) => {
  const { status, out } = sim('--bug', 'apply before append', '--json')
  t.equal(status, 0)
  t.match(JSON.parse(out), {
    planted: 1,
    found: 1,
    bugs: [{ check: 'every applied record is reported' }],
  })
})

t.test('a file that is not a scenario is a usage error', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-sim-test-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'scenario.json')
  const refuse = (what: string, why: RegExp) => {
    const { status, error } = sim('--scenario', path)
    t.equal(status, 2, what)
    t.match(error, why, what)
    t.match(
      error,
      /it must be a file written after a failure: .*Usage: pnpm sim \[--seeds n\]/s,
      what,
    )
    t.notMatch(error, /\n +at /, what)
  }
  refuse('none', /^--scenario is .*scenario\.json; .* ENOENT/)
  for (const [text, why] of [
    ['{ "seed": 1', /JSON/],
    ['null', /: seed is missing/],
    ['{ "scenario": { "seed": 1, "clients": 1, "healAtMs": 1 } }', /: workers is missing/],
  ] as const) {
    writeFileSync(path, text)
    refuse(text, why)
  }
})

t.test('invalid options are a usage error', async (t) => {
  for (const args of [
    ['--sed', '1'],
    ['--bug', 'none of them'],
  ]) {
    const { status, error } = sim(...args)
    t.equal(status, 2)
    t.match(error, /pnpm sim \[--seeds n\]/)
  }
})
