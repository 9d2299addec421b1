import { readFile } from 'node:fs/promises'
import { defineCommand } from 'citty'
import { z } from 'zod'
import { type CommandContext, json } from '../command-context.ts'

export const updateAvatarCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Replace the avatar of the AI user by an image.' },
    args: {
      path: { type: 'positional', required: false, description: 'The image file: PNG, JPEG, WebP, GIF or AVIF.' },
      json,
    },
    async run({ args }) {
      const path = await context.prompts.askText({
        flag: 'PATH',
        value: args.path,
        message: 'Path of the image',
        schema: z.string().min(1, 'must not be empty'),
      })
      const image = await readFile(path, 'base64')
      const record = await context.open(({ host }) => host.admin.updateAiAvatar({ image }))
      context.print({ record, text: 'The avatar of the AI user is replaced.' })
    },
  })
