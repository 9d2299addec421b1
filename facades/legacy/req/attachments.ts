import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { readUpload } from '../../http/forms.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { bodyIn } from './errors.ts'
import { fileAddress } from './shapes.ts'

const fileForm = z.object({ file: z.file() })
const chosenFile = z.object({ fileId: z.uuid() })

/** Routes for the files of messages below a path: their upload, address and deletion. */
export function attachmentRoutes(app: FastifyInstance, options: FacadeOptions, path: string, upload: string): void {
  const { contextOf } = options

  const taking = routeTo('attachments.upload', options, { body: fileForm })
  const streamed = { ...taking, config: { ...taking.config, readsForm: true } }
  app.post(`${path}${upload}`, streamed, async (request, reply) => {
    const { data } = await uploadOf(request, reply, options)
    return { success: true, uuid: data.uuid }
  })

  app.get<{ Params: { uuid: string } }>(
    `${path}/getLink/:uuid`,
    routeTo('attachments.find', options),
    async (request, reply) => {
      const api = createCaller(await contextOf(request, reply))
      const [file] = await api.attachments.find({ uuids: [request.params.uuid] })
      return { success: true, url: file ? fileAddress(file.identifier) : null }
    },
  )

  app.delete(`${path}/delete`, routeTo('attachments.delete', options, { body: chosenFile }), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    const { fileId } = bodyIn(chosenFile, request)
    for (const { id } of await api.attachments.find({ uuids: [fileId] })) await api.attachments.delete({ id })
    return { success: true }
  })
}

/** Stores the file of a form. */
async function uploadOf(request: FastifyRequest, reply: FastifyReply, { contextOf }: FacadeOptions) {
  const ctx = await contextOf(request, reply)
  const { input, content } = await readUpload(request)
  if (content) ctx.file = { content, announced: Number(request.headers['content-length'] ?? 0) }
  return createCaller(ctx).attachments.upload(input as { name: string })
}
