import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { bodyLimitOf, type FacadeOptions, procedureAt, routeTo } from '../../http/procedures.ts'
import { inShape } from './errors.ts'
import { type InRoom, roomOf } from './find.ts'
import { roomPicture } from './room-shapes.ts'

const text = z.string().nullish()
const settings = z.object({ name: text, description: text, system_prompt: text, image: text })
const picture = z.object({ image: z.string({ error: 'must be a file' }) })

/** Routes for what a room says of itself, and its picture. */
export function roomPictures(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf, bodyLimits } = options
  const maxBytes = bodyLimitOf(procedureAt('rooms.update'), bodyLimits)

  app.post<InRoom>('/req/room/updateInfo/:slug', routeTo('rooms.update', options), async (request, reply) => {
    const { api, room } = await roomOf(request, reply, contextOf)
    const { name, description, system_prompt, image } = await formIn(settings, request, maxBytes)
    // An empty name is none; an empty text clears what was there.
    await api.rooms.update({
      id: room.id,
      ...(name && { name }),
      ...(description !== undefined && { roomDescription: description || null }),
      ...(system_prompt !== undefined && { systemPrompt: system_prompt || null }),
      ...(image && { avatar: image }),
    })
    return { success: true, response: 'Info updated successfully' }
  })

  app.post<InRoom>('/req/room/uploadAvatar/:slug', routeTo('rooms.update', options), async (request, reply) => {
    const { api, room } = await roomOf(request, reply, contextOf)
    const { image } = await formIn(picture, request, maxBytes)
    const changed = await api.rooms.update({ id: room.id, avatar: image })
    return { success: true, url: roomPicture(changed), uuid: changed.avatar }
  })
}

/** The fields of a form, its file as base64; or a body of JSON. */
const formIn = async <S extends z.ZodType>(
  schema: S,
  request: FastifyRequest,
  maxBytes: number,
): Promise<z.output<S>> => inShape(schema, request.isMultipart() ? await fieldsOf(request, maxBytes) : request.body)

async function fieldsOf(request: FastifyRequest, fileSize: number): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  const limits = { fields: 10, fieldNameSize: 100, fieldSize: 200_000, files: 1, parts: 11, headerPairs: 20, fileSize }
  try {
    for await (const part of request.parts({ limits }))
      fields[part.fieldname] = part.type === 'file' ? (await part.toBuffer()).toString('base64') : part.value
  } catch (error) {
    const isTooLarge = (error as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE'
    throw new Problem(isTooLarge ? 'too_large' : 'invalid_document', { cause: error })
  }
  return fields
}
