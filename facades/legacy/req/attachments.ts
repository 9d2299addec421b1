import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { withCallOptions } from '../../../routers/core/context.ts'
import { createCaller } from '../../../routers/index.ts'
import { readUpload } from '../../http/forms.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { parseBody } from './errors.ts'
import { toFileAddress } from './shapes.ts'

const fileForm = z.object({ file: z.file() })
const fileSelector = z.object({ fileId: z.uuid() })

/** Registers the routes for the files of messages below a path: their upload, address and deletion. */
export function registerAttachmentRoutes(
  app: FastifyInstance,
  options: FacadeOptions,
  path: string,
  upload: string,
): void {
  const { resolveContext } = options

  const uploadOptions = procedureRoute('attachments.upload', options, { body: fileForm })
  const streamOptions = { ...uploadOptions, config: { ...uploadOptions.config, readsForm: true } }
  app.post(`${path}${upload}`, streamOptions, async (request, reply) => {
    const { data } = await uploadFile(request, reply, options)
    return { success: true, uuid: data.uuid }
  })

  app.get<{ Params: { uuid: string } }>(
    `${path}/getLink/:uuid`,
    procedureRoute('attachments.find', options),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const [file] = await api.attachments.find({ uuids: [request.params.uuid] })
      return { success: true, url: file ? toFileAddress(file.identifier) : null }
    },
  )

  app.delete(
    `${path}/delete`,
    procedureRoute('attachments.delete', options, { body: fileSelector }),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const { fileId } = parseBody(fileSelector, request)
      for (const { id } of await api.attachments.find({ uuids: [fileId] })) await api.attachments.delete({ id })
      return { success: true }
    },
  )
}

/** Stores the file of a form. */
async function uploadFile(request: FastifyRequest, reply: FastifyReply, { resolveContext }: FacadeOptions) {
  const ctx = await resolveContext(request, reply)
  const { input, file } = await readUpload(request)
  return createCaller(withCallOptions(ctx, { file })).attachments.upload(input as { name: string })
}
