import type { Finding, Remainder } from './scanner.js'

/**
 * What the newest segment's end is to be taken for. (In older segments nothing has to be judged:
 * the next segment's header pins where each of them ends.)
 *
 * One batch is in flight at a time, so a later batch proves that every one before it was synced.
 * That is what tells damage from a torn tail.
 *
 * | at the first batch that is not valid and continuous | behind it | verdict |
 * |---|---|---|
 * | zeros, or no room for a header        | only zeros                 | clean |
 * | anything invalid                      | proof that it was synced   | corrupt |
 * | a valid header with another number, LSN or chain | –               | corrupt |
 * | a read error                          | –                          | corrupt |
 * | records that pass their CRC but do not decode    | –               | corrupt |
 * | a zero header                         | no such proof              | torn |
 * | a valid header, a body with more zero sectors than counted | no such proof | torn |
 * | a valid header, a bad body without    | no such proof              | ambiguous |
 * | a header that fails its own CRC       | no such proof              | ambiguous |
 *
 * Under `sync: "interval"` and `"none"` a later batch says itself how many before it were not yet
 * synced; a loss among those is the loss that these modes risk, and counts as torn.
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
    return { kind: 'corrupt', why: `a stale or misplaced batch: ${finding.why}` }
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
        why: `${what}, and a later batch proves that it was acknowledged (${proof})`,
      }
    }
    return { kind: 'torn', why: `${what}, among batches that had not been synced` }
  }
  if (
    finding.kind === 'zero-header' ||
    (finding.kind === 'bad-body' && finding.unexplainedZeroSectors)
  ) {
    return { kind: 'torn', why: `${what}, as a write leaves it that never returned` }
  }
  return {
    kind: 'ambiguous',
    why: `${what}: either the last write, never acknowledged, or acknowledged data gone bad`,
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
