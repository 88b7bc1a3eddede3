export {
  type HttpPort,
  type HttpPortLimits,
  type HttpPortOptions,
  openHttpPort,
} from './http-port.js'
export type { Page, Pages } from './pages.js'
