import { exitCodes as common } from '@tenure/app-kit'

/** What scripts can rely on; the README says what each means. */
export const exitCodes = { ...common, timeIsOver: 3 } as const
