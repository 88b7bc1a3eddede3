import type { Loss } from '@tenure/history'
import type { Finding } from '../diagnose.js'
import type { TaskTotals } from '../task-totals.js'
import { type Facts, showFacts } from './facts.js'
import type { Look } from './look.js'
import { showMoment, showRange } from './moments.js'
import { countOf, showCount } from './numbers.js'

const shownMax = 20

/** What is wrong with a log, what each decision would cost, and how to make it. */
export function showFinding(finding: Finding, directory: string, look: Look): string {
  const parts = [showFacts(whatItIs(finding), look)]
  const { loss, breach } = finding
  if (loss !== undefined) {
    parts.push(showFacts(behind(loss), look), showDecisions(finding, loss, directory, look))
  } else if (breach !== undefined) parts.push(showFacts(ofBreach, look))
  return parts.join('\n')
}

function whatItIs(finding: Finding): Facts {
  const { verdict, damage, breach, tornTail, badCheckpoints, kept } = finding
  const { firstLsn, lsn } = kept
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
    [
      'good',
      verdict === 'broken'
        ? undefined
        : `${lsn < firstLsn ? `the state at ${showMoment(kept)}` : `${showRange({ firstLsn, lastLsn: lsn })}, to ${showMoment(kept)}`}; tasks: ${tellTasks(kept.tasks)}`,
    ],
    [
      'verdict',
      verdict === 'opens' ? { text: 'it opens; nothing has to be done', style: 'good' } : undefined,
    ],
  ]
}

function tellDamage({ file, offset, kind, why }: NonNullable<Finding['damage']>): string {
  const place = offset === undefined ? file : `${file} at byte ${offset}`
  return `${place}: ${why} (${kind})`
}

function tellTasks(totals: TaskTotals): string {
  const parts = Object.entries(totals).filter(([, count]) => count > 0)
  return parts.length === 0
    ? 'none'
    : parts.map(([state, count]) => `${showCount(count)} ${state}`).join(', ')
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
      'restore a backup (tenure restore <backup> --to <new directory>), or start a snapshot once',
    ],
    ['', 'with --restored: what was acknowledged after it was made is lost, and nothing else'],
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
  ]
  return `${showFacts(copy, look)}\n${showFacts(accept, look)}`
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
