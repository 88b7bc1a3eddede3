import type { Noun } from '@tenure/app-kit'

export const log: Noun = {
  summary:
    'Reads the log of a coordinator, beside it or without it. Nothing changes it but a loss that the doctor is told to accept.',
  examples: [
    { line: 'tenure log verify tenure-data', help: 'What the log is worth.' },
    { line: 'tenure log dump tenure-data --task 17', help: 'All that it says about task 17.' },
  ],
  verbs: {
    verify: async () => (await import('./log/verify/run.js')).verify,
    stat: async () => (await import('./log/stat/run.js')).stat,
    dump: async () => (await import('./log/dump/run.js')).dump,
    doctor: async () => (await import('./log/doctor/run.js')).doctor,
    whatif: async () => (await import('./log/whatif/run.js')).whatif,
  },
}
