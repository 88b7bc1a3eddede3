import type { Finding, LogKind, Remainder } from './scanner.js'

/**
 * The judgement of the newest segment's end. (The ends of older segments are recorded in the next
 * segment's header.) The first batch that is not valid and continuous decides, together with what
 * was written after it.
 *
 * One batch is in flight at a time, so a later batch proves that every batch before it was synced.
 * This proof distinguishes damage from a torn tail. Under `sync: "interval"` and `"none"`, and in a
 * copy of a shared log, a later batch says how many batches before it were not synced yet. Losing
 * those is a risk of these modes.
 */
export interface Verdict {
  readonly kind: 'clean' | 'torn' | 'corrupt' | 'ambiguous'
  readonly why: string
}

/** The content after the finding, as far as it can be read. */
type Evidence = 'nothing' | 'sectors' | 'unsynced batch' | 'synced batch'

/** `doubtful`: either the last write, never acknowledged, or acknowledged data that was damaged. */
type Judgement = 'clean' | 'torn' | 'corrupt' | 'doubtful'

type Invalid = Exclude<Finding['kind'], 'full' | 'discontinuous' | 'undecodable' | 'read-error'>

const judgements: Record<Invalid, Record<Evidence, Judgement>> = {
  'no-header': {
    nothing: 'clean',
    sectors: 'torn',
    'unsynced batch': 'torn',
    'synced batch': 'corrupt',
  },
  'torn-body': {
    nothing: 'torn',
    sectors: 'torn',
    'unsynced batch': 'torn',
    'synced batch': 'corrupt',
  },
  'bad-header': {
    nothing: 'doubtful',
    sectors: 'doubtful',
    'unsynced batch': 'torn',
    'synced batch': 'corrupt',
  },
  'bad-body': {
    nothing: 'doubtful',
    sectors: 'doubtful',
    'unsynced batch': 'torn',
    'synced batch': 'corrupt',
  },
}

/** A log of its own refuses what is doubtful. A copy drops it, and follows the shared log anew. */
const doubtful = { own: 'ambiguous', copy: 'torn' } as const

const descriptions: Record<Invalid, string> = {
  'no-header': 'the header is missing',
  'torn-body': 'sectors of the body were not written',
  'bad-header': 'the header fails its checksum',
  'bad-body': 'the body fails its checksum',
}

export function judge(
  finding: Finding,
  behind: Remainder,
  expectedBatch: number,
  logKind: LogKind,
): Verdict {
  const { kind } = finding
  if (kind === 'full') return { kind: 'clean', why: 'nothing follows' }
  if (kind === 'read-error') return corrupt(`it cannot be read: ${messageOf(finding.cause)}`)
  if (kind === 'discontinuous') {
    return corrupt(`a batch that is stale or in the wrong place: ${finding.why}`)
  }
  if (kind === 'undecodable') {
    return corrupt(`a batch that passes its checksums does not decode: ${finding.why}`)
  }
  if (behind.readError !== undefined) {
    return corrupt(`what follows cannot be read: ${messageOf(behind.readError)}`)
  }
  const evidence = evidenceIn(behind, expectedBatch)
  const judgement = judgements[kind][evidence]
  return {
    kind: judgement === 'doubtful' ? doubtful[logKind] : judgement,
    why: `${descriptions[kind]}${conclusion(judgement, evidence, behind)}`,
  }
}

/** Names the content at the place where the next batch should begin. */
export function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'full':
      return 'the end of the file'
    case 'discontinuous':
      return `a batch that is stale or in the wrong place (${finding.why})`
    case 'undecodable':
      return `a batch that does not decode (${finding.why})`
    case 'read-error':
      return `an unreadable part of the file (${messageOf(finding.cause)})`
    default:
      return phrases[finding.kind]
  }
}

const phrases: Record<Invalid, string> = {
  'no-header': 'no batch begins here',
  'torn-body': 'a body of which sectors were not written',
  'bad-header': 'a header with a wrong checksum',
  'bad-body': 'a body with a wrong checksum',
}

function evidenceIn(behind: Remainder, expectedBatch: number): Evidence {
  if (behind.later === undefined) return behind.isWritten ? 'sectors' : 'nothing'
  return behind.syncedThrough >= expectedBatch ? 'synced batch' : 'unsynced batch'
}

function conclusion(judgement: Judgement, evidence: Evidence, { later }: Remainder): string {
  if (judgement === 'corrupt') {
    const proof = `batch ${later?.header.batch} at byte ${later?.offset}`
    return `, but a later batch (${proof}) proves that it was acknowledged`
  }
  if (evidence === 'unsynced batch') return ', among batches that were not synced yet'
  if (judgement === 'torn') return ', as after a write that never returned'
  if (judgement === 'clean') return ', and nothing follows'
  return ': this is either the last write, never acknowledged, or damaged acknowledged data'
}

function corrupt(why: string): Verdict {
  return { kind: 'corrupt', why }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
