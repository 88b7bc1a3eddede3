import { styleText } from 'node:util'
import type { Environment, Output } from '@tenure/app-kit'

/** What the place can show that text goes to. */
export interface Look {
  /** How wide a line may be. */
  readonly columns: number
  readonly colours: boolean
}

/** What is read by a program or kept in a file: a table is as wide as on a usual terminal. */
export const plain: Look = { columns: 100, colours: false }

const columnsMin = 40

/** Colours only on a terminal, and whatever the two variables say that are the custom. */
export function lookOf({ isTTY = false, columns }: Output, env: Environment): Look {
  return {
    columns: isTTY && columns ? Math.max(columnsMin, columns) : plain.columns,
    colours: wantsColours(env) ?? (isTTY && env.TERM !== 'dumb'),
  }
}

function wantsColours({ FORCE_COLOR: force, NO_COLOR: no }: Environment): boolean | undefined {
  if (force) return force !== '0' && force !== 'false'
  return no ? false : undefined
}

/** What a part of the text is, for the eye; nothing is told by a colour alone. */
export type Style = 'good' | 'bad' | 'busy' | 'quiet' | 'head'

const formats = {
  good: 'green',
  bad: 'red',
  busy: 'cyan',
  quiet: 'dim',
  head: 'bold',
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>

/** Where it goes to is asked by `lookOf`, and not once more by Node. */
export function paint({ colours }: Look, style: Style | undefined, text: string): string {
  if (!colours || style === undefined || text === '') return text
  return styleText(formats[style], text, { validateStream: false })
}
