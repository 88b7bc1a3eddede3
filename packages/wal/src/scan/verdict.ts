import type { Finding, Remainder } from './scanner.js'

/**
 * The judgement of the newest segment's end. (The ends of older segments are recorded in the next
 * segment's header.)
 *
 * One batch is in flight at a time, so a later batch proves that every batch before it was synced.
 * This proof distinguishes damage from a torn tail. The first batch that is not valid and continuous
 * decides:
 *
 * - Zeros or too little space for a header, and then only zeros: clean.
 * - Anything invalid with proof that it was synced: corrupt.
 * - A valid header with another number, LSN or chain: corrupt.
 * - A read error: corrupt.
 * - Records that pass their CRC but do not decode: corrupt.
 * - A zero header without proof: torn.
 * - A body with more zero sectors than its header counts, without proof: torn.
 * - Any other bad body without proof: ambiguous.
 * - A header that fails its own CRC, without proof: ambiguous.
 *
 * Under `sync: "interval"` and `"none"` a later batch says how many batches before it were not synced
 * yet. Losing those is a risk of these modes and counts as torn.
 */
export interface Verdict {
  readonly kind: 'clean' | 'torn' | 'corrupt' | 'ambiguous'
  readonly why: string
}

export function judge(finding: Finding, behind: Remainder, expectedBatch: number): Verdict {
  if (finding.kind === 'read-error') {
    return { kind: 'corrupt', why: `it cannot be read: ${messageOf(finding.cause)}` }
  }
  if (behind.readError !== undefined) {
    return { kind: 'corrupt', why: `what follows cannot be read: ${messageOf(behind.readError)}` }
  }
  if (finding.kind === 'full' || (finding.kind === 'zero-header' && !behind.nonZero)) {
    return { kind: 'clean', why: 'nothing follows' }
  }
  if (finding.kind === 'discontinuous') {
    return { kind: 'corrupt', why: `a batch that is stale or in the wrong place: ${finding.why}` }
  }
  if (finding.kind === 'undecodable') {
    return {
      kind: 'corrupt',
      why: `a batch that passes its checksums does not decode: ${finding.why}`,
    }
  }
  const what = describe(finding)
  const { later } = behind
  if (later !== undefined) {
    if (behind.syncedThrough >= expectedBatch) {
      const proof = `batch ${later.header.batch} at byte ${later.offset}`
      return {
        kind: 'corrupt',
        why: `${what}, but a later batch (${proof}) proves that it was acknowledged`,
      }
    }
    return { kind: 'torn', why: `${what}, among batches that were not synced yet` }
  }
  if (
    finding.kind === 'zero-header' ||
    (finding.kind === 'bad-body' && finding.unexplainedZeroSectors)
  ) {
    return { kind: 'torn', why: `${what}, as after a write that never returned` }
  }
  return {
    kind: 'ambiguous',
    why: `${what}: this is either the last write, never acknowledged, or damaged acknowledged data`,
  }
}

type Invalid = Extract<Finding, { kind: 'zero-header' | 'bad-header' | 'bad-body' }>

function describe(finding: Invalid): string {
  if (finding.kind === 'zero-header') return 'the header is missing'
  if (finding.kind === 'bad-header') return 'the header fails its checksum'
  return finding.unexplainedZeroSectors ? 'the body lacks sectors' : 'the body fails its checksum'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
