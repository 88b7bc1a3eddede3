/** The response for a path. */
export interface Page {
  readonly body: string
  /** Default 200. */
  readonly status?: number
  /** Default plain text. */
  readonly type?: string
}

/** Pages by path. */
export type Pages = Readonly<Record<string, () => Page | Promise<Page>>>

/** Builds each page once at a time: concurrent requests share one result, and so its cost. */
export class PageMaker {
  readonly #pages: Pages
  readonly #underway = new Map<string, Promise<ReadyPage>>()

  constructor(pages: Pages) {
    this.#pages = pages
  }

  /** `undefined` when the path has no page. */
  make(path: string): Promise<ReadyPage> | undefined {
    if (!Object.hasOwn(this.#pages, path)) return undefined
    const underway = this.#underway.get(path)
    if (underway !== undefined) return underway
    const page = this.#make(path).finally(() => this.#underway.delete(path))
    this.#underway.set(path, page)
    return page
  }

  async #make(path: string): Promise<ReadyPage> {
    try {
      return ready(await this.#pages[path]!())
    } catch (error) {
      return ready({ status: 500, body: `${String(error)}\n` })
    }
  }
}

/** An encoded page, shared by concurrent requests. */
export interface ReadyPage {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

export function ready({ body, status = 200, type = 'text/plain; charset=utf-8' }: Page): ReadyPage {
  return { status, type, body: Buffer.from(body) }
}
