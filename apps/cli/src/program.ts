import { completionVerb, readVersions, type Verbs } from '@tenure/app-kit'

const versions = readVersions(new URL('../../package.json', import.meta.url))

export const program: Verbs = {
  name: 'tenure',
  version: versions.version,
  summary: 'Manage the tasks of a Tenure coordinator, and inspect its log.',
  examples: [
    { line: 'tenure submit hello --wait', help: 'Submit a task and show its result.' },
    { line: 'tenure explain 17', help: 'Explain why task 17 ran twice.' },
    { line: 'tenure watch', help: 'Watch the system live.' },
  ],
  // A shell may also set the variables of the coordinator and of workers.
  ignoresOtherVariables: true,
  verbs: {
    submit: async () => (await import('./verbs/submit/run.js')).submit,
    get: async () => (await import('./verbs/get.js')).get,
    list: async () => (await import('./verbs/list.js')).list,
    explain: async () => (await import('./verbs/explain/run.js')).explain,
    why: async () => (await import('./verbs/why.js')).why,
    wait: async () => (await import('./verbs/wait.js')).wait,
    kill: async () => (await import('./verbs/kill.js')).kill,
    resubmit: async () => (await import('./verbs/resubmit.js')).resubmit,
    stats: async () => (await import('./verbs/stats/run.js')).stats,
    workers: async () => (await import('./verbs/workers.js')).workers,
    watch: async () => (await import('./verbs/watch/run.js')).watch,
    log: async () => (await import('./verbs/log.js')).log,
    timeline: async () => (await import('./verbs/timeline.js')).timeline,
    checkpoint: async () => (await import('./verbs/checkpoint.js')).checkpoint,
    backup: async () => (await import('./verbs/backup.js')).backup,
    restore: async () => (await import('./verbs/restore.js')).restore,
    completion: completionVerb('tenure', () => program),
  },
}
