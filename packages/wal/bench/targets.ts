import type { CaseName, Result, SystemName } from './result.js'

export interface Target {
  readonly what: string
  readonly wanted: string
  /** `undefined` if the run did not measure it. */
  readonly got: string | undefined
  readonly isMet: boolean | undefined
}

/** Targets of the log. The rates are those of an idle machine with two cores. */
export function judge(results: readonly Result[]): Target[] {
  const at = (appenders: number) => append(results, 'tenure', appenders)
  const roll = results.find((result) => result.case === 'roll' && result.appenders === 64)
  const sustained = results.find((result) => result.case === 'sustained')
  const memory = (state: string) =>
    results.find((result) => result.case === 'memory' && result.state === state)?.rssOverBareMiB
  return [
    atLeast('of the limit, 1 appender', 0.9, at(1)?.ratioToLimit),
    atLeast('of the limit, 64 appenders', 0.9, at(64)?.ratioToLimit),
    atLeast('of the limit, 256 appenders', 0.85, at(256)?.ratioToLimit),
    atLeast('of the limit, 1024 appenders', 0.6, at(1024)?.ratioToLimit),
    atLeast('of the limit, 64 appenders of 64 KiB, for minutes', 0.7, sustained?.ratioToLimit),
    atMost('ms, p99.9 of these appends', 10, sustained?.p999Ms),
    atLeast('records/s, 64 appenders', 300_000, at(64)?.recordsPerSecond),
    atLeast('records/s, 1024 appenders', 1_500_000, at(1024)?.recordsPerSecond),
    atLeast('times LMDB, durable case nearest to it', 1, leastLead(results, 'lmdb')),
    atLeast('times LevelDB, durable case nearest to it', 1, leastLead(results, 'leveldb')),
    atLeast('records/s replayed', 2_000_000, find(results, 'tenure', 'replay')?.recordsPerSecond),
    atMost('times p99.9 between rolls, across, 64 appenders', 2, ratio(roll)),
    atMost('ms, longest stall at a roll, 64 appenders', 20, roll?.longestStallMs),
    atMost('MiB over bare Node, idle log', 40, memory('idle')),
    atMost('MiB over bare Node, peak of replay', 100, memory('replay')),
  ]
}

/** The factor by which the log leads in the case where it leads least. */
function leastLead(results: readonly Result[], other: SystemName): number | undefined {
  const leads = results
    .filter((own) => own.system === 'tenure' && (own.case === 'append' || own.case === 'batch'))
    .map((own) => {
      const theirs = results.find(
        (result) =>
          result.system === other &&
          result.case === own.case &&
          result.appenders === own.appenders &&
          result.recordBytes === own.recordBytes,
      )
      return (own.recordsPerSecond ?? 0) / (theirs?.recordsPerSecond ?? Number.NaN)
    })
  return leads.length === 0 ? undefined : Math.min(...leads)
}

function ratio(roll: Result | undefined): number | undefined {
  const across = roll?.p999AcrossRollsMs
  const between = roll?.p999BetweenRollsMs
  if (across == null || between == null) return undefined
  return across / between
}

function append(results: readonly Result[], system: SystemName, appenders: number) {
  return results.find(
    (result) =>
      result.system === system &&
      result.case === 'append' &&
      result.appenders === appenders &&
      result.recordBytes === 128,
  )
}

function find(results: readonly Result[], system: SystemName, name: CaseName) {
  return results.find((result) => result.system === system && result.case === name)
}

function atLeast(what: string, least: number, got: number | null | undefined): Target {
  return judged(what, `>= ${show(least)}`, got, (value) => value >= least)
}

function atMost(what: string, most: number, got: number | null | undefined): Target {
  return judged(what, `<= ${show(most)}`, got, (value) => value <= most)
}

function judged(
  what: string,
  wanted: string,
  got: number | null | undefined,
  isMet: (value: number) => boolean,
): Target {
  if (got == null || Number.isNaN(got)) return { what, wanted, got: undefined, isMet: undefined }
  return { what, wanted, got: show(got), isMet: isMet(got) }
}

function show(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}
