import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { bodyIn } from './errors.ts'
import { type InRoom, roomOf } from './find.ts'
import { pictureUuid, roomPicture } from './room-shapes.ts'
import { picture } from './shapes.ts'

const text = z.string().nullish()
const settings = z.object({ name: text, description: text, system_prompt: text, image: text })

/** Routes for what a room says of itself, and its picture. */
export function roomPictures(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.post<InRoom>(
    '/req/room/updateInfo/:slug',
    routeTo('rooms.update', options, { body: settings }),
    async (request, reply) => {
      const { api, room } = await roomOf(request, reply, contextOf)
      const { name, description, system_prompt, image } = bodyIn(settings, request)
      // An empty name is none; an empty text clears what was there.
      await api.rooms.update({
        id: room.id,
        ...(name && { name }),
        ...(description !== undefined && { roomDescription: description || null }),
        ...(system_prompt !== undefined && { systemPrompt: system_prompt || null }),
        ...(image && { avatar: image }),
      })
      return { success: true, response: 'Info updated successfully' }
    },
  )

  app.post<InRoom>(
    '/req/room/uploadAvatar/:slug',
    routeTo('rooms.update', options, { body: picture }),
    async (request, reply) => {
      const { api, room } = await roomOf(request, reply, contextOf)
      const { image } = bodyIn(picture, request)
      const changed = await api.rooms.update({ id: room.id, avatar: image })
      return { success: true, url: roomPicture(changed), uuid: pictureUuid(changed) }
    },
  )
}
