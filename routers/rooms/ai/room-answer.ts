import { createCipheriv, randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { endDisclosure, replaceAnswer } from '../../../entities/rooms/room-disclosure.sql.ts'
import type { DisclosureState } from '../../../entities/rooms/room-disclosure.ts'
import { insertMessage } from '../../../entities/rooms/room-message.sql.ts'
import type { StreamPart, UsagePart } from '../../ai/answer.ts'
import type { ChatContext } from '../../ai/chat-context.ts'
import type { MeteredCall } from '../../ai/metered-call.ts'
import { isKnowledgeTool } from '../../assistants/knowledge/knowledge-tools.ts'
import type { ChangeRecorder, ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { CitedPassage, Source } from '../../ports/ai/messages.ts'
import type { FinishReason } from '../../ports/ai/models.ts'
import type { EphemeralEvent } from '../../ports/change-streams.ts'
import type { AnswerDisclosure } from '../../ports/room-answers.ts'
import { createUnknownIssue } from '../../verbs/lock-row.ts'
import { assertKeyInUse } from '../key-epochs.ts'
import { MAX_CONTENT } from '../message-content.ts'
import { shareMessages } from '../message-records.ts'
import { lockForWriter } from '../send-message.ts'
import type { RoomQuestion } from './room-question.ts'

/** The destination of an answer, and the disclosure that it belongs to. */
interface AnswerDestination extends Omit<RoomQuestion, 'id' | 'key' | 'messages'>, AnswerDisclosure {
  author: number
  /** The assistant that was asked, with its version, as in `helper@3`. */
  assistant: string | undefined
}

export interface AnswerCall {
  key: Buffer
  call: MeteredCall
}

/** Reads the answer, publishes its progress, stores it encrypted, and records its end in either case. Never throws. */
export async function writeAnswer(
  ctx: ChatContext,
  target: AnswerDestination,
  { key, call }: AnswerCall,
): Promise<void> {
  const progress = new AnswerProgress({
    id: target.id,
    seal: (content) => seal(key, content),
    publish: (event) => ctx.services.changes.streams.sendEphemeral(`room:${target.room}`, event),
  })
  try {
    const answer = await collectAnswer(call, progress)
    // An incomplete answer does not replace an earlier one.
    if (answer.error && target.replaces !== null) throw new Problem(answer.error)
    const content = sealAnswer(key, answer)
    await withChangeLog(
      ctx,
      (em, changes) => storeAnswer(ctx, target, { em, changes, content, answer }),
      `room:${target.room}`,
    )
  } catch (error) {
    await recordFailure(ctx, target, error).catch((recordError: unknown) =>
      ctx.services.log.error(
        { requestId: ctx.requestId, error: recordError },
        'the failure of an answer in a room could not be recorded',
      ),
    )
  } finally {
    progress.stop()
    key.fill(0)
  }
}

type ChangedMessages = [answer: string, ...others: string[]]

interface AnswerTransaction extends ChangeTransaction {
  /** Encrypted. */
  content: string
  answer: Pick<CollectedAnswer, 'finish' | 'error'>
}

/** Stores the answer. The asker must still be allowed to write, and the key must still be in use. */
async function storeAnswer(ctx: ChatContext, target: AnswerDestination, transaction: AnswerTransaction): Promise<void> {
  const { id, room, keyEpoch, replaces } = target
  const { em, changes, answer } = transaction
  assertKeyInUse(ctx, keyEpoch, await lockForWriter(ctx, em, room))
  const [message, ...changed] =
    replaces === null
      ? await insertAnswer(target, transaction)
      : await overwriteAnswer(target, Number(replaces), transaction)
  await shareMessages(ctx, { em, changes, room, ids: [message, ...changed] })
  const [ended] = await runStatement(em, endDisclosure, [id, 'completed', answer.error, Number(message)])
  if (!ended) throw new Problem('client_gone')
  changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
}

/** Returns the ids of the messages that it has changed: that of the answer, and that of the message it replies to. */
async function insertAnswer(
  target: AnswerDestination,
  { em, changes, content, answer }: AnswerTransaction,
): Promise<ChangedMessages> {
  const { room, author, keyEpoch, thread, model } = target
  const reply = thread === null ? null : Number(thread)
  const values = [room, author, content, keyEpoch, null, reply, model, toMetadata(target, answer)]
  const logged = await runStatement(em, insertMessage, values)
  const [created] = logged
  if (!created) throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['thread'])] })
  changes.addLogged(logged)
  return [created.subject, ...logged.slice(1).map(({ subject }) => subject)]
}

async function overwriteAnswer(
  target: AnswerDestination,
  message: number,
  { em, changes, content, answer }: AnswerTransaction,
): Promise<ChangedMessages> {
  const { room, keyEpoch, model } = target
  const [replaced] = await runStatement(em, replaceAnswer, [
    content,
    keyEpoch,
    model,
    toMetadata(target, answer),
    message,
  ])
  if (!replaced) throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['replaces'])] })
  changes.add([`room:${room}`], 'updated', 'room-messages', message)
  return [String(message)]
}

/** `finish` says why an answer is not whole. */
const toMetadata = (
  { modelTools, parameters, assistant }: AnswerDestination,
  { finish }: AnswerTransaction['answer'],
) =>
  JSON.stringify({
    tools: modelTools ?? null,
    params: parameters,
    ...(assistant !== undefined && { assistant }),
    ...(finish !== 'stop' && { finish }),
  })

/** Other members only learn that the asker is no longer permitted, not what happened to their session or token. */
const askerErrorCodes: readonly ErrorCode[] = ['invalid_token', 'signed_out']

/**
 * Records that an answer failed. A cancelled answer has ended already. Only the end of this process aborts the signal
 * without a reason.
 */
async function recordFailure(ctx: ChatContext, { id, room }: AnswerDestination, error: unknown): Promise<void> {
  const code: ErrorCode = error instanceof Problem ? error.problem : 'internal'
  const [state, reportedCode] = toDisclosureEnd(code)
  if (code === 'internal') {
    const kind = error instanceof Error ? error.name : typeof error
    ctx.services.log.error({ requestId: ctx.requestId, kind }, 'an answer in a room failed')
  }
  const end = async (em: EntityManager, changes: ChangeRecorder) => {
    const [ended] = await runStatement(em, endDisclosure, [id, state, reportedCode, null])
    if (ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
  }
  await withChangeLog(ctx, end, `room:${room}`)
}

function toDisclosureEnd(code: ErrorCode): [DisclosureState, ErrorCode] {
  if (code === 'client_gone') return ['lost', 'unavailable']
  return ['failed', askerErrorCodes.includes(code) ? 'not_permitted' : code]
}

/** An answer as members of a room read it. */
interface CollectedAnswer {
  text: string
  citations: CollectedSource[]
  finish: FinishReason
  /** The reason that the answer is incomplete, if somebody else than its asker ended it. */
  error: ErrorCode | null
}

const streamedPartTypes = [
  'delta',
  'source',
  'approval',
  'tool-use',
  'tool-result',
  'finish',
  'usage',
] as const satisfies StreamPart['type'][]

const errorsByCut = { limit: 'limit_reached', refusal: 'provider_refused' } as const

/**
 * Reads an answer as a stream, so that an aborted one is billed only as far as it came. An answer without text fails.
 */
async function collectAnswer(call: MeteredCall, progress: AnswerProgress): Promise<CollectedAnswer> {
  const answer: CollectedAnswer = { text: '', citations: [], finish: 'stop', error: null }
  for await (const part of await call.stream(streamedPartTypes)) {
    if (part.type === 'usage') return applyCut(part.cut, answer)
    if (part.type === 'finish') answer.finish = part.reason
    else progress.add(toShownPart(part, answer.citations, call))
    if (part.type === 'delta') answer.text += part.text
  }
  throw new Problem('client_gone')
}

/** Leaves out what an assistant has read of its knowledge, to which members may have no right. */
function toShownPart(part: StreamPart, citations: CollectedSource[], { assistant }: MeteredCall): StreamPart {
  if (part.type === 'source') return addSource(citations, part)
  const isPassages = part.type === 'tool-result' && assistant !== undefined && isKnowledgeTool(part.name)
  return isPassages ? { ...part, output: '' } : part
}

interface CollectedSource {
  url: string
  title: string | undefined
  /** Without its text: members open it by their own right. */
  passage?: Omit<CitedPassage, 'text'>
}

/** Adds a source, which a passage is once for each place that cites it. Returns it as members may see it. */
function addSource(citations: CollectedSource[], source: Source): Source {
  const { url, title, passage } = source
  const shown = passage && { ...passage, text: '' }
  if (!citations.some((known) => known.url === url))
    citations.push({ url, title, ...(shown && { passage: withoutText(shown) }) })
  return shown ? { ...source, passage: shown } : source
}

const withoutText = ({ text: _, ...place }: CitedPassage) => place

function applyCut(cut: UsagePart['cut'], answer: CollectedAnswer): CollectedAnswer {
  const error = cut && cut !== 'length' ? errorsByCut[cut] : null
  if (error && answer.text === '') throw new Problem(error)
  if (answer.finish === 'stop' && answer.text.trim() === '') throw new Problem('provider_failed')
  return { ...answer, error }
}

const IV_BYTES = 12

/** Encrypts an answer with its sources. */
function sealAnswer(key: Buffer, { text, citations }: Pick<CollectedAnswer, 'text' | 'citations'>): string {
  const sealed = seal(key, JSON.stringify({ text, ...(citations.length > 0 && { citations }) }))
  if (sealed.length > MAX_CONTENT) throw new Problem('too_large')
  return sealed
}

/** Encrypts as a browser would: `iv|tag|ciphertext`, each in base64. */
function seal(key: Buffer, content: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const ciphertext = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()])
  return [iv, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64')).join('|')
}

/**
 * Milliseconds between two published pieces of an answer, and between two snapshots of all of it for members who joined
 * late.
 */
const [PUBLISH_INTERVAL_MS, SNAPSHOT_INTERVAL_MS] = [250, 2000]
/** The largest snapshot, in characters. */
const MAX_SNAPSHOT_LENGTH = 48_000

const PROGRESS_EVENT = 'room-disclosures.progress'

interface ProgressOptions {
  /** The id of the disclosure. */
  id: number
  seal: (content: string) => string
  publish: (event: EphemeralEvent) => void
}

/** Publishes the growth of an answer to its room as passing events, encrypted for its members. */
class AnswerProgress {
  readonly #options: ProgressOptions
  /** All parts so far; consecutive pieces of text are joined. */
  readonly #parts: StreamPart[] = []
  #length = 0
  #unpublished: StreamPart[] = []
  #number = 0
  #publishedAt = 0
  #snapshotAt = Date.now()
  #timer: NodeJS.Timeout | undefined

  constructor(options: ProgressOptions) {
    this.#options = options
  }

  add(part: StreamPart): void {
    appendPart(this.#unpublished, part)
    appendPart(this.#parts, part)
    this.#length += part.type === 'delta' ? part.text.length : JSON.stringify(part).length
    // An approval is published at once: a person has to answer it.
    const wait = part.type === 'approval' ? 0 : Math.max(0, this.#publishedAt + PUBLISH_INTERVAL_MS - Date.now())
    if (wait === 0) this.#publish()
    else this.#timer ??= setTimeout(() => this.#publish(), wait)
  }

  /** Stops publishing; the final message contains everything that was not published. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  #publish(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#publishedAt = Date.now()
    const isSnapshot =
      this.#number === 0 ||
      (this.#publishedAt - this.#snapshotAt > SNAPSHOT_INTERVAL_MS && this.#length <= MAX_SNAPSHOT_LENGTH)
    if (isSnapshot) this.#snapshotAt = this.#publishedAt
    const content = { number: this.#number++, isWhole: isSnapshot, parts: isSnapshot ? this.#parts : this.#unpublished }
    this.#unpublished = []
    const { id, seal, publish: tell } = this.#options
    tell({ kind: PROGRESS_EVENT, subject: `${id}`, content: seal(JSON.stringify(content)) })
  }
}

function appendPart(parts: StreamPart[], part: StreamPart): void {
  const last = parts.at(-1)
  if (part.type === 'delta' && last?.type === 'delta')
    parts[parts.length - 1] = { ...last, text: last.text + part.text }
  else parts.push(part)
}
