/** One lease since its grant, for computing the counters of duplicates. */
export interface NaiveLease {
  readonly leaseId: number
  readonly taskId: number
  hasExpired: boolean
  /** A report under this lease was answered CANCELLED. */
  reportRefused: boolean
}

export interface DuplicateCounts {
  possibleDuplicates: number
  confirmedDuplicates: number
  refusedReports: number
}

/**
 * Computes the counters of 002 §8 and `semantics.md` §12 from the list of all leases. A task may have been
 * executed twice if a lease expired and another one followed. It certainly was if a report under the expired
 * lease shows that its worker continued. The order of these three facts does not matter.
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
