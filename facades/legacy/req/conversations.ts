import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Api, createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { registerAttachmentRoutes } from './attachments.ts'
import { createErrorHandler, parseAs, parseBody } from './errors.ts'
import {
  findAttachmentIds,
  flag,
  messageContent,
  toLegacyContent,
  toLegacyTime,
  toPictureAddress,
  toSealedText,
  wholeNumber,
} from './shapes.ts'

type Conversation = Awaited<ReturnType<Api['conversations']['get']>>
type Params = { Params: { slug: string } }

/** Legacy names of input members. */
const memberNames = {
  name: ['conv_name'],
  systemPrompt: ['system_prompt'],
  number: ['message_id'],
  thread: ['threadId'],
  content: ['content', 'text'],
  attachments: ['content', 'attachments'],
  page: [],
}

const settings = z.object({ conv_name: z.string().nullish(), system_prompt: z.string().nullish() })

/** The largest and default number of messages in a response. */
const MAX_MESSAGES = 1000

const size = z.coerce.number().int().min(1)
const next = z.string().optional().describe('The `next` of an answer.')
const listQuery = z.object({ size: size.max(200).default(50), after: next })
const messagesQuery = z.object({ size: size.max(MAX_MESSAGES).default(MAX_MESSAGES), before: next })

/** Registers the routes for private conversations with legacy bodies. */
export async function conversations(app: FastifyInstance, options: FacadeOptions) {
  app.setErrorHandler(createErrorHandler(memberNames))
  registerAttachmentRoutes(app, options, '/req/conv/attachment', '/upload')
  registerMessageRoutes(app, options)
  registerReadRoutes(app, options)
  registerChangeRoutes(app, options)
}

function registerReadRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.get('/req/conv', procedureRoute('conversations.list', options, { query: listQuery }), async (request, reply) => {
    const page = parseAs(listQuery, request.query)
    const { data, meta } = await createCaller(await resolveContext(request, reply)).conversations.list({ page })
    return { success: true, data: data.map(toListEntry), next: meta.next }
  })

  app.get<Params>(
    '/req/conv/:slug',
    procedureRoute('conversations.messages', options, { query: messagesQuery }),
    async (request, reply) => {
      const { slug } = request.params
      const page = parseAs(messagesQuery, request.query)
      const api = createCaller(await resolveContext(request, reply)).conversations
      const [conversation, { data, meta }] = await Promise.all([api.get({ slug }), api.messages({ slug, page })])
      return {
        success: true,
        data: { ...toListEntry(conversation), messages: data.map(toLegacyMessage), next: meta.next },
      }
    },
  )
}

function registerChangeRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.post(
    '/req/conv/createChat',
    procedureRoute('conversations.create', options, { body: settings }),
    async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { conv_name: name, system_prompt: systemPrompt } = parseBody(settings, request)
      const made = await createCaller(ctx).conversations.create({
        name: name ?? '',
        systemPrompt: systemPrompt || null,
      })
      const user = ctx.callerContext.current.type === 'user' ? ctx.callerContext.current.person.id : null
      return reply.code(201).send({ success: true, conv: toConversationRow(made, user) })
    },
  )

  app.post<Params>(
    '/req/conv/updateInfo/:slug',
    procedureRoute('conversations.update', options, { body: settings }),
    async (request, reply) => {
      const { conv_name: name, system_prompt: systemPrompt } = parseBody(settings, request)
      // An empty name changes nothing; an empty system prompt clears it.
      await createCaller(await resolveContext(request, reply)).conversations.update({
        slug: request.params.slug,
        ...(name && { name }),
        ...(systemPrompt !== undefined && { systemPrompt: systemPrompt || null }),
      })
      return { success: true, response: 'Info updated successfully' }
    },
  )

  app.delete<Params>(
    '/req/conv/removeConv/:slug',
    procedureRoute('conversations.delete', options),
    async (request, reply) => {
      await createCaller(await resolveContext(request, reply)).conversations.delete({ slug: request.params.slug })
      return { success: true, message: 'Conv deleted successfully' }
    },
  )
}

const toListEntry = ({ id, name, slug, systemPrompt }: Conversation) => ({
  id: Number(id),
  name,
  slug,
  system_prompt: systemPrompt,
})

const toConversationRow = (
  { id, name, slug, systemPrompt, createdAt, updatedAt }: Conversation,
  user: number | null,
) => ({
  id: Number(id),
  conv_name: name,
  slug,
  user_id: user,
  system_prompt: systemPrompt,
  created_at: createdAt,
  updated_at: updatedAt,
})

type Message = Awaited<ReturnType<Api['conversations']['sendMessage']>>

/** The legacy metadata: tools, parameters and citations; other members are dropped. */
const metadata = z.object({ tools: z.json().optional(), params: z.json().optional(), citations: z.json().optional() })

const messageMembers = {
  isAi: flag,
  content: messageContent,
  metadata: metadata.nullish(),
  model: z.string().nullish(),
  completion: flag,
}

const newMessage = z.object({ ...messageMembers, threadId: wholeNumber })
const changedMessage = z.object({ ...messageMembers, message_id: z.string() })
const messageSelector = z.object({ message_id: z.string().min(5) })

/** Registers the routes for messages of private conversations. */
function registerMessageRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.post<Params>(
    '/req/conv/sendMessage/:slug',
    procedureRoute('conversations.sendMessage', options, { body: newMessage }),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const { threadId: thread, ...body } = parseBody(newMessage, request)
      const { attachments, ...message } = await toMessage(api, body)
      const { slug } = request.params
      const sent = await api.conversations.sendMessage({ slug, thread, ...message, attachments: attachments ?? [] })
      return { success: true, messageData: toLegacyMessage(sent) }
    },
  )

  app.post<Params>(
    '/req/conv/updateMessage/:slug',
    procedureRoute('conversations.updateMessage', options, { body: changedMessage }),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const { message_id: number, ...body } = parseBody(changedMessage, request)
      const { slug } = request.params
      const changed = await api.conversations.updateMessage({ slug, number, ...(await toMessage(api, body)) })
      return { success: true, messageData: toMessageRow(changed), legacyResource: toLegacyMessage(changed) }
    },
  )

  app.delete<Params>(
    '/req/conv/message/delete/:slug',
    procedureRoute('conversations.deleteMessage', options, { body: messageSelector }),
    async (request, reply) => {
      const { message_id: number } = parseBody(messageSelector, request)
      const { slug } = request.params
      await createCaller(await resolveContext(request, reply)).conversations.deleteMessage({ slug, number })
      return { success: true }
    },
  )
}

async function toMessage(api: Api, body: Omit<z.output<typeof newMessage>, 'threadId'>) {
  const { isAi, content, metadata, model, completion: isComplete } = body
  return {
    role: isAi ? ('assistant' as const) : ('user' as const),
    content: toSealedText(content),
    isComplete,
    attachments: await findAttachmentIds(api, content),
    ...(metadata !== undefined && { metadata }),
    ...(model !== undefined && { model }),
  }
}

/** Converts a message to its legacy form. */
function toLegacyMessage(message: Message) {
  const { role, number, author, model, content, metadata, isComplete, attachments, createdAt, updatedAt } = message
  const { tools = null, params = null, citations = null } = metadata ?? {}
  return {
    message_role: role,
    message_id: number,
    author: { username: author.username, name: author.displayName, avatar_url: toPictureAddress(author) },
    model,
    content: toLegacyContent(content, 'private', attachments),
    metadata: { tools, params, citations },
    completion: isComplete,
    created_at: toLegacyTime(createdAt),
    updated_at: toLegacyTime(updatedAt),
  }
}

/** Converts a message to the columns of the legacy table. */
function toMessageRow(message: Message) {
  const { id, conversationId, author, model, metadata } = message
  const { message_role, message_id, content, completion, created_at, updated_at } = toLegacyMessage(message)
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
