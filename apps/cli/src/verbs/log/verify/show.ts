import { readableRanges, showRange } from '../../../log/damage.js'
import { showMoment } from '../../../log/position.js'
import { countOf, showCount, showSize } from '../../../terminal/figures.js'
import type { Look, Style } from '../../../terminal/look.js'
import { type Facts, showFacts } from '../../../terminal/table.js'
import type { LogCheck, Verdict } from './check.js'

export function showLogCheck(check: LogCheck, directory: string, look: Look): string {
  return showFacts([...factsOf(check), ...whatNext(check, directory)], look)
}

/** The same for programs. */
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
    ['records', tellRecords(files)],
    ['replayed', tellReplay(records)],
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
        `${tornTail}: it was never acknowledged, so nothing is lost; the next start cuts it off`,
    ],
    [
      'state',
      records &&
        `${records.stateHash} at ${showMoment({ lsn: records.lastLsn, at: records.lastAt })}`,
    ],
    ['speed', records && `${showCount(recordsPerSecond)}/s`],
    ...findings.map((text) => ['wrong', { text, style: 'bad' }] as const),
    ['verdict', { text: verdicts[verdict].text, style: verdicts[verdict].style }],
  ]
}

function whatNext({ verdict }: LogCheck, directory: string): Facts {
  if (verdict === 'good') return []
  return [['next', `tenure log doctor ${directory} says what that means, and what can be done`]]
}

function tellRecords({ records, ...files }: LogCheck['files']): string {
  const ranges = readableRanges(files)
  return ranges.length === 0
    ? 'none'
    : `${countOf(records, 'record')}, ${ranges.map(showRange).join(' and ')}, each with a good checksum`
}

function tellReplay(records: LogCheck['records']): string {
  if (records === undefined) return 'nothing: damage lies before it'
  const { beganAt, onlyRead, lastLsn } = records
  if (lastLsn === beganAt) return 'nothing'
  const from = beganAt === 0 ? '' : `, from the checkpoint of LSN ${beganAt} on`
  const before = onlyRead === 0 ? '' : `; ${countOf(onlyRead, 'record')} before it only read`
  return `through LSN ${lastLsn}${from}${before}`
}

const comparisons = {
  equal: 'equal to the replay',
  different: 'not equal to the replay',
  unreadable: 'cannot be read',
  'not-compared': 'not compared: nothing older is left to replay from',
} as const

const verdicts: Readonly<Record<Verdict, { readonly text: string; readonly style: Style }>> = {
  good: { text: 'good', style: 'good' },
  damaged: { text: 'damaged', style: 'bad' },
  broken: { text: 'its records break the rules', style: 'bad' },
}
