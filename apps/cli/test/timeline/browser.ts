import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** `undefined` if not installed; `.ci/run` installs Debian's Chromium. */
const executablePath = places.find((place) => existsSync(place))

/** The reason to skip the browser tests. */
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
  /** Console messages and requests of the page. */
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

/** The boxes of all elements that match a selector, in pixels. */
export async function boxesOf(page: Page, selector: string): Promise<Box[]> {
  return page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect()
      const title = element.querySelector('title')?.textContent ?? ''
      return { text: (element.textContent ?? '').slice(title.length), left, right, top, bottom }
    }),
  )
}

/** Pairs that overlap by more than the margins of their letters. */
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
