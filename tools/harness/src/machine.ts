import { cpus, release, totalmem } from 'node:os'

/** The machine and the software on which figures were measured. */
export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGib: number
  readonly system: string
  readonly node: string
  readonly date: string
}

export function describeMachine(): Machine {
  const [first] = cpus()
  return {
    processor: first?.model.trim() || process.arch,
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    node: process.versions.node,
    date: new Date().toISOString().slice(0, 10),
  }
}

/** The description of the machine in one line. */
export function machineLine(): string {
  const { processor, cores, memoryGib, system, node, date } = describeMachine()
  return `${cores} x ${processor}, ${memoryGib} GiB, ${system}, Node ${node}; ${date}`
}
