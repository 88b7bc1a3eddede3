import { drawTable } from '@tenure/harness'
import type { Machine } from './machine.js'
import type { CaseName, Result, SystemName } from './result.js'
import { judge } from './targets.js'

/** All results as text of at most 100 columns. */
export function drawTables(machine: Machine, results: readonly Result[], isQuick: boolean): string {
  return [
    drawMachine(machine),
    drawThroughput(results),
    drawLatency(results),
    drawSustained(results),
    drawRecovery(results),
    drawRolls(results),
    drawTargets(results, isQuick),
  ].join('\n\n')
}

function drawMachine(machine: Machine): string {
  return [
    `${machine.processor}, ${machine.cores} cores, ${machine.fileSystem}, ${machine.system}`,
    `Node ${machine.node}, lmdb ${machine.lmdb}, classic-level ${machine.classicLevel}`,
    'sync: always (in every column, a record counts only when it is on the medium)',
  ].join('\n')
}

function drawThroughput(results: readonly Result[]): string {
  const own = appends(results, 'tenure')
  const rows = own.map((tenure) => {
    const limits = results.filter(
      (result) => result.system === 'limit' && isSameLoad(result, tenure),
    )
    const limit = limits.reduce((a, b) => (rate(b) > rate(a) ? b : a))
    return [
      ...load(tenure),
      count(tenure.recordsPerSecond),
      spread(tenure),
      `${count(limit.recordsPerSecond)} ${limit.way ?? ''}`,
      fixed(tenure.ratioToLimit),
      fixed(tenure.ratioToPool),
      ...(['lmdb', 'leveldb'] as const).map((system) =>
        count(same(results, system, tenure)?.recordsPerSecond),
      ),
    ]
  })
  const head = [
    'appenders',
    'record',
    'tenure',
    '±',
    'limit',
    'of it',
    'of pool',
    'LMDB',
    'LevelDB',
  ]
  return [
    `Durable records per second, medians of ${own[0]?.rounds ?? 0} rounds`,
    'limit: the same bytes in the same number of bare writes, in the faster way (on the event loop or',
    'in the thread pool); of it, of pool: our share of that limit, and of the writes in the pool',
    draw(head, rows),
  ].join('\n')
}

function drawLatency(results: readonly Result[]): string {
  const rows = appends(results, 'tenure').map((tenure) => [
    ...load(tenure),
    ...(['tenure', 'lmdb', 'leveldb'] as const).map((system) => {
      const result = same(results, system, tenure)
      return [result?.p50Ms, result?.p99Ms, result?.p999Ms]
        .map((ms) => milliseconds(ms))
        .join(' / ')
    }),
  ])
  const head = ['appenders', 'record', 'tenure', 'LMDB', 'LevelDB']
  return `Milliseconds until an append is durable, p50 / p99 / p99.9\n${draw(head, rows)}`
}

function drawSustained(results: readonly Result[]): string {
  const rows = results
    .filter(isOf('tenure', 'sustained'))
    .map((result) => [
      ...load(result),
      count(result.recordsPerSecond),
      spread(result),
      fixed(result.ratioToLimit),
      milliseconds(result.p50Ms),
      milliseconds(result.p99Ms),
      milliseconds(result.p999Ms),
      milliseconds(result.longestStallMs),
    ])
  const head = ['appenders', 'record', 'records/s', '±', 'of limit', 'p50', 'p99', 'p99.9', 'worst']
  return [
    'Large records for minutes, in slices; medians of the slices, and the worst p99.9 of one, in ms',
    draw(head, rows),
  ].join('\n')
}

function drawRecovery(results: readonly Result[]): string {
  const rows = (['open', 'replay'] as const).flatMap((name) =>
    (['tenure', 'limit', 'lmdb', 'leveldb'] as const).flatMap((system) =>
      results
        .filter(isOf(system, name))
        .map((result) => [
          name,
          system === 'limit' ? 'plain read' : system,
          count(result.records ?? null),
          milliseconds(result.p50Ms),
          ...(readsAll(result)
            ? [count(result.recordsPerSecond), mebibytes(result.bytesPerSecond)]
            : ['', '']),
          fixed(result.ratioToLimit),
        ]),
    ),
  )
  const head = ['', '', 'records', 'ms', 'records/s', 'MiB/s', 'of limit']
  return `Opening after a crash, and replay, from the page cache\n${draw(head, rows, 'll')}`
}

function drawRolls(results: readonly Result[]): string {
  const rows = results
    .filter(isOf('tenure', 'roll'))
    .map((roll) => [
      String(roll.appenders),
      String(roll.rolls ?? 0),
      milliseconds(roll.p999AcrossRollsMs),
      milliseconds(roll.p999BetweenRollsMs),
      milliseconds(roll.p999PreparingMs),
      milliseconds(roll.longestStallMs),
      milliseconds(roll.longestRollMs),
    ])
  const head = [
    'appenders',
    'rolls',
    'across',
    'between',
    'preparing',
    'longest append',
    'longest roll',
  ]
  return [
    'Segment rolls, in ms. The run is cut into windows of 0.1 s; p99.9 of the appends in windows with',
    'a roll (across), without one (between), and without one while the next segment is prepared',
    '(preparing). Longest append: among those in progress during a roll',
    draw(head, rows),
  ].join('\n')
}

function drawTargets(results: readonly Result[], isQuick: boolean): string {
  const rows = judge(results).map(({ what, wanted, got, isMet }) => [
    what,
    wanted,
    got ?? '-',
    isMet === undefined ? 'unknown' : isMet ? 'met' : 'MISSED',
  ])
  const title = isQuick
    ? 'Targets (missed or met says how fast, not whether it works; a quick run is only an indication)'
    : 'Targets'
  return `${title}\n${draw(['', 'target', 'got', ''], rows, 'l')}`
}

function appends(results: readonly Result[], system: SystemName): Result[] {
  return results.filter(
    (result) => result.system === system && (result.case === 'append' || result.case === 'batch'),
  )
}

function same(results: readonly Result[], system: SystemName, as: Result): Result | undefined {
  return results.find((result) => result.system === system && isSameLoad(result, as))
}

function isSameLoad(a: Result, b: Result): boolean {
  return a.case === b.case && a.appenders === b.appenders && a.recordBytes === b.recordBytes
}

function isOf(system: SystemName, name: CaseName): (result: Result) => boolean {
  return (result) => result.system === system && result.case === name
}

/** Opening LMDB reads almost nothing and opening LevelDB a few MiB, so a rate would be meaningless. */
function readsAll({ system, case: name }: Result): boolean {
  return name === 'replay' || system === 'tenure' || system === 'limit'
}

function load({ appenders, recordBytes, recordsPerAppend = 1 }: Result): string[] {
  const size = recordBytes < 1024 ? `${recordBytes} B` : `${recordBytes / 1024} KiB`
  return [String(appenders), recordsPerAppend === 1 ? size : `${recordsPerAppend} x ${size}`]
}

function rate(result: Result): number {
  return result.recordsPerSecond ?? 0
}

/** Half of the range between rounds, relative to the median. */
function spread({ recordsPerSecond, recordsPerSecondSpread: range }: Result): string {
  if (range === undefined || !recordsPerSecond) return '-'
  return `${Math.round(((range[1] - range[0]) / 2 / recordsPerSecond) * 100)}%`
}

function count(value: number | null | undefined): string {
  return value == null ? '-' : Math.round(value).toLocaleString('en-US')
}

function fixed(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2)
}

function mebibytes(value: number | null): string {
  return value === null ? '-' : count(value / 2 ** 20)
}

function milliseconds(value: number | null | undefined): string {
  if (value == null) return '-'
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(3)
}

function draw(head: readonly string[], rows: readonly (readonly string[])[], align = ''): string {
  return drawTable([head, ...rows], { align, indent: '  ' })
}
