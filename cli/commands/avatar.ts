import { readFile } from 'node:fs/promises'
import { defineCommand } from 'citty'
import { z } from 'zod'
import { json, type Session } from '../command-context.ts'

export const updateAvatar = (session: Session) =>
  defineCommand({
    meta: { description: 'Replace the avatar of the AI user by an image' },
    args: {
      path: { type: 'positional', required: false, description: 'The image: PNG, JPEG, WebP, GIF or AVIF' },
      json,
    },
    async run({ args }) {
      const path = await session.ask.text({
        flag: 'PATH',
        given: args.path,
        message: 'Path of the image',
        schema: z.string().min(1, 'must not be empty'),
      })
      const image = await readFile(path, 'base64')
      const record = await session.open(({ host }) => host.admin.updateAiAvatar({ image }))
      session.tell({ record, words: 'The avatar of the AI user is replaced.' })
    },
  })
