/** Milliseconds in which changes are collected before they are read together. */
const BATCH_MS = 100
/** Milliseconds before changes are read again after a failure. */
const RETRY_MS = 3000

/**
 * Collects changes and reads them together: at once if nothing was read lately, and otherwise after a pause. One batch
 * is read at a time, so that no older state replaces a newer one. A batch that fails is read again later.
 */
export class ChangeQueue<Item> {
  readonly #read: (items: ReadonlySet<Item>) => Promise<unknown>
  readonly #pauseMs: number
  #items = new Set<Item>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #nextReadAt = 0
  #isReading = false
  #isStopped = false

  /** Takes the function that reads a batch, and the shortest time in milliseconds between two reads. */
  constructor(read: (items: ReadonlySet<Item>) => Promise<unknown>, pauseMs = BATCH_MS) {
    this.#read = read
    this.#pauseMs = pauseMs
  }

  readonly add = (item: Item): void => {
    this.#items.add(item)
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isReading || this.#isStopped || this.#items.size === 0) return
    this.#timer = setTimeout(() => void this.#readBatch(), Math.max(BATCH_MS, this.#nextReadAt - Date.now()))
  }

  async #readBatch(): Promise<void> {
    const batch = this.#items
    this.#items = new Set()
    this.#timer = undefined
    this.#isReading = true
    this.#nextReadAt = Date.now() + this.#pauseMs
    try {
      await this.#read(batch)
    } catch {
      for (const item of batch) this.#items.add(item)
      this.#nextReadAt = Date.now() + RETRY_MS
    } finally {
      this.#isReading = false
      this.#schedule()
    }
  }
}
