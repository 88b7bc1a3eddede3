import type { Answer, Reason, Request } from '@tenure/protocol'

/** Situations that a good simulation run reaches. Each is counted where it becomes visible. */
export const probeNames = [
  'started again with a torn tail',
  'started again from a checkpoint',
  'leases expired at a start',
  'a bad checkpoint was skipped',
  'a log refused to open',
  'a start failed and was tried again',
  'a segment was full',
  'a segment began in a used file',
  'a checkpoint was made',
  'history was removed',
  'the disk was full',
  'a write went over the thread pool',
  'a batch held several records',
  'the log failed',
  'an unreported record was found',
  'a checkpoint failed',
  'submitted and known',
  'submitted in conflict',
  'refused with NO_SPACE',
  'refused as overloaded',
  'refused while stopping',
  'a report was committed twice',
  'a second report was refused',
  'a report was cancelled: EXPIRED',
  'a report was cancelled: SUPERSEDED',
  'a report was cancelled: TASK_TERMINAL',
  'a wrong worker was refused',
  'an unknown lease was refused',
  'an unknown task was refused',
  'a heartbeat came too late',
  'a heartbeat changed nothing',
  'a leased task was killed',
  'a worker lost its lease by its own clock',
  'a worker was told that its lease is lost',
  'a result was sent after its deadline',
  'a report was never answered',
  'a handler was terminated',
  'a task was poison',
  'tasks were forgotten',
  'a task failed for good',
  'a retry waited',
  'a delayed task waited',
  'a coordinator started from a copy',
  'two coordinators left one history',
  'two coordinators left two histories',
  'a standby has taken over',
  'a coordinator has resigned',
  'a coordinator was deposed',
  'a coordinator lost its engine',
  'the shared log was full',
] as const

export type Probe = (typeof probeNames)[number]

/** The situation that an answer proves. */
export function probeOf(request: Request, answer: Answer): Probe | undefined {
  switch (answer.kind) {
    case 'submitted':
      return answer.known ? 'submitted and known' : undefined
    case 'cancelled':
      return `a report was cancelled: ${answer.reason as 'EXPIRED' | 'SUPERSEDED' | 'TASK_TERMINAL'}`
    case 'rejected':
      return ofRefusal[answer.reason] ?? (request.kind === 'heartbeat' ? lateHeartbeat : undefined)
    default:
      return undefined
  }
}

const lateHeartbeat = 'a heartbeat came too late'

const ofRefusal: { readonly [R in Reason]?: Probe } = {
  CONFLICT: 'submitted in conflict',
  NO_SPACE: 'refused with NO_SPACE',
  OVERLOADED: 'refused as overloaded',
  STOPPING: 'refused while stopping',
  DUPLICATE_REPORT: 'a second report was refused',
  WRONG_WORKER: 'a wrong worker was refused',
  UNKNOWN_LEASE: 'an unknown lease was refused',
  UNKNOWN_TASK: 'an unknown task was refused',
}

export class Probes {
  readonly counts = new Map<Probe, number>()

  reach(probe: Probe): void {
    this.counts.set(probe, (this.counts.get(probe) ?? 0) + 1)
  }
}
