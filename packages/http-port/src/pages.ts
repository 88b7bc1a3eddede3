/** What a path answers. */
export interface Page {
  readonly body: string
  /** Default 200. */
  readonly status?: number
  /** Default plain text. */
  readonly type?: string
}

/** The pages by their paths. */
export type Pages = Readonly<Record<string, () => Page | Promise<Page>>>

/**
 * Makes each page once at a time: requests that arrive while it is being made share it, so that a
 * burst of them costs the work and the memory of one.
 */
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

/** A page as bytes, which its requests share. */
export interface ReadyPage {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

export function ready({ body, status = 200, type = 'text/plain; charset=utf-8' }: Page): ReadyPage {
  return { status, type, body: Buffer.from(body) }
}
