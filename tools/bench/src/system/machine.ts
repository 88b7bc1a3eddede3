import { cpus, release, totalmem } from 'node:os'
import type { Contender } from './contender.js'

/** Where and with what the figures were made. */
export function describeMachine(contenders: readonly Contender[]) {
  const facts = {
    processor: cpus()[0]?.model.trim() ?? process.arch,
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    node: process.versions.node,
    date: new Date().toISOString().slice(0, 10),
    contenders: contenders.map(({ system, durability, promise, version }) => ({
      system,
      version: version(),
      durability,
      promise,
    })),
  }
  const { processor, cores, memoryGib, system, node, date } = facts
  const lines = facts.contenders.map(
    ({ system, version, promise }) => `  ${system} (${version}): ${promise}`,
  )
  const line = `${cores} x ${processor}, ${memoryGib} GiB, ${system}, Node ${node}; ${date}`
  return { facts, line, text: [line, ...lines].join('\n') }
}
