/** What the counters of duplicates are computed from: one lease, from its grant on. */
export interface NaiveLease {
  readonly leaseId: number
  readonly taskId: number
  hasExpired: boolean
  /** A report under it was answered CANCELLED. */
  reportRefused: boolean
}

export interface DuplicateCounts {
  possibleDuplicates: number
  confirmedDuplicates: number
  refusedReports: number
}

/**
 * 002 §8 and `semantics.md` §12, read off the list of all leases. A task may have been executed
 * twice where a lease expired and another one followed; it certainly was where a report under the
 * expired lease shows that its worker went on. The order of these three facts does not matter.
 */
export function countDuplicates(leases: readonly NaiveLease[]): DuplicateCounts {
  const newestOf = new Map(leases.map(({ taskId, leaseId }) => [taskId, leaseId]))
  const isFollowed = ({ taskId, leaseId }: NaiveLease) => leaseId < newestOf.get(taskId)!
  const possible = leases.filter((lease) => lease.hasExpired && isFollowed(lease))
  return {
    possibleDuplicates: possible.length,
    confirmedDuplicates: possible.filter(({ reportRefused }) => reportRefused).length,
    refusedReports: leases.filter(({ reportRefused }) => reportRefused).length,
  }
}

export function findLease(leases: readonly NaiveLease[], leaseId: number): NaiveLease | undefined {
  return leases.findLast((lease) => lease.leaseId === leaseId)
}
