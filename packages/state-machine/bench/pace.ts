/** Duration and number of rounds. `quick` makes them smaller but omits no case. */
export interface Pace {
  /** Rounds of the case `apply`. */
  readonly rounds: number
  readonly applyRecords: number
  readonly scaleRounds: number
  readonly scaleRecords: number
  readonly gcMs: number
}

const full: Pace = {
  rounds: 9,
  applyRecords: 1_000_000,
  scaleRounds: 21,
  scaleRecords: 200_000,
  gcMs: 30_000,
}

const quick: Pace = {
  rounds: 5,
  applyRecords: 200_000,
  scaleRounds: 9,
  scaleRecords: 50_000,
  gcMs: 5000,
}

export const usage = `pnpm bench:state [--quick] [--json]

Measures @tenure/state-machine: decoding and applying records, with few and with many tasks.

  --quick  under 45 seconds instead of about two minutes; same cases, rougher figures
  --json   one JSON object per line on standard output instead of the table`

export function paceOf({ quick: isQuick }: { readonly quick: boolean }): Pace {
  return isQuick ? quick : full
}
