import { examplesSection } from './help.js'
import { columns, firstSentenceOf, type Row, section, wrap } from './paragraphs.js'
import { loadVerbs, type Verbs } from './verb.js'

/** Every verb with what it does, in a line or two; what it takes is in the help of its own. */
export async function showVerbs({ name, summary, verbs, examples = [] }: Verbs): Promise<string> {
  const words = (await loadVerbs(verbs)).map(
    ([word, verb]): Row => ['verbs' in verb ? `${word} …` : word, firstSentenceOf(verb.summary)],
  )
  const more = `${name} <verb> --help shows what a verb takes, with examples.`
  return [
    `Usage: ${name} <verb> [flags]`,
    '',
    ...wrap(`${summary} ${more} ${name.split(' ')[0]} --version shows the version.`, 0),
    '',
    ...section('Verbs', columns(words)),
    ...examplesSection(examples),
  ].join('\n')
}
