import { styleText } from 'node:util'
import type { Environment, Output } from '@tenure/app-kit'

/** The width and colours of an output. */
export interface Display {
  readonly columns: number
  readonly colours: boolean
}

/** For files and pipes. */
export const plain: Display = { columns: 100, colours: false }

const columnsMin = 40

/** Colours only on a terminal, unless FORCE_COLOR or NO_COLOR says otherwise. */
export function displayOf({ isTTY = false, columns }: Output, env: Environment): Display {
  return {
    columns: isTTY && columns ? Math.max(columnsMin, columns) : plain.columns,
    colours: wantsColours(env) ?? (isTTY && env.TERM !== 'dumb'),
  }
}

function wantsColours({ FORCE_COLOR: force, NO_COLOR: no }: Environment): boolean | undefined {
  if (force) return force !== '0' && force !== 'false'
  return no ? false : undefined
}

/** The meaning of a text; colour only repeats what the text says. */
export type Style = 'good' | 'bad' | 'busy' | 'quiet' | 'head'

const formats = {
  good: 'green',
  bad: 'red',
  busy: 'cyan',
  quiet: 'dim',
  head: 'bold',
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>

/** `displayOf` decides about colours; `styleText` must not decide again. */
export function paint({ colours }: Display, style: Style | undefined, text: string): string {
  if (!colours || style === undefined || text === '') return text
  return styleText(formats[style], text, { validateStream: false })
}
