/** What can be asked for in place of a run. */
export const actions = {
  help: 'Shows this.',
  version: 'Shows the version.',
  printConfig: 'Shows what everything is set to, and where that came from.',
} as const

export type Action = keyof typeof actions

/** What other programs are asked with. */
export const shortFlags: Readonly<Record<string, Action>> = {
  '-h': 'help',
  '-V': 'version',
  '-v': 'version',
}

export const actionNames = Object.keys(actions) as Action[]
