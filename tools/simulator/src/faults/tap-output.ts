/** A result in the output of a test file: of a test or of an assertion. */
export interface TapResult {
  readonly title: string
  /** 0 for a test at the top, 1 for its subtests and assertions. */
  readonly depth: number
  readonly isOk: boolean
  readonly isSkipped: boolean
}

const lineOfResult = /^( *)(not )?ok \d+(?: - (.*))?$/gm
/** The suffix of a title in TAP: the duration, or one of its two directives. */
const directive = / # (?:time=.*|(SKIP|TODO)\b.*)$/

/** The results in the output of a test file, in order. */
export function readTap(output: string): TapResult[] {
  return [...output.matchAll(lineOfResult)].map(([, indent = '', not, text = '']) => {
    const [end, skipped] = directive.exec(text) ?? ['']
    const title = text.slice(0, text.length - end.length).replace(/\\([#\\])/g, '$1')
    return {
      title,
      depth: indent.length / 4,
      isOk: not === undefined,
      isSkipped: skipped !== undefined,
    }
  })
}
