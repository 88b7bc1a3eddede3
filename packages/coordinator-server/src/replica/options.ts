import { type Checks, describe } from '@tenure/options'
import type { SharedLog } from '@tenure/shared-log'
import type { SharedLogIdentity } from '@tenure/wal'
import type { CopyEnd } from './replica.js'

/** One of several coordinators on a log that an engine decides. Exactly one of them is active. */
export interface SharedLogOptions extends SharedLogIdentity {
  readonly log: SharedLog
  /** Where clients reach this coordinator, as host:port. A standby tells it to clients. */
  readonly address: string
  /** After this long without an entry, a standby takes over. Default 2000. */
  readonly ttlMs?: number | undefined
  /**
   * Asks the other coordinators for the ends of their copies. A standby that finds a longer one does not
   * take over, because the engine has lost entries. Without it, such a loss can go unnoticed.
   */
  readonly otherCopies?: (() => Promise<readonly CopyEnd[]>) | undefined
}

export const defaultTtlMs = 2000

export function checkSharedLog(check: Checks<Error>, options: SharedLogOptions): void {
  check.object('sharedLog', options)
  check.names('sharedLog', options, ['log', 'logId', 'era', 'address', 'ttlMs', 'otherCopies'])
  check.object('sharedLog.log', options.log)
  const { address, ttlMs = defaultTtlMs } = options
  if (typeof address !== 'string' || !/^.+:\d+$/.test(address)) {
    throw check.refusal('sharedLog.address', describe(address), 'host:port')
  }
  check.whole('sharedLog.ttlMs', ttlMs, 100, 3_600_000)
}
