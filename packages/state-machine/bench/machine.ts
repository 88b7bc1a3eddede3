import { cpus } from 'node:os'

/** Where and with what the figures were made. */
export function describeMachine(): string {
  const all = cpus()
  const processor = all[0]?.model.trim() || process.arch
  return `${processor}, ${all.length} cores, ${process.platform}, Node ${process.versions.node}`
}
