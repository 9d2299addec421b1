import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { InputError } from '../shared/api/error-text.ts'
import { guardClosing } from '../shared/closing-guard.ts'
import { StoredDraft } from '../shared/conversation/draft.ts'
import { Listeners } from '../shared/listeners.ts'
import { isRecord, parseRecord } from '../shared/local-store.ts'
import { forgetPageFile, nameFiles } from '../shared/page-files.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { type DraftFile, isDraftFile } from '../shared/uploads.ts'

/** A question that a person has written, with its files by name. */
export interface WrittenQuestion {
  text: string
  /** The ids of the files. */
  attachments: string[]
  files: readonly DraftFile[]
}

export interface QueuedContent extends Omit<WrittenQuestion, 'attachments'> {
  id: string
  modelId: string
  /** The text as it was sent, by which the message is found whose response was lost. */
  sealed?: string
}

/**
 * Why a question is not sent by itself: the answer before it was stopped or has failed, or it was written in another tab
 * or before a reload.
 */
type HoldReason = 'stopped' | 'failed' | 'elsewhere'

/** A question that waits for the end of the running answer. It is held where a person has to decide. */
export interface QueuedQuestion extends QueuedContent {
  state: 'next' | 'sending' | 'held'
  reason?: HoldReason
  /** Why it could not be sent. */
  error?: unknown
}

interface Entry {
  question: QueuedQuestion
  draft: StoredDraft
  /** False if this page alone knows the question, as the storage of the browser is full. */
  isStored: boolean
}

/**
 * The questions that wait, one for a chat, stored like drafts. Only the page in which a question was written sends it by
 * itself. A Web Lock and the stored copy see to it that no other tab sends it as well.
 */
class QueuedQuestions {
  readonly #entries = new Map<string, Entry>()
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  find = (slug: string): QueuedQuestion | undefined => this.#entries.get(slug)?.question

  /** Returns true if a waiting question has a file. */
  hasFile = (id: string): boolean =>
    [...this.#entries.values()].some(({ question }) => question.files.some((file) => file.id === id))

  /** Adds a question for after the running answer. Throws if another one waits already. */
  async add(slug: string, draft: StoredDraft, question: Omit<QueuedContent, 'id'>): Promise<void> {
    if (this.#entries.has(slug)) throw new InputError(t('app.queued.another'))
    const content: QueuedContent = { ...question, id: crypto.randomUUID() }
    const entry: Entry = { question: { ...content, state: 'next' }, draft, isStored: false }
    // The answer may end before the question is stored, and then finds it here.
    this.#set(slug, entry)
    await lock(slug, async () => {
      if (await readContent(draft)) {
        this.#set(slug, undefined)
        throw new InputError(t('app.queued.another'))
      }
      entry.isStored = await draft.save(JSON.stringify(content))
    })
  }

  /**
   * Lets a question wait in the chat that its temporary one has become. The names of its files stand before its text in
   * place of the files, which are not kept. It was not stored under the new name, so how it was sent tells nothing there.
   */
  async move(from: string, to: string, draft: StoredDraft): Promise<void> {
    const entry = this.#entries.get(from)
    if (!entry) return
    const { sealed, files, ...question } = entry.question
    const moved: Entry = {
      ...entry,
      draft,
      question: { ...question, files: [], text: nameFiles(question.text, files) },
    }
    this.#entries.set(to, moved)
    this.#set(from, undefined)
    for (const { id } of files) forgetPageFile(id)
    const { state, reason, error, ...content } = moved.question
    moved.isStored = await draft.save(JSON.stringify(content))
  }

  /** Lets a question wait for a decision of the person. */
  hold(slug: string, reason: HoldReason): void {
    const entry = this.#entries.get(slug)
    if (entry?.question.state === 'next') this.#change(slug, entry, { state: 'held', reason })
  }

  /**
   * Removes a question once something is done with it, unless another tab has taken it. After an error it is held.
   */
  async take(slug: string, act: (question: QueuedContent) => Promise<void>): Promise<void> {
    await lock(slug, async () => {
      const entry = this.#entries.get(slug)
      if (!entry) return
      if (entry.isStored && (await readContent(entry.draft))?.id !== entry.question.id)
        return this.#set(slug, undefined)
      this.#change(slug, entry, { state: 'sending' })
      const endGuard = guardClosing()
      try {
        await act(entry.question)
      } catch (error) {
        return this.#change(slug, entry, { state: 'held', error })
      } finally {
        endGuard()
      }
      entry.draft.remove()
      this.#set(slug, undefined)
    })
  }

  /** Keeps with a question that is taken how its text is sent, also for after a reload. */
  async keepSealed(slug: string, sealed: string): Promise<void> {
    const entry = this.#entries.get(slug)
    if (!entry) return
    entry.question = { ...entry.question, sealed }
    const { state, reason, error, ...content } = entry.question
    if (entry.isStored) await entry.draft.save(JSON.stringify(content))
  }

  /** Follows what is stored, until the returned function is called: other tabs store and take questions as well. */
  follow(slug: string, draft: StoredDraft): () => void {
    const read = () => lock(slug, () => this.#read(slug, draft))
    const readChange = ({ key }: StorageEvent) => {
      if (key === draft.storageKey) void read()
    }
    addEventListener('storage', readChange)
    void read()
    return () => removeEventListener('storage', readChange)
  }

  async #read(slug: string, draft: StoredDraft): Promise<void> {
    const content = await readContent(draft)
    const entry = this.#entries.get(slug)
    if (entry && (entry.question.id === content?.id || !entry.isStored)) return
    this.#set(slug, content && { question: { ...content, state: 'held', reason: 'elsewhere' }, draft, isStored: true })
  }

  #change(slug: string, entry: Entry, change: Pick<QueuedQuestion, 'state' | 'reason' | 'error'>): void {
    const { state, reason, error, ...content } = entry.question
    entry.question = { ...content, ...change }
    this.#set(slug, entry)
  }

  #set(slug: string, entry: Entry | undefined): void {
    if (entry) this.#entries.set(slug, entry)
    else this.#entries.delete(slug)
    this.#listeners.notify()
  }
}

const lock = <T>(slug: string, act: () => Promise<T>): Promise<T> => navigator.locks.request(`svc:queued:${slug}`, act)

async function readContent(draft: StoredDraft): Promise<QueuedContent | undefined> {
  const content = parseRecord(await draft.open())
  return isQueuedContent(content) ? content : undefined
}

const isQueuedContent = (value: unknown): value is QueuedContent =>
  isRecord(value) &&
  ['id', 'text', 'modelId'].every((name) => typeof value[name] === 'string') &&
  Array.isArray(value['files']) &&
  value['files'].every(isDraftFile)

export const queuedQuestions = new QueuedQuestions()

/** Returns the name of the draft that stores the waiting question of a chat. */
export const getQueueName = (slug: string): string => `${slug}:queued`

/** Returns the draft that stores the waiting question of a chat. */
export function useQueueDraft(slug: string): StoredDraft {
  const { connection, conversationKey } = useSession()
  const owner = String(connection.userinfo?.id)
  return useMemo(() => new StoredDraft(conversationKey, owner, getQueueName(slug)), [conversationKey, owner, slug])
}

/** Returns the question that waits in a chat. */
export function useQueuedQuestion(slug: string, draft: StoredDraft): QueuedQuestion | undefined {
  useEffect(() => queuedQuestions.follow(slug, draft), [slug, draft])
  return useSyncExternalStore(queuedQuestions.subscribe, () => queuedQuestions.find(slug))
}
