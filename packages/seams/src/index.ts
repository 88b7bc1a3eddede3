export type { Clock, Timer } from './clock.js'
export type { Random } from './random.js'
export { systemClock } from './system-clock.js'
export { systemRandom } from './system-random.js'
