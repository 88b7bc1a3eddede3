import { appendFileSync } from 'node:fs'

/** A submission, by its number, and the task id that the coordinator returned. */
export interface Acknowledgement {
  readonly number: number
  readonly taskId: number
}

/** Writes each acknowledgement to a file before anything else is done with it. */
export class Acknowledged {
  readonly #path: string
  #count = 0

  constructor(path: string) {
    this.#path = path
  }

  get count(): number {
    return this.#count
  }

  add(acknowledgement: Acknowledgement): void {
    appendFileSync(this.#path, `${JSON.stringify(acknowledgement)}\n`)
    this.#count++
  }
}
