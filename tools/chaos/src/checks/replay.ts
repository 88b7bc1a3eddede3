import {
  apply,
  checkInvariants,
  createState,
  hashState,
  type State,
  StateDecoder,
} from '@tenure/state-machine'
import type { WrittenCheckpoint } from '../evidence/log-left.js'
import type { Logged } from '../evidence/record-file.js'
import { FaultSample } from './fault-sample.js'

/**
 * 003 §7, 000 §6: replays the copied log with the state machine, and also replays it as a restart
 * would: each remaining checkpoint must equal the state at its LSN and lead to the same final
 * state.
 */
export class Replay {
  readonly faults = new FaultSample()
  readonly #state = createState()
  #checkpoints: readonly WrittenCheckpoint[]
  /** The replay that continues from the newest checkpoint reached. */
  #resumed: { readonly lsn: number; readonly state: State } | undefined
  #isBroken = false

  constructor(checkpoints: readonly WrittenCheckpoint[]) {
    this.#checkpoints = [...checkpoints].sort((one, other) => one.lsn - other.lsn)
  }

  read({ lsn, record }: Logged): void {
    this.#try(() => {
      apply(this.#state, lsn, record)
      if (this.#resumed !== undefined) apply(this.#resumed.state, lsn, record)
      const [next, ...others] = this.#checkpoints
      if (next?.lsn !== lsn) return
      this.#checkpoints = others
      this.#resumed = { lsn, state: decode(next) }
      this.#compare(`at LSN ${lsn} the whole log gives`, 'the checkpoint there is')
    })
  }

  end(): void {
    this.#try(() => {
      checkInvariants(this.#state)
      for (const { lsn } of this.#checkpoints) this.faults.add(`no record is at checkpoint ${lsn}`)
      if (this.#resumed === undefined) return
      checkInvariants(this.#resumed.state)
      const { lsn } = this.#resumed
      this.#compare('the whole log gives', `checkpoint ${lsn} and the rest give`)
    })
  }

  #compare(one: string, other: string): void {
    if (this.#resumed === undefined) return
    const [whole, resumed] = [hashState(this.#state), hashState(this.#resumed.state)]
    if (whole !== resumed) this.faults.add(`${one} the state ${whole}, ${other} ${resumed}`)
  }

  #try(work: () => void): void {
    if (this.#isBroken) return
    try {
      work()
    } catch (error) {
      this.#isBroken = true
      this.faults.add(`the log does not replay: ${String(error)}`)
    }
  }
}

function decode({ chunks }: WrittenCheckpoint): State {
  const decoder = new StateDecoder()
  for (const chunk of chunks) decoder.add(chunk)
  return decoder.finish()
}
