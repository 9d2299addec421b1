import { Readable } from 'node:stream'
import { z } from 'zod'
import { BUILT_IN_PICTURE } from '../../../entities/identity/picture.ts'
import { type FileOfAttachment, fileByUuid } from '../../../entities/rooms/attachment.sql.ts'
import type { CompiledStatement, ParameterValues } from '../../../entities/sql/scope.ts'
import { seenPictures } from '../../../entities/views/picture.sql.ts'
import type { Context } from '../../core/context.ts'
import { FileContent } from '../../core/file-content.ts'
import { Problem } from '../../core/problems.ts'
import { keyOfPicture, readPicture } from '../../identity/pictures/picture-files.ts'
import { seesAll, viewerOf } from '../../verbs/viewer.ts'

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** What a stored file is called in addresses: `group-{uuid}.pdf` of an attachment, `profile_avatars-{uuid}` of a picture. */
export const identifier = z
  .string()
  .max(100)
  .regex(new RegExp(`^(?:group|private|profile_avatars|room_avatars)-${UUID}(?:\\.[A-Za-z0-9]{1,10})?$`), {
    error: 'must be the identifier of an attachment or a picture',
  })

/** The file of an identifier, where the caller sees the attachment, the person or the room that has it. */
export function storedContent(ctx: Context, identifier: string): Promise<FileContent> {
  const [, category = '', uuid = ''] = identifier.match(/^(\w+)-(.{36})/) ?? []
  if (category === 'profile_avatars' || category === 'room_avatars') return pictureContent(ctx, category, uuid)
  return openContent(ctx, fileByUuid, { filters: { uuid } })
}

export async function openContent(ctx: Context, by: CompiledStatement<FileOfAttachment>, which: ParameterValues) {
  const [found] = await ctx.services.sql(by.statement, by.values({ ...viewerOf(ctx), ...which }))
  if (!found) throw new Problem('not_found')
  const { uuid, name, mime, bytes, sealedKey } = found
  const file = { name: uuid, bytes, sealedKey }
  return new FileContent({ name, mime, bytes, tag: uuid }, (range) => ctx.services.files.read(file, range))
}

async function pictureContent(ctx: Context, category: keyof typeof seenPictures, uuid: string): Promise<FileContent> {
  const key = keyOfPicture(`${category}-${uuid}`)
  const isBuiltIn = category === 'profile_avatars' && uuid === BUILT_IN_PICTURE
  if (!isBuiltIn && !(await isSeen(ctx, category, key))) throw new Problem('not_found')
  const picture = await readPicture(ctx.services, key, 'large')
  const facts = { name: 'picture.webp', mime: 'image/webp', bytes: picture.length, tag: uuid }
  return new FileContent(facts, (range) => Readable.from([picture.subarray(range?.start, range && range.end + 1)]))
}

async function isSeen(ctx: Context, category: keyof typeof seenPictures, key: string): Promise<boolean> {
  const { all, scoped } = seenPictures[category]
  const { statement, values } = seesAll(ctx) ? all : scoped
  return (await ctx.services.sql(statement, values({ ...viewerOf(ctx), filters: { key } }))).length > 0
}
