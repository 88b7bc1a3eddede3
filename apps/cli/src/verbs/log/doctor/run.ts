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
import { outputSettings, toJsonLine } from '../../../terminal/json.js'
import { lookOf } from '../../../terminal/look.js'
import { diagnose } from './diagnose.js'
import { showFinding } from './show.js'

export const doctor = defineVerb({
  summary:
    'Says why a log does not open: what is damaged, which tasks that concerns, what each way out would lose. Changes nothing, ' +
    'unless a loss is accepted by its exact place. Exit code 0: it opens; 1: it does not; 2: it could not be read.',
  examples: [
    { line: 'tenure log doctor tenure-data', help: 'What is wrong, and what can be done.' },
    {
      line: 'tenure log doctor tenure-data --accept-loss 3:4096',
      help: 'Gives up what the first line has named.',
    },
  ],
  settings: {
    ...logDirectorySettings,
    'What to do': {
      acceptLoss: flag(logPlace('tenure log doctor'), {
        help: 'Gives up everything behind this place, which has to be that of the damage. What is cut off is kept in quarantine/. No coordinator may run.',
      }),
      nextLsn: flag(whole(1, Number.MAX_SAFE_INTEGER), {
        help: 'LSN at which the log continues after --accept-loss; must be above every LSN that may have been issued. Needed only when the clock cannot tell.',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { directory, acceptLoss: place, nextLsn, json } }) {
    if (nextLsn !== undefined && place === undefined) {
      throw new ConfigError(`${flagOf('nextLsn')} needs ${flagOf('acceptLoss')}`)
    }
    return withLog(directory, async (host) => {
      const { stdout, env } = host
      if (place !== undefined) return accept({ directory, place, nextLsn, json }, host)
      const finding = await diagnose(directory)
      stdout.write(
        json ? toJsonLine(finding) : showFinding(finding, directory, lookOf(stdout, env)),
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
  // A directory that holds no log must not become one.
  const { damage, acceptedLosses } = await diagnoseLog(directory)
  const isSame = (one: AcceptedLoss) => one.segment === place.segment && one.offset === place.offset
  if (damage === undefined && acceptedLosses.some(isSame)) {
    const text = 'this loss was accepted already: the log opens, and nothing was changed\n'
    stdout.write(json ? toJsonLine({ already: true }) : text)
    return exitCodes.done
  }
  const isThere = damage?.acceptable !== undefined && isSame(damage.acceptable)
  const done = await acceptLoss(directory, place, nextLsn).catch((error: unknown) => {
    // Tried all the same: a coordinator that runs is what is in the way first.
    const isRefused = error instanceof WalError && error.code === 'WAL_BAD_OPTION'
    if (isThere || !isRefused) throw error
  })
  if (done === undefined) {
    // Whoever has not looked at a damage must not learn here how to accept it.
    stderr.write(
      `tenure: that is not where the log is damaged, and nothing was changed. tenure log doctor ${directory} says what is\n`,
    )
    return exitCodes.misconfigured
  }
  stdout.write(json ? toJsonLine(done) : tellDone(directory, done))
  return exitCodes.done
}

function tellDone(directory: string, { nextLsn, quarantined }: Acceptance): string {
  const kept = quarantined.map((name) => `kept ${directory}/quarantine/${name}\n`).join('')
  return `the loss is accepted: the log opens, and goes on at LSN ${nextLsn}\n${kept}`
}

/** What was done. */
interface Acceptance {
  /** The log goes on here; the LSNs before it are a declared gap. */
  readonly nextLsn: number
  /** What was cut off, by its name in quarantine/. */
  readonly quarantined: readonly string[]
}

/** Opens the log at the price named, which has to be the place of its damage, and closes it again. */
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
