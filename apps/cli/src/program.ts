import { completionVerb, type Verbs } from '@tenure/app-kit'
import { backup } from './verbs/backup.js'
import { checkpoint } from './verbs/checkpoint.js'
import { explain } from './verbs/explain.js'
import { get } from './verbs/get.js'
import { kill } from './verbs/kill.js'
import { list } from './verbs/list.js'
import { log } from './verbs/log.js'
import { restore } from './verbs/restore.js'
import { resubmit } from './verbs/resubmit.js'
import { stats } from './verbs/stats.js'
import { submit } from './verbs/submit.js'
import { timeline } from './verbs/timeline.js'
import { wait } from './verbs/wait.js'
import { watch } from './verbs/watch.js'
import { why } from './verbs/why.js'
import { workers } from './verbs/workers.js'
import { versions } from './versions.js'

export const program: Verbs = {
  name: 'tenure',
  version: versions.version,
  summary: 'Submits tasks to a Tenure coordinator, asks about them, and looks after them.',
  examples: [
    { line: 'tenure submit hello --wait', help: 'A task, and its result.' },
    { line: 'tenure explain 17', help: 'Why task 17 ran twice.' },
    { line: 'tenure watch', help: 'What goes on.' },
  ],
  // The variables of the coordinator and of workers may stand in the same shell.
  ignoresOtherVariables: true,
  verbs: {
    ...{ submit, get, list, explain, why, wait, kill, resubmit, stats, workers, watch, log },
    ...{ timeline, checkpoint, backup, restore },
    completion: completionVerb('tenure', () => program),
  },
}
