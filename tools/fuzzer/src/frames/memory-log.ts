import type { Claim, CommitLog } from '@tenure/coordinator-server/internal'

/** A log that stores nothing and never fails; other targets test the log. */
export class MemoryLog implements CommitLog {
  nextLsn = 1
  durableLsn = 0

  async append(firstLsn: number): Promise<number> {
    if (firstLsn !== this.nextLsn) throw new Error(`LSN ${firstLsn} is not the next LSN`)
    const lsn = this.nextLsn++
    await undefined
    this.durableLsn = Math.max(this.durableLsn, lsn)
    return this.durableLsn
  }

  claim(bytes: number): Claim {
    return { bytes, release: () => {} }
  }

  async close(): Promise<void> {}
}
