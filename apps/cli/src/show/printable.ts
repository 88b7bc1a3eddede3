import { printable } from '@tenure/app-kit'

/** Each line of it, as it can be shown. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map(printable)
}
