// How long an explanation takes: `pnpm bench:history`. The real command reads a long log for a task
// that occurs in its first and its last records, first from the disk, then from the page cache. A
// client also asks a real coordinator for a task that is still in memory.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { machineLine, programOf, readOptions, spreadOf } from '@tenure/harness'
import { explainRemembered } from '@tenure/history/internal'
import { Stage } from './servers/stage.js'
import { explainedTask, writeLongLog } from './servers/written-logs.js'

const { quick = false, json = false } = await readOptions('pnpm bench:history [--quick] [--json]', {
  quick: 'boolean',
  json: 'boolean',
})
const records = quick ? 200_000 : 10_000_000
const rounds = quick ? 1 : 3
const tasks = quick ? 10_000 : 100_000
const questions = 200
const tenure = programOf(import.meta.resolve('@tenure/cli/package.json'))

interface Figure {
  readonly case: string
  readonly unit: 's' | 'ms'
  readonly median: number
  readonly most: number
  readonly target: string
}

if (!json) console.log(machineLine())
const directory = mkdtempSync(join(tmpdir(), 'tenure-bench-'))
try {
  process.stderr.write(`writing ${records} records\n`)
  await writeLongLog(directory, records)
  const goal = quick ? 'none for --quick' : '<= 20 s'
  const isCold = evict(directory)
  const cold = isCold
    ? `${records} records from the disk`
    : `${records} records, page cache not dropped`
  tell(figure(cold, 's', repeat(rounds, explainCold), goal))
  tell(figure(`${records} records from the cache`, 's', repeat(rounds, explainSeconds), goal))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
tell(figure(`from memory, among ${tasks} tasks`, 'ms', await askMemory(), '<= 50 ms'))

function explainSeconds(): number {
  const begun = performance.now()
  const args = [tenure, 'explain', `${directory}#${explainedTask}`]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0 || !stdout.startsWith('Task 1 ran twice')) throw new Error(stderr + stdout)
  return (performance.now() - begun) / 1000
}

function explainCold(): number {
  evict(directory)
  return explainSeconds()
}

/**
 * Drops only the files of the log from the page cache; returns false where the system cannot do
 * that.
 */
function evict(path: string): boolean {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => statSync(name).isFile())
    .every((name) => {
      spawnSync('sync', [name])
      return spawnSync('dd', [`if=${name}`, 'iflag=nocache', 'count=0']).status === 0
    })
}

async function askMemory(): Promise<number[]> {
  await using stage = await Stage.set()
  const client = stage.tenure
  const items = Array.from({ length: tasks }, () => ({ payload: Buffer.alloc(64) }))
  for await (const outcome of client.submitMany(items)) {
    if ('error' in outcome) throw outcome.error
  }
  const took: number[] = []
  for (let question = 0; question < questions; question++) {
    const asked = 1 + ((question * 7919) % tasks)
    const begun = performance.now()
    const [task, { now }] = await Promise.all([client.get(asked), client.why(asked)])
    explainRemembered(task, { now })
    took.push(performance.now() - begun)
  }
  return took
}

function repeat(count: number, measure: () => number): number[] {
  return Array.from({ length: count }, () => measure())
}

function figure(
  name: string,
  unit: Figure['unit'],
  values: readonly number[],
  target: string,
): Figure {
  const { median, most } = spreadOf(values)
  return { case: name, unit, median, most, target }
}

function tell(own: Figure): void {
  if (json) console.log(JSON.stringify(own))
  else {
    const { unit, median, most, target } = own
    const range = `${median.toFixed(2)} ${unit} (at most ${most.toFixed(2)})`
    console.log(`${own.case.padEnd(40)}${range.padEnd(32)}target ${target}`)
  }
}
