export { type HttpPort, type HttpPortOptions, openHttpPort } from './http-port.js'
export { defaultHttpPortLimits, type HttpPortLimits } from './limits.js'
export type { Page, Pages } from './pages.js'
