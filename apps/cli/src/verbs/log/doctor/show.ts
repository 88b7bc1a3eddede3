import type { Loss } from '@tenure/history/internal'
import {
  describePlace,
  describeUnreadable,
  readableRanges,
  showRange,
  unlinked,
} from '../../../log/damage.js'
import { showMoment } from '../../../log/position.js'
import { describeTotals } from '../../../log/task-totals.js'
import type { Display } from '../../../terminal/display.js'
import { countOf } from '../../../terminal/format.js'
import { type Facts, showFacts } from '../../../terminal/table.js'
import type { Finding } from './diagnose.js'

const shownMax = 20

/** The diagnosis, and the loss and the command of each repair. */
export function showFinding(finding: Finding, directory: string, display: Display): string {
  const parts = [showFacts(whatItIs(finding), display)]
  const { historyDamage } = finding
  if (historyDamage.length > 0) parts.push(showFacts(historyRemoval(finding, directory), display))
  const unusable = unusableFiles(finding)
  if (unusable.length > 0) parts.push(showFacts(fileRemoval(unusable, directory), display))
  const { loss, breach } = finding
  if (loss !== undefined) {
    parts.push(
      showFacts(afterDamage(loss), display),
      showDecisions(finding, loss, directory, display),
    )
  } else if (breach !== undefined) parts.push(showFacts(ofBreach, display))
  return parts.join('\n')
}

function whatItIs(finding: Finding): Facts {
  const { verdict, damage, breach, tornTail, badCheckpoints, kept } = finding
  const { firstLsn } = kept
  // If it is the only checkpoint, it is the reason why the log does not open.
  const without = verdict === 'opens' ? '; the log opens without it' : ''
  return [
    ['log', `${finding.logId}, opened ${countOf(finding.epoch, 'time')}`],
    ['damaged', damage && { text: describeDamage(damage), style: 'bad' }],
    ['broken', breach === undefined ? undefined : { text: breach, style: 'bad' }],
    ...badCheckpoints.map(({ why }) => ['checkpoint', `${why}${without}`] as const),
    [
      'end',
      tornTail &&
        `${tornTail}: never acknowledged, so nothing is lost; the next startup removes it`,
    ],
    ...finding.historyDamage.map(
      (one) => ['history', { text: describeUnreadable(one), style: 'bad' }] as const,
    ),
    ...finding.strandedSegments.map(
      (name) => ['history', describeStranded(name, firstLsn)] as const,
    ),
    [
      'good',
      verdict === 'broken'
        ? undefined
        : `${describeGood(finding)}; tasks: ${describeTotals(kept.tasks)}`,
    ],
    ['verdict', verdict === 'opens' ? { text: describeOpens(finding), style: 'good' } : undefined],
  ]
}

function describeDamage(damage: NonNullable<Finding['damage']>): string {
  return `${describePlace(damage)} (${damage.kind})`
}

function describeGood({ kept, historyDamage }: Finding): string {
  const { firstLsn, lsn } = kept
  if (lsn < firstLsn) return `the state at ${showMoment(kept)}`
  const ranges = readableRanges({ firstLsn, lastLsn: lsn, historyDamage })
  return `${ranges.map(showRange).join(' and ')}, to ${showMoment(kept)}`
}

function describeOpens(finding: Finding): string {
  const { historyDamage, strandedSegments } = finding
  if (historyDamage.length + strandedSegments.length > 0) {
    return 'opens; nothing that a coordinator needs is lost, only a part of the history'
  }
  if (unusableFiles(finding).length > 0) return 'opens; nothing is lost'
  return 'opens; nothing to do'
}

function describeStranded(name: string, firstLsn: number): string {
  return `wal/${name}: ${unlinked}; restarts need nothing before LSN ${firstLsn}`
}

/** Truncation keeps the last two checkpoints: the one that covers the damage, and one new one. */
function historyRemoval({ historyDamage }: Finding, directory: string): Facts {
  const next = historyDamage.at(-1)!.lastMissingLsn + 1
  return [
    [
      'effect',
      'explain, timeline, dump and whatif cannot show that part; backup and restore reject the log',
    ],
    ['readable', `records after it: tenure log dump ${directory} --from ${next}`],
    ['to remove it', 'start the coordinator once with --history-age 0s --history-bytes-max 0, and'],
    ['', 'run tenure checkpoint once there are records after the last one (if the coordinator is'],
    [
      '',
      'idle, submit a task). That drops the history before the last two checkpoints. Then start',
    ],
    ['', `it without these flags again; tenure log verify ${directory} shows that the log is good`],
  ]
}

/** Files that can never be read or used again, and that the log opens without. */
function unusableFiles({ verdict, strandedSegments, badCheckpoints }: Finding): string[] {
  if (verdict !== 'opens') return []
  const nameOf = (lsn: number) => `${String(lsn).padStart(16, '0')}.ckpt`
  return [
    ...strandedSegments.map((name) => `wal/${name}`),
    ...badCheckpoints.map(({ lsn }) => `checkpoint/${nameOf(lsn)}`),
  ]
}

function fileRemoval(names: readonly string[], directory: string): Facts {
  return [
    ['to remove it', 'move it elsewhere; the coordinator may keep running'],
    ...names.map((name) => ['', `mv ${directory}/${name} <elsewhere>`] as const),
    ['', `tenure log verify ${directory} reports it until then`],
  ]
}

function afterDamage({ keptThrough, lastKnownLsn, readable, unreadable }: Loss): Facts {
  const isKnown = lastKnownLsn > keptThrough
  return [
    [
      'after it',
      isKnown
        ? `${showRange({ firstLsn: keptThrough + 1, lastLsn: lastKnownLsn })} were certainly written`
        : 'no record is known',
    ],
    ['readable', readable.length === 0 ? undefined : readable.map(showRange).join(', ')],
    [
      'unreadable',
      unreadable.length === 0
        ? undefined
        : `${unreadable.map(showRange).join(', ')}: contents unknown`,
    ],
    [
      'unknown',
      `whether records after LSN ${Math.max(lastKnownLsn, keptThrough)} were written: nothing is left of them`,
    ],
  ]
}

function showDecisions(finding: Finding, loss: Loss, directory: string, display: Display): string {
  const copy: Facts = [
    [
      'option 1',
      'restore a backup: tenure restore <backup> --to <new directory>, then start the coordinator there.',
    ],
    [
      '',
      'Only what was acknowledged after the backup is lost. To use a file system snapshot, make a',
    ],
    ['', 'backup of it first: tenure backup <snapshot> --to <backup>'],
  ]
  const accept: Facts = [
    [
      'option 2',
      `accept the loss: the log continues after LSN ${loss.keptThrough}, and everything after it is lost`,
    ],
    ...whatGoes(loss),
    ['leases', 'stay unique: a declared gap ensures that no LSN is issued twice'],
    ['kept', `the removed part is moved to ${directory}/quarantine:`],
    ...finding.cutOff.map(
      ({ file, offset }) => ['', offset === 0 ? file : `${file} from byte ${offset}`] as const,
    ),
    ['command', `tenure log doctor ${directory} --accept-loss ${finding.place}`],
    ['', describeLossPlace(finding)],
  ]
  return `${showFacts(copy, display)}\n${showFacts(accept, display)}`
}

/** The place is the end of the good part. The damage may begin a few bytes later, at the next batch boundary. */
function describeLossPlace({ place, cutOff }: Finding): string | undefined {
  const [segment, offset] = place?.split(':') ?? []
  const tail = cutOff.find((cut) => cut.offset > 0)
  return (
    tail &&
    `segment ${segment} is ${tail.file}; it is good up to byte ${offset}, and batches begin at multiples of 8`
  )
}

function whatGoes({ vanishing, undone, open, unreadable }: Loss): Facts {
  return [
    [
      'lost',
      tell(
        vanishing.map(({ taskId }) => taskId),
        'task',
        'was submitted after the damage; its id becomes unknown',
        'were submitted after the damage; their ids become unknown',
      ),
    ],
    [
      '',
      unreadable.length === 0
        ? undefined
        : 'and every task that was submitted in an unreadable range',
    ],
    [
      'run again',
      tell(
        undone.map(({ taskId }) => taskId),
        'task',
        'ended after the damage',
        'ended after the damage',
      ),
    ],
    [
      'open',
      tell(
        open.map(({ taskId }) => taskId),
        'task',
        'was open before the damage and continues from there; its later history is lost',
        'were open before the damage and continue from there; their later history is lost',
      ),
    ],
  ]
}

function tell(ids: readonly number[], noun: string, one: string, many: string): string {
  if (ids.length === 0) return `no known ${noun}`
  const more = ids.length > shownMax ? ` … (--json has all)` : ''
  return `${countOf(ids.length, noun)} ${ids.length === 1 ? one : many}: ${ids.slice(0, shownMax).join(', ')}${more}`
}

const ofBreach: Facts = [
  [
    'what to do',
    'The files are intact, so there is no loss to accept: another version or a bug wrote these',
  ],
  ['', 'records. Keep the directory, restore a backup (tenure restore), and report the problem.'],
]
