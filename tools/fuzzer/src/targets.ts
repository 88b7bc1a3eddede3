import { checkpointsTarget } from './checkpoints/checkpoints-target.js'
import { configurationTarget } from './configuration/configuration-target.js'
import { framesTarget } from './frames/frames-target.js'
import { guardTarget } from './guard/guard-target.js'
import type { Target } from './input/target.js'
import { recordsTarget } from './records/records-target.js'
import { segmentsTarget } from './segments/segments-target.js'

/** All targets, with the shipped code. */
const targets = {
  frames: framesTarget,
  guard: guardTarget,
  records: recordsTarget,
  segments: segmentsTarget,
  checkpoints: checkpointsTarget,
  configuration: configurationTarget,
} as const satisfies Record<string, () => Target>

export const targetNames = Object.keys(targets)

export function openTarget(name: string): Target {
  const open = targets[name as keyof typeof targets]
  if (open === undefined)
    throw new Error(`${name} is not a target; use one of ${targetNames.join(', ')}`)
  return open()
}
