import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Book } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { drawHtml } from '../../src/timeline/html.js'
import { drawSvg } from '../../src/timeline/svg.js'
import { manyTasks, someTasks, twoTasks } from './histories.js'
import { timelineOf } from './world.js'

// The pictures of the tour are the golden ones: what they show is what the verb draws.
t.test('the pictures are those that people have looked at', async (t) => {
  const two = await timelineOf(twoTasks())
  isSame(t, 'apps/cli/test/golden/timeline/two-light.svg', drawSvg(two, 'light'))
  isSame(t, 'apps/cli/test/golden/timeline/two-dark.svg', drawSvg(two, 'dark'))
  const some = await timelineOf(someTasks())
  isSame(t, 'docs/timeline-small.svg', drawSvg(some, 'auto'))
  isSame(t, 'docs/timeline-dark.svg', drawSvg(some, 'dark'))
  const byWorker = await timelineOf(someTasks(), { lanesBy: 'workers' })
  isSame(t, 'docs/timeline-workers.svg', drawSvg(byWorker, 'auto'))
  isSame(
    t,
    'docs/timeline-large.svg',
    drawSvg(await timelineOf(manyTasks(), { lanesMax: 25 }), 'auto'),
  )
})

t.test('names and reasons of others are only text', async (t) => {
  const book = new Book()
  const evil = `</title><script>alert("1")</script>&'\u0000\u202e\ufffe`
  const task = book.submit({ queue: '<b>&"' })
  book.fail(book.lease(task, evil), `${evil} reason`)
  book.kill(task, evil)
  const timeline = await timelineOf(book)
  for (const drawn of [drawSvg(timeline, 'auto'), drawHtml(timeline, 'auto')]) {
    t.notMatch(drawn, /<script|<b>/)
    t.match(drawn, '&#60;/title&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;&#39;')
    t.match(drawn, '\\u0000\\u202e\ufffd')
    t.notMatch(drawn.replaceAll('\n', ''), /[\p{Cc}\u202e\ufffe]/u)
  }
})

t.test('a name that is too long is cut, and whole in the tooltip', async (t) => {
  const name = 'w'.repeat(128)
  const book = new Book()
  book.complete(book.wait(10).lease(book.submit(), name))
  const drawn = drawSvg(await timelineOf(book, { lanesBy: 'workers' }), 'auto')
  t.match(drawn, new RegExp(`<title>${name}</title>w+…</text>`))
  t.match(drawn, `worker ${name}\n`)
})

t.test('a picture carries what it needs, and says what it shows', async (t) => {
  const timeline = await timelineOf(someTasks())
  const svg = drawSvg(timeline, 'auto')
  t.notMatch(svg.replace('http://www.w3.org/2000/svg', ''), /https?:|<script|<image|@import/)
  t.match(
    svg,
    /^<svg [^>]*role="img" aria-label="Tenure: [^"]*">\n<desc>2026-01-02 12:00:00.000Z to /,
  )
  t.equal(svg.match(/<g class="attempt/g)?.length, timeline.overview.attempts)
  t.match(svg, '@media (prefers-color-scheme:dark)')
  for (const theme of ['light', 'dark'] as const) t.notMatch(drawSvg(timeline, theme), '@media')
  const html = drawHtml(timeline, 'auto')
  t.equal(html.match(/<tr><td>/g)?.length, timeline.overview.attempts)
})

t.test('a picture of some says how many there are, and how these were chosen', async (t) => {
  const svg = drawSvg(await timelineOf(manyTasks()), 'auto')
  t.match(svg, /40 of 2,000 tasks are shown: those that ran more than once first/)
})

/** With TENURE_UPDATE_GOLDEN=1 they are drawn anew: then look at them before they are committed. */
function isSame(t: Test, path: string, drawn: string): void {
  const file = fileURLToPath(new URL(`../../../../../${path}`, import.meta.url))
  if (process.env.TENURE_UPDATE_GOLDEN === '1') writeFileSync(file, drawn)
  t.equal(readFileSync(file, 'utf8'), drawn, path)
}
