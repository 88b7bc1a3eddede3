import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ConfigError,
  defineVerb,
  exitCodes,
  flagOf,
  type Host,
  logPlace,
  whole,
} from '@tenure/app-kit'
import { type AcceptedLoss, diagnoseLog, openLog, WalError } from '@tenure/wal'
import { flag } from '../../../command-line.js'
import { logDirectorySettings, withLog } from '../../../log/directory.js'
import { displayOf } from '../../../terminal/display.js'
import { outputSettings, toJsonLine } from '../../../terminal/json.js'
import { diagnose } from './diagnose.js'
import { showFinding } from './show.js'

export const doctor = defineVerb({
  summary:
    'Diagnose a log that does not open: the damage, the affected tasks, and the loss of each repair. Changes nothing ' +
    'without --accept-loss. Exit code 0: the log opens; 1: it is damaged and does not open; 2: the directory or a file ' +
    'could not be read (wrong path, no permission).',
  examples: [
    { line: 'tenure log doctor tenure-data', help: 'Diagnose a log.' },
    {
      line: 'tenure log doctor tenure-data --accept-loss 3:4096',
      help: 'Accept the loss at the place that the diagnosis named.',
    },
  ],
  settings: {
    ...logDirectorySettings,
    Repair: {
      acceptLoss: flag(logPlace('tenure log doctor'), {
        help: 'Accept the loss of everything after the damage at this place, and move it to quarantine/; stop the coordinator first.',
      }),
      nextLsn: flag(whole(1, Number.MAX_SAFE_INTEGER), {
        help: 'First LSN (record number) after --accept-loss, higher than every LSN and id that the coordinator ever issued; needed only if the clock is wrong.',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { directory, acceptLoss: place, nextLsn, json } }) {
    if (nextLsn !== undefined && place === undefined) {
      throw new ConfigError(
        `${flagOf('nextLsn')} requires ${flagOf('acceptLoss')} <place>; run this command without flags to see the place`,
      )
    }
    return withLog(directory, async (host) => {
      const { stdout, env } = host
      if (place !== undefined) return accept({ directory, place, nextLsn, json }, host)
      const finding = await diagnose(directory)
      stdout.write(
        json ? toJsonLine(finding) : showFinding(finding, directory, displayOf(stdout, env)),
      )
      return finding.verdict === 'opens' ? exitCodes.done : exitCodes.failed
    })
  },
})

interface Accepting {
  readonly directory: string
  readonly place: AcceptedLoss
  readonly nextLsn: number | undefined
  readonly json: boolean
}

async function accept(
  { directory, place, nextLsn, json }: Accepting,
  { stdout, stderr }: Host,
): Promise<number> {
  // Throws for a directory without a log, where openLog would create one.
  const { damage, acceptedLosses } = await diagnoseLog(directory)
  const isSame = (one: AcceptedLoss) => one.segment === place.segment && one.offset === place.offset
  if (damage === undefined && acceptedLosses.some(isSame)) {
    const text = 'this loss was accepted before; the log opens, and nothing was changed\n'
    stdout.write(json ? toJsonLine({ already: true }) : text)
    return exitCodes.done
  }
  const isThere = damage?.acceptable !== undefined && isSame(damage.acceptable)
  const done = await acceptLoss(directory, place, nextLsn).catch((error: unknown) => {
    // Tried even at a wrong place: a running coordinator is the first thing to report.
    const isRefused = error instanceof WalError && error.code === 'WAL_BAD_OPTION'
    if (isThere || !isRefused) throw error
  })
  if (done === undefined) {
    // Does not name the right place: accepting a loss requires reading the diagnosis first.
    stderr.write(
      `tenure: the log is not damaged at this place, and nothing was changed. tenure log doctor ${directory} shows the damage\n`,
    )
    return exitCodes.misconfigured
  }
  stdout.write(json ? toJsonLine(done) : describeDone(directory, done))
  return exitCodes.done
}

function describeDone(directory: string, { nextLsn, quarantined }: Acceptance): string {
  const kept = quarantined.map((name) => `kept ${directory}/quarantine/${name}\n`).join('')
  return `the loss is accepted; the log opens and continues at LSN ${nextLsn}\n${kept}`
}

interface Acceptance {
  /** The log continues here, after a declared gap. */
  readonly nextLsn: number
  /** The removed files in quarantine/. */
  readonly quarantined: readonly string[]
}

/** Opening the log with the accepted loss repairs it. */
async function acceptLoss(
  directory: string,
  place: AcceptedLoss,
  askedLsn: number | undefined,
): Promise<Acceptance> {
  const before = new Set(quarantineOf(directory))
  const restored = askedLsn === undefined ? {} : { restored: { nextLsn: askedLsn } }
  const log = await openLog(directory, { acceptLoss: place, ...restored })
  const { nextLsn } = log
  await log.close()
  return { nextLsn, quarantined: quarantineOf(directory).filter((name) => !before.has(name)) }
}

function quarantineOf(directory: string): string[] {
  try {
    return readdirSync(join(directory, 'quarantine')).sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
