import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** `undefined` where there is none: nothing is downloaded. `.ci/run` installs Debian's. */
const executablePath = places.find((place) => existsSync(place))

/** Why the tests that need a browser do not run, if they do not. */
export const noBrowser =
  executablePath === undefined && `no Chromium: ${places.join(', ')} are not there`

export async function openBrowser(t: Test): Promise<Browser> {
  const args = ['--disable-quic', '--no-first-run', '--disable-sync', '--disable-gpu']
  const browser = await chromium.launch({
    executablePath: executablePath!,
    chromiumSandbox: false,
    // However long that takes; so below.
    timeout: 0,
    args,
  })
  t.teardown(() => browser.close())
  return browser
}

export interface Opened {
  readonly page: Page
  /** What it said on its console, and what it asked for beside itself. */
  readonly complaints: readonly string[]
}

export async function open(
  browser: Browser,
  url: string,
  colorScheme: 'light' | 'dark',
): Promise<Opened> {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 900 } })
  page.setDefaultTimeout(0)
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    if (request.url() !== url) complaints.push(`asks for ${request.url()}`)
  })
  await page.goto(url)
  return { page, complaints }
}

export interface Box {
  readonly text: string
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** The boxes of all elements that a selector finds, in the pixels of the page. */
export async function boxesOf(page: Page, selector: string): Promise<Box[]> {
  return page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect()
      const title = element.querySelector('title')?.textContent ?? ''
      return { text: (element.textContent ?? '').slice(title.length), left, right, top, bottom }
    }),
  )
}

/** Pairs that lie on each other by more than the blank rim of their letters. */
export function collisions(boxes: readonly Box[]): string[] {
  const rim = 1.5
  return boxes.flatMap((a, at) =>
    boxes
      .slice(at + 1)
      .filter((b) => a.left < b.right - rim && b.left < a.right - rim)
      .filter((b) => a.top < b.bottom - rim && b.top < a.bottom - rim)
      .map((b) => `${a.text} | ${b.text}`),
  )
}
