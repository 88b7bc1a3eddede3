import { readableRanges, showRange } from '../../../log/damage.js'
import { showMoment } from '../../../log/position.js'
import type { Display, Style } from '../../../terminal/display.js'
import { countOf, showCount, showSize } from '../../../terminal/format.js'
import { type Facts, showFacts } from '../../../terminal/table.js'
import type { LogCheck, Verdict } from './check.js'

export function showLogCheck(check: LogCheck, directory: string, display: Display): string {
  return showFacts([...factsOf(check), ...whatNext(check, directory)], display)
}

/** The check as JSON. */
export function logCheckFacts({ files, records, ...rest }: LogCheck) {
  const { fault, ...replay } = records ?? {}
  const faultFacts = fault && {
    code: 'code' in fault ? fault.code : undefined,
    message: fault.message,
  }
  return {
    ...rest,
    files,
    replay: records && { ...replay, fault: faultFacts },
  }
}

function factsOf({ files, records, verdict, findings, recordsPerSecond }: LogCheck): Facts {
  const { segments, bytes, gaps, tornTail } = files
  return [
    ['log', `${files.logId}, opened ${countOf(files.epoch, 'time')}`],
    ['files', `${countOf(segments, 'segment')}, ${showSize(bytes)}`],
    ['records', describeRecords(files)],
    ['replayed', describeReplay(records)],
    ...gaps.map((gap) => ['gap', `${showRange(gap)}: ${gap.reason}`] as const),
    ...(records?.checkpoints ?? []).map(
      ({ lsn, verdict, why }) =>
        [
          'checkpoint',
          `LSN ${lsn}: ${comparisons[verdict]}${why === undefined ? '' : `: ${why}`}`,
        ] as const,
    ),
    [
      'end',
      tornTail &&
        `${tornTail}: never acknowledged, so nothing is lost; the next startup removes it`,
    ],
    [
      'state',
      records &&
        `${records.stateHash} at ${showMoment({ lsn: records.lastLsn, at: records.lastAt })}`,
    ],
    ['speed', records && `${showCount(recordsPerSecond)}/s`],
    ...findings.map((text) => ['error', { text, style: 'bad' }] as const),
    ['verdict', { text: verdicts[verdict].text, style: verdicts[verdict].style }],
  ]
}

function whatNext({ verdict }: LogCheck, directory: string): Facts {
  if (verdict === 'good') return []
  return [['next', `tenure log doctor ${directory} shows what is lost and what to do`]]
}

function describeRecords({ records, ...files }: LogCheck['files']): string {
  const ranges = readableRanges(files)
  return ranges.length === 0
    ? 'none'
    : `${countOf(records, 'record')}, ${ranges.map(showRange).join(' and ')}, all checksums valid`
}

function describeReplay(records: LogCheck['records']): string {
  if (records === undefined) return 'nothing, because of the damage'
  const { beganAt, onlyRead, lastLsn } = records
  if (lastLsn === beganAt) return 'nothing'
  const from = beganAt === 0 ? '' : `, from the checkpoint at LSN ${beganAt}`
  const before = onlyRead === 0 ? '' : `; ${countOf(onlyRead, 'earlier record')} only read`
  return `through LSN ${lastLsn}${from}${before}`
}

const comparisons = {
  equal: 'equal to the replay',
  different: 'not equal to the replay',
  unreadable: 'cannot be read',
  'not-compared': 'not compared: no older state is left to replay from',
} as const

const verdicts: Readonly<Record<Verdict, { readonly text: string; readonly style: Style }>> = {
  good: { text: 'good', style: 'good' },
  damaged: { text: 'damaged', style: 'bad' },
  broken: { text: 'its records break a rule', style: 'bad' },
}
