import type { Noun } from '@tenure/app-kit'
import { doctor } from './log/doctor.js'
import { dump } from './log/dump.js'
import { stat } from './log/stat.js'
import { verify } from './log/verify.js'
import { whatif } from './log/whatif.js'

export const log: Noun = {
  summary:
    'Reads the log of a coordinator, beside it or without it. Nothing changes it but a loss that the doctor is told to accept.',
  examples: [
    { line: 'tenure log verify tenure-data', help: 'What the log is worth.' },
    { line: 'tenure log dump tenure-data --task 17', help: 'All that it says about task 17.' },
  ],
  verbs: { verify, stat, dump, doctor, whatif },
}
