/**
 * The changes that this page makes itself. The stream reports each of them once as well, often before the response
 * arrives, and nothing has to be read again then.
 */
export class OwnChanges {
  readonly #expected = new Set<string>()

  /**
   * Makes a change that the stream will report with this subject. If the call fails, `readAgain` is called when a report
   * has arrived, as it was the change of somebody else or its response was lost.
   */
  async make<Result>(subject: string, call: () => Promise<Result>, readAgain: () => unknown): Promise<Result> {
    this.#expected.add(subject)
    try {
      return await call()
    } catch (error) {
      if (!this.#expected.delete(subject)) readAgain()
      throw error
    }
  }

  /** Returns true once for each change that this page has made. */
  take(subject: string): boolean {
    return this.#expected.delete(subject)
  }

  /** Forgets the changes after a gap, in which their reports may have been lost. */
  forget(): void {
    this.#expected.clear()
  }
}
