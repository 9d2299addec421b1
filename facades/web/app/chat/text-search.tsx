import { Link } from '@tanstack/react-router'
import { useMemo, useSyncExternalStore } from 'react'
import { api, type Conversation } from '../shared/api/client.ts'
import { onSessionEnd } from '../shared/api/session-end.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { Listeners } from '../shared/listeners.ts'
import { useSession } from '../shared/session.tsx'
import { type Excerpt, findExcerpt } from '../shared/text/excerpt.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { readAllMessages } from './messages.ts'

interface TextResultsProps {
  words: string
  onChoose: () => void
}

/** Searches the texts of all conversations. Only this browser can decrypt them. */
export function TextResults({ words, onChoose }: TextResultsProps) {
  const { conversationKey: key } = useSession()
  const state = useTextSearch()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the decrypted texts change with the count.
  const hits = useMemo(() => textSearch.find(words), [words, state.count])
  const isReading = state.phase === 'reading'
  const startLabel = state.phase === 'idle' ? 'app.search.begin' : 'app.search.again'
  return (
    <section className="text-results" aria-label={t('app.search.texts')}>
      <h2>{t('app.search.texts')}</h2>
      <ul>
        {hits.map((hit) => (
          <SourceBoundary key={`${hit.conversation.slug}/${hit.number}`} source={hit.excerpt.words}>
            <HitRow hit={hit} onChoose={onChoose} />
          </SourceBoundary>
        ))}
      </ul>
      <p className="hint" role="status">
        {describeProgress(state, hits.length)}
      </p>
      {state.phase === 'failed' && <ErrorMessage error={state.error} className="notice wrong" />}
      <button
        type="button"
        className="plain-button"
        onClick={() => (isReading ? textSearch.stop() : void textSearch.read(key))}
      >
        {t(isReading ? 'app.composer.stop' : startLabel)}
      </button>
    </section>
  )
}

const progressLabels = {
  reading: 'app.search.reading',
  stopped: 'app.search.partly',
  failed: 'app.search.partly',
  full: 'app.search.partly',
  done: 'app.search.done',
} as const

/** Describes how much has been searched. */
function describeProgress({ phase, count }: SearchState, found: number): string {
  if (phase === 'idle') return t('app.search.hint')
  const progress = t(progressLabels[phase], { count })
  return found === 0 && phase !== 'reading' ? `${progress} ${t('app.search.nothing')}` : progress
}

const HitRow = ({ hit, onChoose }: { hit: Hit; onChoose: () => void }) => (
  <li>
    <Link to="/chat/$slug" params={{ slug: hit.conversation.slug }} hash={hit.number} onClick={onChoose}>
      <span className="hit-name" dir="auto">
        {hit.conversation.name}
      </span>
      <span className="hint" dir="auto">
        {hit.excerpt.before}
        <mark>{hit.excerpt.words}</mark>
        {hit.excerpt.after}
      </span>
    </Link>
  </li>
)

/** The progress of decrypting all conversations, the newest first. */
interface SearchState {
  phase: 'idle' | 'reading' | 'stopped' | 'full' | 'done' | 'failed'
  /** The number of decrypted conversations. */
  count: number
  error?: unknown
}

/** A message that matches the search. */
interface Hit {
  conversation: Conversation
  number: string
  excerpt: Excerpt
}

interface OpenedConversation {
  conversation: Conversation
  texts: { number: string; text: string }[]
}

const [LIST_PAGE, MESSAGE_PAGE] = [200, 1000]
/** The most characters that are kept in memory. */
const MAX_TEXT = 100_000_000
/** The most hits that are shown. */
const MAX_HITS = 100

const idleState: SearchState = { phase: 'idle', count: 0 }

/** The decrypted texts of conversations, in memory until the session ends or the page is closed. */
class TextSearch {
  #opened = new Map<string, OpenedConversation>()
  #size = 0
  #state = idleState
  #stop = new AbortController()
  readonly #listeners = new Listeners()

  get state(): SearchState {
    return this.#state
  }

  readonly subscribe = this.#listeners.subscribe

  /** Decrypts the conversations that are new or have changed. */
  async read(key: ConversationKey): Promise<void> {
    const { signal } = this.#startReading()
    try {
      await this.#readAll(key, signal)
    } catch (error) {
      if (!signal.aborted) this.#set({ phase: 'failed', count: this.#opened.size, error })
    }
  }

  async #readAll(key: ConversationKey, signal: AbortSignal): Promise<void> {
    const seen = new Set<string>()
    for await (const conversation of listConversations(signal)) {
      seen.add(conversation.slug)
      await this.#decrypt(key, conversation, signal)
      if (signal.aborted) return
      if (this.#size > MAX_TEXT) return this.#set({ phase: 'full', count: this.#opened.size })
      this.#set({ phase: 'reading', count: seen.size })
    }
    for (const slug of this.#opened.keys()) if (!seen.has(slug)) this.#drop(slug)
    this.#set({ phase: 'done', count: this.#opened.size })
  }

  stop(): void {
    this.#stop.abort()
    this.#set({ phase: 'stopped', count: this.#opened.size })
  }

  forget(): void {
    this.#stop.abort()
    this.#opened = new Map()
    this.#size = 0
    this.#set(idleState)
  }

  find(words: string): Hit[] {
    const newestFirst = [...this.#opened.values()].toSorted((a, b) =>
      b.conversation.updatedAt.localeCompare(a.conversation.updatedAt),
    )
    return newestFirst
      .values()
      .flatMap(({ conversation, texts }) =>
        texts.values().flatMap(({ number, text }) => {
          const excerpt = findExcerpt(text, words)
          return excerpt ? [{ conversation, number, excerpt }] : []
        }),
      )
      .take(MAX_HITS)
      .toArray()
  }

  #startReading(): AbortController {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#set({ phase: 'reading', count: 0 })
    return this.#stop
  }

  async #decrypt(key: ConversationKey, conversation: Conversation, signal: AbortSignal): Promise<void> {
    const { slug, updatedAt } = conversation
    if (this.#opened.get(slug)?.conversation.updatedAt === updatedAt) return
    const texts = await readTexts(key, slug, signal)
    if (signal.aborted) return
    this.#drop(slug)
    this.#opened.set(slug, { conversation, texts })
    this.#size += countCharacters(texts)
  }

  #drop(slug: string): void {
    this.#size -= countCharacters(this.#opened.get(slug)?.texts ?? [])
    this.#opened.delete(slug)
  }

  #set(state: SearchState): void {
    this.#state = state
    this.#listeners.notify()
  }
}

const countCharacters = (texts: OpenedConversation['texts']) => texts.reduce((sum, { text }) => sum + text.length, 0)

async function* listConversations(signal: AbortSignal): AsyncGenerator<Conversation> {
  let after: string | null = null
  do {
    const page: { size: number; after?: string } = { size: LIST_PAGE, ...(after !== null && { after }) }
    const { data, meta } = await api.conversations.list.query({ page }, { signal })
    yield* data
    after = meta.next
  } while (after !== null)
}

async function readTexts(key: ConversationKey, slug: string, signal: AbortSignal) {
  const messages = await readAllMessages(key, slug, MESSAGE_PAGE, signal)
  return messages.map(({ number, answer }) => ({ number, text: answer.text }))
}

const textSearch = new TextSearch()
onSessionEnd(() => textSearch.forget())

const useTextSearch = (): SearchState => useSyncExternalStore(textSearch.subscribe, () => textSearch.state)
