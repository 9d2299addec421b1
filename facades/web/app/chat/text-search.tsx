import { Link } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { ExcerptText } from '../shared/conversation/excerpt-text.tsx'
import type { SearchHit } from '../shared/conversation/search-worker.ts'
import { TextSearch } from '../shared/conversation/text-search.ts'
import { useTextHits } from '../shared/conversation/use-text-hits.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { Listeners } from '../shared/listeners.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { SideNote, SideRow } from '../shared/ui/side-list.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { readConversations } from './conversations.ts'
import { writeNumber } from './message-content.ts'
import { readAllMessages } from './messages.ts'
import styles from './text-search.module.css'

interface TextResultsProps {
  words: string
  onChoose: () => void
}

/** Searches the texts of all conversations. Only this browser can decrypt them. */
export function TextResults({ words, onChoose }: TextResultsProps) {
  const { conversationKey: key } = useSession()
  const state = useSearchState()
  const hits = useTextHits(chatSearch, words, state.count)
  const isReading = state.phase === 'reading'
  const startLabel = state.phase === 'idle' ? 'app.search.begin' : 'app.search.again'
  return (
    <section className={styles.results} aria-label={t('app.search.texts')}>
      <h2>{t('app.search.texts')}</h2>
      <ul>
        {hits?.map((hit) => (
          <SourceBoundary key={`${hit.place.slug}/${hit.place.number}`} source={hit.excerpt.words}>
            <HitRow hit={hit} onChoose={onChoose} />
          </SourceBoundary>
        ))}
      </ul>
      <SideNote role="status">{describeProgress(state, hits?.length === 0)}</SideNote>
      {state.phase === 'failed' && <ErrorNotice error={state.error} />}
      <Button kind="plain" onClick={() => (isReading ? chatSearch.stop() : void chatSearch.read(key))}>
        {t(isReading ? 'app.composer.stop' : startLabel)}
      </Button>
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
function describeProgress({ phase, count }: SearchState, isEmpty: boolean): string {
  if (phase === 'idle') return t('app.search.hint')
  const progress = t(progressLabels[phase], { count })
  return isEmpty && phase !== 'reading' ? `${progress} ${t('app.search.nothing')}` : progress
}

const HitRow = ({ hit: { place, excerpt }, onChoose }: { hit: SearchHit<FoundMessage>; onChoose: () => void }) => (
  <SideRow>
    <Link
      to="/chat/$slug"
      params={{ slug: place.slug }}
      hash={writeNumber(place.number)}
      className={styles.hit}
      onClick={onChoose}
    >
      <span className={styles.name} dir="auto">
        {chatSearch.findName(place.slug)}
      </span>
      <span className={styles.excerpt} dir="auto">
        <ExcerptText excerpt={excerpt} />
      </span>
    </Link>
  </SideRow>
)

/** The progress of decrypting all conversations, the newest first. */
interface SearchState {
  phase: 'idle' | 'reading' | 'stopped' | 'full' | 'done' | 'failed'
  /** The number of decrypted conversations. */
  count: number
  error?: unknown
}

interface FoundMessage {
  slug: string
  number: number
}

const [LIST_PAGE, MESSAGE_PAGE] = [200, 1000]

const idleState: SearchState = { phase: 'idle', count: 0 }

/** Searches the texts of all conversations in a worker. They go with the session or the page. */
class ChatSearch {
  #texts: TextSearch<FoundMessage> | undefined
  /** The conversations whose texts the worker keeps. */
  readonly #kept = new Map<string, Conversation>()
  #isFull = false
  #state = idleState
  #stop = new AbortController()
  readonly #listeners = new Listeners()

  get state(): SearchState {
    return this.#state
  }

  readonly subscribe = this.#listeners.subscribe

  /** Decrypts the conversations that are new or have changed. */
  async read(key: ConversationKey): Promise<void> {
    this.#texts ??= new TextSearch(() => this.#forget())
    const { signal } = this.#startReading()
    try {
      await this.#readAll(this.#texts, key, signal)
    } catch (error) {
      if (!signal.aborted) this.#set({ phase: 'failed', count: this.#kept.size, error })
    }
  }

  async #readAll(texts: TextSearch<FoundMessage>, key: ConversationKey, signal: AbortSignal): Promise<void> {
    const seen = new Set<string>()
    for await (const conversation of listConversations(key, signal)) {
      seen.add(conversation.slug)
      const isFull = await this.#keep(texts, key, conversation, signal)
      if (signal.aborted) return
      if (isFull) return this.#set({ phase: 'full', count: this.#kept.size })
      this.#set({ phase: 'reading', count: seen.size })
    }
    await this.#drop(
      texts,
      [...this.#kept.keys()].filter((slug) => !seen.has(slug)),
    )
    if (!signal.aborted) this.#set({ phase: 'done', count: this.#kept.size })
  }

  stop(): void {
    this.#stop.abort()
    this.#set({ phase: 'stopped', count: this.#kept.size })
  }

  async find(words: string): Promise<SearchHit<FoundMessage>[]> {
    return (await this.#texts?.find(words)) ?? []
  }

  findName(slug: string): string {
    return this.#kept.get(slug)?.name ?? ''
  }

  #forget(): void {
    this.#stop.abort()
    this.#texts?.end()
    this.#texts = undefined
    this.#kept.clear()
    this.#isFull = false
    this.#set(idleState)
  }

  #startReading(): AbortController {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#set({ phase: 'reading', count: 0 })
    return this.#stop
  }

  /** Returns true if the worker keeps no more texts. */
  async #keep(
    texts: TextSearch<FoundMessage>,
    key: ConversationKey,
    conversation: Conversation,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { slug, updatedAt } = conversation
    if (this.#kept.get(slug)?.updatedAt === updatedAt) return this.#isFull
    const messages = await readAllMessages(key, slug, MESSAGE_PAGE, signal)
    if (signal.aborted) return false
    this.#kept.set(slug, conversation)
    const reach = await texts.keep([
      {
        id: slug,
        order: Date.parse(updatedAt),
        texts: messages.map(({ number, answer }) => ({ place: { slug, number }, text: answer.text })),
      },
    ])
    this.#isFull = reach.isFull
    return this.#isFull
  }

  async #drop(texts: TextSearch<FoundMessage>, slugs: readonly string[]): Promise<void> {
    for (const slug of slugs) this.#kept.delete(slug)
    this.#isFull = (await texts.drop(slugs)).isFull
  }

  #set(state: SearchState): void {
    this.#state = state
    this.#listeners.notify()
  }
}

async function* listConversations(key: ConversationKey, signal: AbortSignal): AsyncGenerator<Conversation> {
  let after: string | null = null
  do {
    const page: { size: number; after?: string } = { size: LIST_PAGE, ...(after !== null && { after }) }
    const { data, meta } = await readConversations(key, { page }, signal)
    yield* data
    after = meta.next
  } while (after !== null)
}

const chatSearch = new ChatSearch()

const useSearchState = (): SearchState => useSyncExternalStore(chatSearch.subscribe, () => chatSearch.state)
