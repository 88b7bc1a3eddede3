import { spreadOf } from '../system/figure.js'

/** Whether what was measured in many rounds is less than it has to be. */
export function judgeLoss(values: readonly number[], least: number): 'holds' | 'unclear' | 'lost' {
  if (spreadOf(values).median >= least) return 'holds'
  const enough = values.filter((value) => value >= least)
  return enough.length >= values.length / 4 ? 'unclear' : 'lost'
}
