import type { Reason } from '@tenure/protocol'

/** What will be refused again, however often it is tried. */
export const finalReasons: readonly Reason[] = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN']

/** What says of a submission or a kill that no earlier sending of it was carried out either. */
export const decidingReasons: readonly Reason[] = ['CONFLICT', 'TASK_TERMINAL']
