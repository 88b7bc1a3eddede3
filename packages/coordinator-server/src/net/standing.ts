import type { Welcome } from '@tenure/protocol'
import type { Coordinator } from '../core/coordinator.js'

/** Whether this process serves requests. Of several coordinators on one log, one is active. */
export type Standing = Active | Standby

/** Accepts peers and passes their requests to the coordinator. */
export interface Active {
  readonly role: 'active'
  readonly coordinator: Coordinator
  readonly welcome: Welcome
}

/** Rejects every hello with NOT_ACTIVE. */
export interface Standby {
  readonly role: 'standby'
  /** `host:port` of the active coordinator, if it is known. */
  readonly active?: string | undefined
}

export function describeStandby(what: string, { active }: Standby): string {
  return active === undefined ? what : `${what}; the active coordinator is ${active}`
}
