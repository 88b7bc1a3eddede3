import type { Noun } from '@tenure/app-kit'
import { whatif } from './log/whatif.js'

export const log: Noun = {
  summary: 'Reads the log of a coordinator, beside it or without it, and changes nothing.',
  verbs: { whatif },
}
