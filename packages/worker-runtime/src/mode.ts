/** What a worker does; drawn at the head of `Worker`. */
export type WorkerMode = 'idle' | 'leasing' | 'running' | 'draining' | 'stopped'

/** From which mode it may come to which. */
export const transitions: { readonly [M in WorkerMode]: readonly WorkerMode[] } = {
  idle: ['leasing', 'stopped'],
  leasing: ['running', 'draining'],
  running: ['leasing', 'draining'],
  draining: ['stopped'],
  stopped: [],
}
