import type { Reason } from '@tenure/protocol'

/** What will be refused again, however often it is tried. */
export const finalReasons: readonly Reason[] = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN']
