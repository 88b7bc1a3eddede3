import { appendFileSync } from 'node:fs'

/**
 * What the coordinator has acknowledged, kept by whoever was told: by number of the submission the
 * id of its task. Beside the memory in a file, for whoever looks for what was lost.
 */
export class Acknowledged {
  readonly tasks = new Map<number, number>()
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  add(number: number, taskId: number): void {
    const line = `${JSON.stringify({ number, taskId })}\n`
    appendFileSync(this.#path, line)
    this.tasks.set(number, taskId)
  }
}
