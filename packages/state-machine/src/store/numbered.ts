/** Each word with its place in the list, by which a row holds it. */
export function numbered<Word extends string>(
  words: readonly Word[],
): { readonly [W in Word]: number } {
  return Object.fromEntries(words.map((word, number) => [word, number])) as { [W in Word]: number }
}
