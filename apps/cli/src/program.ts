import type { Verbs } from '@tenure/app-kit'
import { explain } from './verbs/explain.js'
import { get } from './verbs/get.js'
import { list } from './verbs/list.js'
import { submit } from './verbs/submit.js'
import { versions } from './versions.js'

export const program: Verbs = {
  name: 'tenure',
  version: versions.version,
  summary: 'Submits tasks to a Tenure coordinator, and asks about them.',
  // The variables of the coordinator and of workers may stand in the same shell.
  ignoresOtherVariables: true,
  verbs: { submit, get, list, explain },
}
