import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Api, createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { bodyIn } from './errors.ts'
import {
  attachmentIds,
  flag,
  messageContent,
  olderContent,
  olderTime,
  pictureAddress,
  sealedText,
  whole,
} from './shapes.ts'

type Message = Awaited<ReturnType<Api['conversations']['sendMessage']>>
type Params = { Params: { slug: string } }

/** What older front ends call tools, parameters and sources; what else they keep beside is not kept. */
const metadata = z.object({ tools: z.json().optional(), params: z.json().optional(), citations: z.json().optional() })

const parts = {
  isAi: flag,
  content: messageContent,
  metadata: metadata.nullish(),
  model: z.string().nullish(),
  completion: flag,
}

const newMessage = z.object({ ...parts, threadId: whole })
const changedMessage = z.object({ ...parts, message_id: z.string() })
const chosenMessage = z.object({ message_id: z.string().min(5) })

/** Routes for the messages of private conversations. */
export function conversationMessages(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.post<Params>(
    '/req/conv/sendMessage/:slug',
    routeTo('conversations.sendMessage', options, { body: newMessage }),
    async (request, reply) => {
      const api = createCaller(await contextOf(request, reply))
      const { threadId: thread, ...body } = bodyIn(newMessage, request)
      const { attachments, ...message } = await messageOf(api, body)
      const { slug } = request.params
      const sent = await api.conversations.sendMessage({ slug, thread, ...message, attachments: attachments ?? [] })
      return { success: true, messageData: olderMessage(sent) }
    },
  )

  app.post<Params>(
    '/req/conv/updateMessage/:slug',
    routeTo('conversations.updateMessage', options, { body: changedMessage }),
    async (request, reply) => {
      const api = createCaller(await contextOf(request, reply))
      const { message_id: number, ...body } = bodyIn(changedMessage, request)
      const { slug } = request.params
      const changed = await api.conversations.updateMessage({ slug, number, ...(await messageOf(api, body)) })
      return { success: true, messageData: asRow(changed), legacyResource: olderMessage(changed) }
    },
  )

  app.delete<Params>(
    '/req/conv/message/delete/:slug',
    routeTo('conversations.deleteMessage', options, { body: chosenMessage }),
    async (request, reply) => {
      const { message_id: number } = bodyIn(chosenMessage, request)
      const { slug } = request.params
      await createCaller(await contextOf(request, reply)).conversations.deleteMessage({ slug, number })
      return { success: true }
    },
  )
}

async function messageOf(api: Api, body: Omit<z.output<typeof newMessage>, 'threadId'>) {
  const { isAi, content, metadata, model, completion: isComplete } = body
  return {
    role: isAi ? ('assistant' as const) : ('user' as const),
    content: sealedText(content),
    isComplete,
    attachments: await attachmentIds(api, content),
    ...(metadata !== undefined && { metadata }),
    ...(model !== undefined && { model }),
  }
}

/** A message as older front ends read it. */
export function olderMessage(message: Message) {
  const { role, number, author, model, content, metadata, isComplete, attachments, createdAt, updatedAt } = message
  const { tools = null, params = null, citations = null } = metadata ?? {}
  return {
    message_role: role,
    message_id: number,
    author: { username: author.username, name: author.displayName, avatar_url: pictureAddress(author) },
    model,
    content: olderContent(content, 'private', attachments),
    metadata: { tools, params, citations },
    completion: isComplete,
    created_at: olderTime(createdAt),
    updated_at: olderTime(updatedAt),
  }
}

/** The columns that the table of messages has always had. */
function asRow(message: Message) {
  const { id, conversationId, author, model, metadata } = message
  const { message_role, message_id, content, completion, created_at, updated_at } = olderMessage(message)
  const { ciphertext, iv, tag } = content.text
  return {
    id: Number(id),
    conv_id: Number(conversationId),
    user_id: Number(author.id),
    message_role,
    message_id,
    model,
    iv,
    tag,
    content: ciphertext,
    completion,
    metadata,
    created_at,
    updated_at,
  }
}
