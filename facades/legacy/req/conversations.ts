import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Api, createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { attachmentRoutes } from './attachments.ts'
import { conversationMessages, olderMessage } from './conversation-messages.ts'
import { bodyIn, errorHandler, inShape } from './errors.ts'

type Conversation = Awaited<ReturnType<Api['conversations']['get']>>
type Params = { Params: { slug: string } }

/** What these routes call the members of our inputs. */
const words = {
  name: ['conv_name'],
  systemPrompt: ['system_prompt'],
  number: ['message_id'],
  thread: ['threadId'],
  content: ['content', 'text'],
  attachments: ['content', 'attachments'],
  page: [],
}

const settings = z.object({ conv_name: z.string().nullish(), system_prompt: z.string().nullish() })

/** How many messages an answer has at most, and where the request gives no size. */
const WHOLE = 1000

const size = z.coerce.number().int().min(1)
const next = z.string().optional().describe('The `next` of an answer.')
const ofList = z.object({ size: size.max(200).default(50), after: next })
const ofMessages = z.object({ size: size.max(WHOLE).default(WHOLE), before: next })

/** Routes for private conversations, with the bodies that existing front ends expect. */
export async function conversations(app: FastifyInstance, options: FacadeOptions) {
  app.setErrorHandler(errorHandler(words))
  attachmentRoutes(app, options, '/req/conv/attachment', '/upload')
  conversationMessages(app, options)
  readRoutes(app, options)
  changeRoutes(app, options)
}

function readRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.get('/req/conv', routeTo('conversations.list', options, { query: ofList }), async (request, reply) => {
    const page = inShape(ofList, request.query)
    const { data, meta } = await createCaller(await contextOf(request, reply)).conversations.list({ page })
    return { success: true, data: data.map(inList), next: meta.next }
  })

  app.get<Params>(
    '/req/conv/:slug',
    routeTo('conversations.messages', options, { query: ofMessages }),
    async (request, reply) => {
      const { slug } = request.params
      const page = inShape(ofMessages, request.query)
      const api = createCaller(await contextOf(request, reply)).conversations
      const [conversation, { data, meta }] = await Promise.all([api.get({ slug }), api.messages({ slug, page })])
      return { success: true, data: { ...inList(conversation), messages: data.map(olderMessage), next: meta.next } }
    },
  )
}

function changeRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.post(
    '/req/conv/createChat',
    routeTo('conversations.create', options, { body: settings }),
    async (request, reply) => {
      const ctx = await contextOf(request, reply)
      const { conv_name: name, system_prompt: systemPrompt } = bodyIn(settings, request)
      const made = await createCaller(ctx).conversations.create({
        name: name ?? '',
        systemPrompt: systemPrompt || null,
      })
      const user = ctx.callerContext.current.type === 'user' ? ctx.callerContext.current.person.id : null
      return reply.code(201).send({ success: true, conv: asRow(made, user) })
    },
  )

  app.post<Params>(
    '/req/conv/updateInfo/:slug',
    routeTo('conversations.update', options, { body: settings }),
    async (request, reply) => {
      const { conv_name: name, system_prompt: systemPrompt } = bodyIn(settings, request)
      // An empty name is none; an empty system prompt clears it.
      await createCaller(await contextOf(request, reply)).conversations.update({
        slug: request.params.slug,
        ...(name && { name }),
        ...(systemPrompt !== undefined && { systemPrompt: systemPrompt || null }),
      })
      return { success: true, response: 'Info updated successfully' }
    },
  )

  app.delete<Params>('/req/conv/removeConv/:slug', routeTo('conversations.delete', options), async (request, reply) => {
    await createCaller(await contextOf(request, reply)).conversations.delete({ slug: request.params.slug })
    return { success: true, message: 'Conv deleted successfully' }
  })
}

const inList = ({ id, name, slug, systemPrompt }: Conversation) => ({
  id: Number(id),
  name,
  slug,
  system_prompt: systemPrompt,
})

const asRow = ({ id, name, slug, systemPrompt, createdAt, updatedAt }: Conversation, user: number | null) => ({
  id: Number(id),
  conv_name: name,
  slug,
  user_id: user,
  system_prompt: systemPrompt,
  created_at: createdAt,
  updated_at: updatedAt,
})
