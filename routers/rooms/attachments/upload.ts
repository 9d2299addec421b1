import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { MIN_COUNTED_BYTES, sumFilesOfUploader } from '../../../entities/rooms/attachment.sql.ts'
import { Attachment } from '../../../entities/rooms/attachment.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { Context } from '../../core/context.ts'
import { FileInspector } from '../../core/files/file-inspector.ts'
import type { FileKind } from '../../core/files/file-kind.ts'
import { RandomAccessFile } from '../../core/files/random-access-file.ts'
import { createTooLargeProblem, withUploadTimeout } from '../../core/incoming-file.ts'
import { createQuotaProblem, Problem } from '../../core/problems.ts'
import { createTransactionSql, runStatement } from '../../core/run-statement.ts'
import type { StoredFile } from '../../ports/files/file-store.ts'
import type { RecordOf } from '../../resource/record.ts'
import { translateConstraintError } from '../../verbs/constraint-errors.ts'
import { getRow } from '../../verbs/read.ts'
import { attachments } from './attachments.ts'

const fileName = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .regex(/^[^/\\]*$/, { error: 'must be the name of a file, without a folder' })
  .regex(/^\P{Cc}*$/u, { error: 'must have no control characters' })
  .regex(/^[^\u202A-\u202E\u2066-\u2069]*$/, { error: 'must have no characters that turn the direction of text' })

/** A boolean, also as text, because form fields are text. */
const flag = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => String(value) === 'true')

export const uploadInput = z.strictObject({
  name: fileName.describe('The name of the file.'),
  clientEncrypted: flag
    .default(false)
    .describe('True if the bytes are ciphertext that a browser made. They are stored unchanged.'),
})

type UploadInput = z.output<typeof uploadInput>

/** The largest size of the form fields beside the file. */
const FORM_BYTES = 64 * 1024

/** Stores the uploaded file and creates its attachment. */
export async function upload(
  ctx: Context,
  person: number,
  { name, clientEncrypted }: UploadInput,
): Promise<RecordOf<typeof attachments>> {
  const { settings } = ctx.services
  const { attachments: files } = ctx.services.files
  const { uploads } = ctx.services.limits
  const { file: incoming } = ctx
  if (!incoming) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'is required' }] })
  using _slot = uploads.acquire(`${person}`)
  const inspector = new FileInspector(settings.public.files, clientEncrypted)
  if (incoming.announced > settings.public.files.maxFileSize + FORM_BYTES)
    throw createTooLargeProblem(settings.public.files)
  await assertWithinQuota(ctx, ctx.services.sql, person, 1)
  const file = await files.write(inspector.inspect(withUploadTimeout(ctx, incoming.content)))
  const id = await inspector
    .detectKind(new RandomAccessFile(file.bytes, (range) => files.read(file, range)))
    .then((kind) => storeAttachment(ctx, { person, name, clientEncrypted, file, kind }))
    .catch(async (error: unknown) => {
      // After a lost connection the row may exist; the cleanup decides then.
      if (error instanceof Problem) await files.remove([file.name])
      throw error
    })
  return getRow(ctx, attachments, String(id))
}

interface NewAttachment {
  person: number
  name: string
  clientEncrypted: boolean
  file: StoredFile
  kind: FileKind
}

/** Creates the attachment; throws if the person was erased in the meantime. */
function storeAttachment(ctx: Context, { person, name, clientEncrypted, file, kind }: NewAttachment): Promise<number> {
  const writing = ctx.em().transactional(async (em) => {
    // The lock keeps two uploads from exceeding the quota together.
    await runStatement(em, lockPerson, [person])
    const { pending } = await assertWithinQuota(ctx, createTransactionSql(em), person, file.bytes)
    const { name: uuid, bytes, sealedKey } = file
    const mayHaveText = !clientEncrypted && ctx.services.files.textExtractor.canRead(kind.mime)
    const textState = mayHaveText ? 'pending' : 'none'
    const facts = { uuid, name, ...kind, bytes, clientEncrypted, sealedKey, textState } as const
    const row = em.create(Attachment, { uploader: person, ...facts })
    await em.flush()
    // Jobs of people who upload many files have a lower priority.
    const job = { input: { attachmentId: row.id }, priority: -pending }
    if (mayHaveText) await ctx.services.process.jobQueue.enqueue(em, 'extract-text', job)
    return row.id
  })
  return writing.catch(translateConstraintError)
}

async function assertWithinQuota({ services }: Context, sql: Sql, person: number, additionalBytes: number) {
  const { bytesPerPerson, perPerson } = services.settings.attachments
  const [usage = { files: 0, bytes: 0, pending: 0 }] = await sql(sumFilesOfUploader, [person])
  if (usage.files >= perPerson) throw createQuotaProblem(`A person keeps at most ${perPerson} files.`)
  if (usage.bytes + Math.max(additionalBytes, MIN_COUNTED_BYTES) <= bytesPerPerson) return usage
  throw createQuotaProblem(`A person keeps at most ${bytesPerPerson} bytes of files.`)
}
