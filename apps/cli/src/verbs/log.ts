import type { Noun } from '@tenure/app-kit'

export const log: Noun = {
  summary:
    'Inspect the log of a coordinator, running or not. Only doctor --accept-loss changes the log.',
  examples: [
    { line: 'tenure log verify tenure-data', help: 'Check the integrity of a log.' },
    { line: 'tenure log dump tenure-data --task 17', help: 'Print all records of task 17.' },
  ],
  verbs: {
    verify: async () => (await import('./log/verify/run.js')).verify,
    stat: async () => (await import('./log/stat/run.js')).stat,
    dump: async () => (await import('./log/dump/run.js')).dump,
    doctor: async () => (await import('./log/doctor/run.js')).doctor,
    whatif: async () => (await import('./log/whatif/run.js')).whatif,
  },
}
