import type { CallOptions, Counters, Stats, Tenure, WorkersInfo } from '@tenure/client'
import type { Role } from '@tenure/protocol'

export interface Sample {
  readonly stats: Stats
  /** Only with the role admin. */
  readonly workers?: WorkersInfo
}

export async function takeSample(tenure: Tenure, role: Role, call: CallOptions): Promise<Sample> {
  if (role !== 'admin') return { stats: await tenure.stats(call) }
  const [stats, workers] = await Promise.all([tenure.stats(call), tenure.workers(call)])
  return { stats, workers }
}

/** Events per second between two samples. */
export interface Rates {
  readonly submitted: number
  readonly leased: number
  readonly completed: number
  readonly retried: number
  readonly failed: number
  readonly stopped: number
  readonly expired: number
}

const counterOf: Readonly<Record<keyof Rates, keyof Counters>> = {
  submitted: 'tasksCreated',
  leased: 'leasesGranted',
  completed: 'tasksCompleted',
  retried: 'retries',
  failed: 'tasksFailed',
  stopped: 'tasksDead',
  expired: 'leasesExpired',
}

/** Correct across a restart: the counters come from the log. */
export function ratesBetween({ stats: before }: Sample, { stats: after }: Sample): Rates {
  const seconds = (after.now - before.now) / 1000
  const rateOf = (counter: keyof Counters) => {
    const count = after.counters[counter] - before.counters[counter]
    return seconds > 0 ? Math.max(0, Math.round((count / seconds) * 10) / 10) : 0
  }
  const rates = Object.entries(counterOf).map(([name, counter]) => [name, rateOf(counter)])
  return Object.fromEntries(rates) as Rates
}
