import type { Reason } from '@tenure/protocol'

/** What will be refused again, however often it is tried. */
export const finalReasons: readonly Reason[] = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN']

/** What passes by itself; nothing has changed, so asking again is safe. */
export const passingReasons: readonly Reason[] = ['OVERLOADED', 'NO_SPACE', 'STOPPING']
