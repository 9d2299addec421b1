import type { EntityManager } from '@mikro-orm/postgresql'
import { endDisclosure, replaceAnswer } from '../../../entities/rooms/room-disclosure.sql.ts'
import type { DisclosureState } from '../../../entities/rooms/room-disclosure.ts'
import { insertMessage } from '../../../entities/rooms/room-message.sql.ts'
import type { Asking } from '../../ai/asking.ts'
import type { MeteredCall } from '../../ai/metered-call.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import { runNamed } from '../../core/run-named.ts'
import type { Told } from '../../ports/room-answers.ts'
import { unknown } from '../../verbs/lock.ts'
import { assertKeyInUse } from '../key-epoch.ts'
import { lockForWriter } from '../send-message.ts'
import type { RoomQuestion } from './question.ts'
import { answerOf, type RoomAnswer } from './room-answer.ts'
import { sealAnswer } from './seal-answer.ts'

/** Where an answer goes, and under which disclosure it is made. */
interface AnswerTarget extends Omit<RoomQuestion, 'id' | 'key' | 'messages'>, Told {
  author: number
}

interface Making {
  key: Buffer
  call: MeteredCall
}

/** Waits for the answer and keeps it, encrypted; tells the room of its end in either case. Never throws. */
export async function writeAnswer(ctx: Asking, target: AnswerTarget, { key, call }: Making): Promise<void> {
  try {
    const answer = await answerOf(call)
    // What it would replace is worth more, as it is whole.
    if (answer.error && target.replaces !== null) throw new Problem(answer.error)
    const content = sealAnswer(key, answer)
    await changing(ctx, (em, changes) => keep(ctx, target, { em, changes, content, answer }))
  } catch (error) {
    await fail(ctx, target, error).catch(() => {})
  } finally {
    key.fill(0)
  }
}

interface Keeping {
  em: EntityManager
  changes: ChangeRecorder
  /** Encrypted. */
  content: string
  answer: Pick<RoomAnswer, 'finish' | 'error'>
}

/** The asker must still be one who may write, and the key one that may be used. */
async function keep(ctx: Asking, target: AnswerTarget, at: Keeping): Promise<void> {
  const { id, room, keyEpoch, replaces } = target
  const { em, changes, answer } = at
  assertKeyInUse(ctx, keyEpoch, await lockForWriter(ctx, em, room))
  const message = replaces === null ? await insert(target, at) : await replace(target, Number(replaces), at)
  const [ended] = await runNamed(em, endDisclosure, [id, 'completed', answer.error, message])
  if (!ended) throw new Problem('client_gone')
  changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
}

async function insert(target: AnswerTarget, { em, changes, content, answer }: Keeping): Promise<number> {
  const { room, author, keyEpoch, thread, model } = target
  const reply = thread === null ? null : Number(thread)
  const values = [room, author, content, keyEpoch, null, reply, model, metadataOf(target, answer)]
  const logged = await runNamed(em, insertMessage, values)
  const [created] = logged
  if (!created) throw new Problem('not_found', { issues: [unknown('room-messages', ['thread'])] })
  changes.addLogged(logged)
  return Number(created.subject)
}

async function replace(target: AnswerTarget, message: number, { em, changes, content, answer }: Keeping) {
  const { room, keyEpoch, model } = target
  const [replaced] = await em.execute<{ id: number }[]>(replaceAnswer, [
    content,
    keyEpoch,
    model,
    metadataOf(target, answer),
    message,
  ])
  if (!replaced) throw new Problem('not_found', { issues: [unknown('room-messages', ['replaces'])] })
  changes.add([`room:${room}`], 'updated', 'room-messages', message)
  return message
}

/** `finish` says why an answer is not whole. */
const metadataOf = ({ modelTools, parameters }: AnswerTarget, { finish }: Keeping['answer']) =>
  JSON.stringify({ tools: modelTools ?? null, params: parameters, ...(finish !== 'stop' && { finish }) })

/** That the asker may not any more is all that others learn of their sessions and tokens. */
const codesOfAskers: readonly ErrorCode[] = ['invalid_token', 'signed_out']

/** One that was cancelled has ended already. Only the end of this process ends the signal without a reason. */
async function fail(ctx: Asking, { id, room }: AnswerTarget, error: unknown): Promise<void> {
  const code: ErrorCode = error instanceof Problem ? error.problem : 'internal'
  const [state, told] = endOf(code)
  if (code === 'internal') {
    const kind = error instanceof Error ? error.name : typeof error
    ctx.services.log.error({ requestId: ctx.requestId, kind }, 'an answer in a room was not kept')
  }
  await changing(ctx, async (em, changes) => {
    const [ended] = await runNamed(em, endDisclosure, [id, state, told, null])
    if (ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
  })
}

function endOf(code: ErrorCode): [DisclosureState, ErrorCode] {
  if (code === 'client_gone') return ['lost', 'unavailable']
  return ['failed', codesOfAskers.includes(code) ? 'not_permitted' : code]
}
