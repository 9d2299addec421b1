import { createWriteStream, rmSync } from 'node:fs'
import { rename, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { chooseUser, userFlags } from '../user-flags.ts'

export const exportUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Order a copy of all data of a user, which they then find in their settings.' },
    args: {
      ...userFlags,
      file: { type: 'string', description: 'Write the copy into this file instead, for somebody who cannot sign in.' },
      json,
    },
    async run({ args }) {
      const user = await chooseUser(context, args)
      if (args.file !== undefined) return writeArchive(context, user, resolve(args.file))
      const record = await context.open(({ host }) => host.personExports.requestFor({ user }))
      const text = `A copy of the data of ${record.username} is being made. They find it in their settings, for 48 hours.`
      return context.print({ record, text })
    },
  })

async function writeArchive(context: CommandContext, user: Awaited<ReturnType<typeof chooseUser>>, path: string) {
  if (await stat(path).catch(() => undefined)) throw new UsageError(`${path} is there already.`)
  const record = await context.open(async ({ host }) => {
    const { username, content } = await host.personExports.write({ user })
    // An incomplete file has another name than a complete one.
    const draft = `${path}.part`
    const file = createWriteStream(draft, { mode: 0o600, flush: true })
    // An interrupted command exits without running the code below, so the draft is also removed at exit.
    const removeDraft = () => rmSync(draft, { force: true })
    process.once('exit', removeDraft)
    try {
      await pipeline(content, file)
      await rename(draft, path)
    } catch (error) {
      removeDraft()
      throw error
    } finally {
      process.off('exit', removeDraft)
    }
    return { username, file: path, bytes: file.bytesWritten }
  })
  context.print({ record, text: `The data of ${record.username} is in ${path}.` })
}
