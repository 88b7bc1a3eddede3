import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Book } from '@tenure/testing-histories'
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { drawHtml } from '../../src/timeline/html.js'
import { drawSvg } from '../../src/timeline/svg.js'
import type { Timeline } from '../../src/timeline/timeline.js'
import { boxesOf, collisions, noBrowser, open, openBrowser } from './browser.js'
import { manyTasks, someTasks, timelineOf, twoTasks } from './histories.js'

t.test('a browser shows every picture without errors', { skip: noBrowser }, async (t) => {
  const browser = await openBrowser(t)
  for (const [name, timeline, drawn] of await pictures()) {
    const { page, complaints } = await open(browser, save(t, name, drawn), 'light')
    t.same(complaints, [], `${name} loads nothing and says nothing`)
    const texts = await boxesOf(page, 'svg text')
    t.ok(texts.length > 10 && texts.every(({ right, left }) => right > left))
    t.same(
      texts.filter(({ left, right }) => left < 23 || right > 1177),
      [],
      'no text is cut off',
    )
    t.same(collisions(texts), [], 'no text covers another one')
    const bars = await boxesOf(page, 'svg .attempt .bar')
    t.ok(bars.length >= timeline.lanes.flatMap(({ attempts }) => attempts).length)
    t.ok(bars.every(({ left, right, top, bottom }) => right > left && bottom > top))
    await page.close()
  }
})

t.test(
  'a picture follows the preferred colour scheme unless the theme is set',
  { skip: noBrowser },
  async (t) => {
    const browser = await openBrowser(t)
    const timeline = await timelineOf(someTasks())
    const coloursOf = async (theme: 'auto' | 'light' | 'dark', preferred: 'light' | 'dark') => {
      const url = save(t, `${theme}.svg`, drawSvg(timeline, theme))
      const { page } = await open(browser, url, preferred)
      const found = await Promise.all(coloured.map((part) => fillOf(page.locator(part).first())))
      await page.close()
      return found
    }
    const [light, dark] = [await coloursOf('auto', 'light'), await coloursOf('auto', 'dark')]
    for (const [at, colour] of light.entries()) t.not(colour, dark[at])
    t.same(await coloursOf('light', 'dark'), light)
    t.same(await coloursOf('dark', 'light'), dark)
  },
)

const coloured = ['.back', '.title', '.completed .bar', '.failed .bar', '.epoch']

function fillOf(locator: Locator): Promise<string> {
  return locator.evaluate(
    (element) => element.ownerDocument.defaultView!.getComputedStyle(element).fill,
  )
}

/** The longest possible names, also in wide letters. */
function longNames(): Book {
  const book = new Book()
  for (const name of ['W'.repeat(128), '漢'.repeat(42), 'fi'.repeat(64), '👩‍👩‍👧'.repeat(7)]) {
    const lease = book.wait(900).lease(book.submit({ queue: name.slice(0, 21) }), name)
    book.wait(5000).complete(lease)
  }
  for (let at = 0; at < 30; at++)
    book
      .wait(at * 9)
      .restart()
      .submit()
  return book
}

async function pictures(): Promise<[string, Timeline, string][]> {
  const many = manyTasks()
  const drawn: [string, Timeline][] = [
    ['two.svg', await timelineOf(twoTasks())],
    ['some.html', await timelineOf(someTasks())],
    ['long-names.svg', await timelineOf(longNames())],
    ['long-names-of-workers.svg', await timelineOf(longNames(), { lanesBy: 'workers' })],
    ['many.svg', await timelineOf(many)],
    ['many-workers.html', await timelineOf(many, { lanesBy: 'workers' })],
  ]
  return drawn.map(([name, timeline]) => {
    const draw = name.endsWith('.svg') ? drawSvg : drawHtml
    return [name, timeline, draw(timeline, 'auto')]
  })
}

function save(t: Test, name: string, text: string): string {
  return pathToFileURL(join(t.testdir({ [name]: text }), name)).href
}
