import { useSyncExternalStore } from 'react'
import { guardClosing } from '../shared/closing-guard.ts'
import { Listeners } from '../shared/listeners.ts'
import { refreshLimits } from '../shared/notices/limit-notice.tsx'
import type { ChatContext } from './chat-requests.ts'
import type { StoredSummary } from './summariser.ts'

/** A summary that is being written, has failed and left the chat as it was, or is stored. */
interface SummaryRun {
  phase: 'running' | 'failed' | 'stored'
  error?: unknown
  stop?: () => void
}

/** The summaries by conversation. They go on while another conversation is shown. */
class SummaryRuns {
  readonly #runs = new Map<string, SummaryRun>()
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  find(slug: string): SummaryRun | undefined {
    return this.#runs.get(slug)
  }

  /** Forgets a failure. */
  clear(slug: string): void {
    if (this.#runs.get(slug)?.phase !== 'running') this.#set(slug, undefined)
  }

  /** Summarises the chat up to a message, one run at a time; undefined if that was stopped or has failed. */
  async run(chat: ChatContext, end: number): Promise<StoredSummary | undefined> {
    const { slug } = chat
    if (this.find(slug)?.phase === 'running') return undefined
    const controller = new AbortController()
    this.#set(slug, { phase: 'running', stop: () => controller.abort() })
    const endGuard = guardClosing()
    try {
      const { createSummary } = await import('./summariser.ts')
      const stored = await createSummary(chat, end, controller.signal)
      this.#set(slug, { phase: 'stored' })
      return stored
    } catch (error) {
      this.#set(slug, controller.signal.aborted ? undefined : { phase: 'failed', error })
      return undefined
    } finally {
      endGuard()
      void refreshLimits()
    }
  }

  #set(slug: string, run: SummaryRun | undefined): void {
    if (run) this.#runs.set(slug, run)
    else this.#runs.delete(slug)
    this.#listeners.notify()
  }
}

export const summaryRuns = new SummaryRuns()

export const useSummaryRun = (slug: string): SummaryRun | undefined =>
  useSyncExternalStore(summaryRuns.subscribe, () => summaryRuns.find(slug))
