import type { Loss } from '@tenure/history/internal'
import {
  readableRanges,
  showRange,
  tellPlace,
  tellUnreadable,
  unlinked,
} from '../../../log/damage.js'
import { showMoment } from '../../../log/position.js'
import { tellTotals } from '../../../log/task-totals.js'
import { countOf } from '../../../terminal/figures.js'
import type { Look } from '../../../terminal/look.js'
import { type Facts, showFacts } from '../../../terminal/table.js'
import type { Finding } from './diagnose.js'

const shownMax = 20

/** What is wrong with a log, what each decision would cost, and how to make it. */
export function showFinding(finding: Finding, directory: string, look: Look): string {
  const parts = [showFacts(whatItIs(finding), look)]
  const { historyDamage } = finding
  if (historyDamage.length > 0) parts.push(showFacts(beRidOfHistory(finding, directory), look))
  const useless = uselessFiles(finding)
  if (useless.length > 0) parts.push(showFacts(beRidOfFiles(useless, directory), look))
  const { loss, breach } = finding
  if (loss !== undefined) {
    parts.push(showFacts(behind(loss), look), showDecisions(finding, loss, directory, look))
  } else if (breach !== undefined) parts.push(showFacts(ofBreach, look))
  return parts.join('\n')
}

function whatItIs(finding: Finding): Facts {
  const { verdict, damage, breach, tornTail, badCheckpoints, kept } = finding
  const { firstLsn } = kept
  // Where it was the last one, that is why the log does not open.
  const without = verdict === 'opens' ? '; the log opens without it' : ''
  return [
    ['log', `${finding.logId}, opened ${countOf(finding.epoch, 'time')}`],
    ['damaged', damage && { text: tellDamage(damage), style: 'bad' }],
    ['broken', breach === undefined ? undefined : { text: breach, style: 'bad' }],
    ...badCheckpoints.map(({ why }) => ['checkpoint', `${why}${without}`] as const),
    [
      'end',
      tornTail && `${tornTail}: never acknowledged, so nothing is lost; the next start cuts it off`,
    ],
    ...finding.historyDamage.map(
      (one) => ['history', { text: tellUnreadable(one), style: 'bad' }] as const,
    ),
    ...finding.strandedSegments.map((name) => ['history', tellStranded(name, firstLsn)] as const),
    [
      'good',
      verdict === 'broken' ? undefined : `${tellGood(finding)}; tasks: ${tellTotals(kept.tasks)}`,
    ],
    ['verdict', verdict === 'opens' ? { text: tellOpens(finding), style: 'good' } : undefined],
  ]
}

function tellDamage(damage: NonNullable<Finding['damage']>): string {
  return `${tellPlace(damage)} (${damage.kind})`
}

function tellGood({ kept, historyDamage }: Finding): string {
  const { firstLsn, lsn } = kept
  if (lsn < firstLsn) return `the state at ${showMoment(kept)}`
  const ranges = readableRanges({ firstLsn, lastLsn: lsn, historyDamage })
  return `${ranges.map(showRange).join(' and ')}, to ${showMoment(kept)}`
}

function tellOpens(finding: Finding): string {
  const { historyDamage, strandedSegments } = finding
  if (historyDamage.length + strandedSegments.length > 0) {
    return 'it opens and nothing that a coordinator needs is lost; but a part of its history is'
  }
  if (uselessFiles(finding).length > 0) return 'it opens and nothing is lost'
  return 'it opens; nothing has to be done'
}

function tellStranded(name: string, firstLsn: number): string {
  return `wal/${name}: ${unlinked}; no restart needs anything before LSN ${firstLsn}`
}

/** One new checkpoint is enough: with the one that covers the damage it makes the two that a truncation asks for. */
function beRidOfHistory({ historyDamage }: Finding, directory: string): Facts {
  const behind = historyDamage.at(-1)!.lastMissingLsn + 1
  return [
    [
      'missing in',
      'explain, timeline, dump and whatif of that part; tenure backup and restore refuse to copy it',
    ],
    ['still there', `what lies behind it: tenure log dump ${directory} --from ${behind}`],
    ['be rid of it', 'start the coordinator once with --history-age 0s --history-bytes-max 0, and'],
    ['', 'run tenure checkpoint once when something has happened since the last one (if it is'],
    [
      '',
      'idle, submit a task). That drops the history before the last two checkpoints; then start',
    ],
    ['', `it without the two again. tenure log verify ${directory} shows that it is good`],
  ]
}

/** What the log opens without, and what nobody can read or use any more. */
function uselessFiles({ verdict, strandedSegments, badCheckpoints }: Finding): string[] {
  if (verdict !== 'opens') return []
  const nameOf = (lsn: number) => `${String(lsn).padStart(16, '0')}.ckpt`
  return [
    ...strandedSegments.map((name) => `wal/${name}`),
    ...badCheckpoints.map(({ lsn }) => `checkpoint/${nameOf(lsn)}`),
  ]
}

function beRidOfFiles(names: readonly string[], directory: string): Facts {
  return [
    ['be rid of it', 'move it elsewhere; no coordinator need be stopped for that'],
    ...names.map((name) => ['', `mv ${directory}/${name} <elsewhere>`] as const),
    ['', `tenure log verify ${directory} finds fault as long as it is there`],
  ]
}

function behind({ keptThrough, lastKnownLsn, readable, unreadable }: Loss): Facts {
  const isKnown = lastKnownLsn > keptThrough
  return [
    [
      'behind',
      isKnown
        ? `${showRange({ firstLsn: keptThrough + 1, lastLsn: lastKnownLsn })} are known to have been written`
        : 'nothing tells of any record there',
    ],
    ['readable', readable.length === 0 ? undefined : readable.map(showRange).join(', ')],
    [
      'unreadable',
      unreadable.length === 0
        ? undefined
        : `${unreadable.map(showRange).join(', ')}: what was in them is not known`,
    ],
    [
      'unknown',
      `whether more was written behind LSN ${Math.max(lastKnownLsn, keptThrough)}: nothing is left that would tell`,
    ],
  ]
}

function showDecisions(finding: Finding, loss: Loss, directory: string, look: Look): string {
  const copy: Facts = [
    [
      'either',
      'restore a backup: tenure restore <backup> --to <new directory>, and start the coordinator on that.',
    ],
    ['', 'What was acknowledged after it was made is lost, and nothing else. Of a snapshot of the'],
    ['', 'file system make the backup first: tenure backup <snapshot> --to <backup>'],
  ]
  const accept: Facts = [
    [
      'or',
      `accept the loss: the log goes on behind LSN ${loss.keptThrough}, and everything behind it is given up`,
    ],
    ...whatGoes(loss),
    ['leases', 'stay unique: no LSN is issued twice, for the log goes on behind a declared gap'],
    ['kept', `what is cut off is moved to ${directory}/quarantine, all of it`],
    ...finding.cutOff.map(
      ({ file, offset }) => ['', offset === 0 ? file : `${file} from byte ${offset} on`] as const,
    ),
    ['to do it', `tenure log doctor ${directory} --accept-loss ${finding.place}`],
    ['', tellLossPlace(finding)],
  ]
  return `${showFacts(copy, look)}\n${showFacts(accept, look)}`
}

/** The place is where what is good ends; the damage may begin a few bytes later, where the next batch would. */
function tellLossPlace({ place, cutOff }: Finding): string | undefined {
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
      'vanish',
      tell(
        vanishing.map(({ taskId }) => taskId),
        'task',
        'was submitted behind the damage: its id will mean nothing',
        'were submitted behind the damage: their ids will mean nothing',
      ),
    ],
    [
      '',
      unreadable.length === 0
        ? undefined
        : 'and every task that was submitted where nothing can be read',
    ],
    [
      'run again',
      tell(
        undone.map(({ taskId }) => taskId),
        'task',
        'had ended behind the damage',
        'had ended behind the damage',
      ),
    ],
    [
      'open',
      tell(
        open.map(({ taskId }) => taskId),
        'task',
        'was open there and goes on from there, whatever became of it',
        'were open there and go on from there, whatever became of them',
      ),
    ],
  ]
}

function tell(ids: readonly number[], noun: string, one: string, many: string): string {
  if (ids.length === 0) return `no ${noun} that is known of`
  const more = ids.length > shownMax ? ` … (--json has all)` : ''
  return `${countOf(ids.length, noun)} ${ids.length === 1 ? one : many}: ${ids.slice(0, shownMax).join(', ')}${more}`
}

const ofBreach: Facts = [
  [
    'what to do',
    'The files are as they were written, so there is no loss to accept: another version wrote',
  ],
  [
    '',
    'them, or a fault did. Keep the directory, restore a backup (tenure restore), and report it.',
  ],
]
