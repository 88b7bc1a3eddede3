// Used only by the packages, apps and tools of this repository. May change in any release.
export { isPoll } from './messages/request.js'
export { frameHeadBytes } from './wire/frame.js'
export { checkStructure, type StructureLimits } from './wire/guard.js'
