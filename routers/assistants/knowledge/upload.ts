import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  deleteUnfinished,
  findEqualFile,
  insertKnowledgeFile,
  type KnowledgeFileState,
  sumKnowledgeFiles,
} from '../../../entities/assistants/knowledge.sql.ts'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context, IncomingFile } from '../../core/context.ts'
import { FileInspector } from '../../core/files/file-inspector.ts'
import { RandomAccessFile } from '../../core/files/random-access-file.ts'
import { createTooLargeProblem, withUploadTimeout } from '../../core/incoming-file.ts'
import { createQuotaProblem, Problem } from '../../core/problems.ts'
import { createTransactionSql, runForOneRow, runStatement } from '../../core/run-statement.ts'
import type { StoredFile } from '../../ports/files/file-store.ts'
import { KNOWLEDGE_FINGERPRINT, type Vault } from '../../ports/vault.ts'
import { assertOwn, lockOwn } from './own-knowledge.ts'

const MAX_PATH = 512

/** The path of a file: names of folders and of the file, with slashes between them. */
export const filePath = z
  .string()
  .min(1)
  .max(MAX_PATH)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line without control characters')
  .regex(/^[^\u202A-\u202E\u2066-\u2069]*$/, 'must have no characters that turn the direction of text')
  .refine(
    (path) =>
      path.split('/').every((part) => part.trim() !== '' && part !== '.' && part !== '..' && !part.includes('\\')),
    'must be a path such as `folder/name.pdf`',
  )

export interface UploadedFile {
  id: number
  state: KnowledgeFileState
  /** False if the knowledge has the same bytes at this path already. */
  isNew: boolean
}

interface Upload {
  owner: number
  knowledgeId: number
  path: string
  file: IncomingFile | undefined
}

/** Stores a file, and has a job read it. The version before it stays searchable until then. */
export async function uploadFile(ctx: Context, { owner, knowledgeId, path, file }: Upload): Promise<UploadedFile> {
  const { settings, sql, limits } = ctx.services
  const rules = settings.public.files
  if (!file) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'is required' }] })
  using _slot = limits.uploads.acquire(`${owner}`)
  if (file.announced > rules.maxFileSize) throw createTooLargeProblem(rules)
  await assertOwn(ctx, owner, knowledgeId)
  await assertWithinQuota(ctx, sql, { owner, knowledgeId, path }, 1)
  const { knowledge: files } = ctx.services.files
  const inspector = new FileInspector(rules, false)
  const hash = createHash('sha256')
  async function* hashed(content: AsyncIterable<Uint8Array>) {
    for await (const part of content) {
      hash.update(part)
      yield part
    }
  }
  const stored = await files.write(inspector.inspect(hashed(withUploadTimeout(ctx, file.content))))
  try {
    const kind = await inspector.detectKind(new RandomAccessFile(stored.bytes, (range) => files.read(stored, range)))
    if (!ctx.services.files.textExtractor.canRead(kind.mime))
      throw new Problem('unsupported_media_type', { detail: 'A file of this kind has no text.' })
    const added = await addFile(ctx, { owner, knowledgeId, path, mime: kind.mime, stored, hash: hash.digest('hex') })
    if (!added.isNew) await files.remove([stored.name])
    return added
  } catch (error) {
    // After a lost connection the row may exist; the cleanup decides then.
    if (error instanceof Problem) await files.remove([stored.name])
    throw error
  }
}

interface NewFile extends Place {
  mime: string
  stored: StoredFile
  /** SHA-256 of the bytes in hexadecimal digits. */
  hash: string
}

function addFile(ctx: Context, { owner, knowledgeId, path, mime, stored, hash }: NewFile): Promise<UploadedFile> {
  return withChangeLog(ctx, async (em, changes) => {
    // The lock keeps two uploads from exceeding the quota together.
    await runStatement(em, lockPerson, [owner])
    await lockOwn(em, owner, knowledgeId)
    const fingerprints = computeFingerprints(ctx.services.vault, hash)
    const [equal] = await runStatement(em, findEqualFile, [knowledgeId, path, fingerprints])
    if (equal) return { ...equal, isNew: false }
    const replaced = await runStatement(em, deleteUnfinished, [knowledgeId, path])
    changes.dropFiles(
      replaced.map(({ uuid }) => uuid),
      'knowledge',
    )
    const place = { owner, knowledgeId, path }
    const { unread } = await assertWithinQuota(ctx, createTransactionSql(em), place, stored.bytes)
    const values = [stored.name, mime, stored.bytes, fingerprints[0], stored.sealedKey]
    const { id } = await runForOneRow(em, insertKnowledgeFile, [knowledgeId, path, ...values])
    // Jobs of people who upload many files have a lower priority.
    const job = { input: { fileId: id }, priority: -unread }
    await ctx.services.process.jobQueue.enqueue(em, 'read-knowledge', job)
    return { id, state: 'waiting' as const, isNew: true }
  })
}

/** Returns the fingerprint by the current application key first, then those by previous ones. */
export const computeFingerprints = (vault: Vault, hash: string): string[] =>
  vault.computeMacs(hash, KNOWLEDGE_FINGERPRINT).map((mac) => mac.toString('hex'))

type Place = Pick<Upload, 'owner' | 'knowledgeId' | 'path'>

/** Leaves out the files at the same path, which the new one replaces, so that a person can also replace at the quota. */
async function assertWithinQuota({ services }: Context, sql: Sql, place: Place, additionalBytes: number) {
  const { bytesPerPerson, filesPerPerson } = services.settings.knowledge
  const [used = { files: 0, bytes: 0, unread: 0 }] = await sql(sumKnowledgeFiles, [
    place.owner,
    place.knowledgeId,
    place.path,
  ])
  if (used.files >= filesPerPerson)
    throw createQuotaProblem(`A person keeps at most ${filesPerPerson} files of knowledge.`)
  if (used.bytes + additionalBytes <= bytesPerPerson) return used
  throw createQuotaProblem(`A person keeps at most ${bytesPerPerson} bytes of knowledge.`)
}
