import type { FastifyInstance } from 'fastify'
import { Problem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import { answer } from '../../ai/answer.ts'
import { readRequest } from '../../ai/body.ts'
import { remapIssues } from '../../ai/error-paths.ts'
import type { WholeAnswer } from '../../ai/types.ts'
import { failureOf } from '../../http/failure.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { answerErrors } from '../errors.ts'
import { AiLines } from './ai-lines.ts'
import { aiRequest, coreRequestOf, fieldAt } from './ai-request.ts'
import { pictureAddress } from './shapes.ts'

interface StreamAiOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Asks a model for front ends that exist, which read lines of JSON. */
export async function streamAi(app: FastifyInstance, { heartbeat, ...options }: StreamAiOptions) {
  const { contextOf } = options
  answerErrors(app)

  app.post('/req/streamAI', routeTo('ai.complete', options, { body: aiRequest }), async (request, reply) => {
    const { payload } = await readRequest(aiRequest, contextOf, request, reply)
    const { model, stream, tools } = payload
    const author = await authorOf(createCaller(await contextOf(request, reply)))
    const lines = new AiLines({ author, model, tools: tools ?? [] }, request.id)
    const inTheirWords = (error: unknown) =>
      stream ? reply.type('text/event-stream; charset=utf-8').send(lines.failed(error)) : failed(error, request.id)
    const input = coreRequestOf(payload)
    const frames = stream ? lines : undefined
    try {
      return await answer(request, reply, { contextOf, heartbeat, input, whole, frames })
    } catch (error) {
      if (!providersFailures.includes(failureOf(error).code)) throw remapIssues(error, fieldAt)
      return inTheirWords(error)
    }
  })
}

const providersFailures: readonly string[] = [
  ...['provider_failed', 'provider_refused', 'provider_rate_limited'],
  ...['provider_quota_exceeded', 'provider_misconfigured', 'context_length_exceeded'],
]

/** These front ends read what a provider did wrong from an answer with 200. */
function failed(thrown: unknown, requestId: string) {
  const { code, message } = failureOf(thrown)
  return { success: false, error: message, code, requestId }
}

/** The AI user, whose message the answer becomes. */
async function authorOf(api: Api) {
  const user = await api.users.get({ id: AI_USER })
  return { username: user.username, name: user.displayName, avatar_url: pictureAddress(user) }
}

/** JSON within JSON, as these front ends expect it. */
function whole({ content, finish }: WholeAnswer) {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (finish === 'content-filter' && text === '') throw new Problem('provider_refused')
  return { success: true, content: JSON.stringify({ text }) }
}

const AI_USER = '1'
