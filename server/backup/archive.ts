import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { BackupSummary } from '../../routers/ports/backups.ts'
import type { Vault } from '../../routers/ports/vault.ts'
import { announcementsFolder } from '../config/announcement-texts.ts'
import type { Env } from '../config/settings.ts'
import { resolveAccountsPath } from '../login/accounts.ts'

/** A part of a backup in `manifest.json`: its file below the folder, its size and its digest. */
const part = z.object({ path: z.string(), bytes: z.int(), sha256: z.string() })
const table = part.extend({ name: z.string(), columns: z.array(z.string()), rows: z.int() })

const manifest = z.object({
  format: z.literal(1),
  createdAt: z.string(),
  /** Version of the service. */
  version: z.string(),
  postgres: z.string(),
  schema: z.string(),
  tables: z.array(table),
  sequences: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Stored files by key. Files in a bucket are only named; their digest is null. */
  files: z.array(z.object({ key: z.string(), bytes: z.int(), sha256: z.string().nullable() })),
  /** Local accounts and texts of announcements, by their paths below `state`. */
  state: z.array(part),
})

export type Manifest = z.infer<typeof manifest>
export type Part = z.infer<typeof part>

export const summarize = ({ createdAt, schema, tables, files }: Manifest): BackupSummary => ({
  createdAt,
  schema,
  tables: tables.length,
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  files: files.length,
  bytes: files.reduce((sum, { bytes, sha256 }) => sum + (sha256 === null ? 0 : bytes), 0),
})

/** Purpose of the seal, which only the application key of the installation opens. */
const PURPOSE = 'backup'

export type SealingKeys = { vault: Vault; env: Env }

/** Hashes the salts. Without the same salts nobody's keychain opens, even if the backup is intact. */
const hashSalts = ({ USERDATA_ENCRYPTION_SALT, INVITATION_SALT, AI_CRYPTO_SALT, PASSKEY_SALT, BACKUP_SALT }: Env) =>
  digest(JSON.stringify([USERDATA_ENCRYPTION_SALT, INVITATION_SALT, AI_CRYPTO_SALT, PASSKEY_SALT, BACKUP_SALT]))

const digest = (text: string) => createHash('sha256').update(text).digest('hex')

export async function writeManifest(folder: string, content: Manifest, { vault, env }: SealingKeys): Promise<void> {
  const text = JSON.stringify(content)
  const seal = vault.seal(JSON.stringify({ manifest: digest(text), salts: hashSalts(env) }), PURPOSE)
  await writeFile(join(folder, 'manifest.json'), text, { mode: 0o600, flush: true })
  await writeFile(join(folder, 'seal'), seal, { mode: 0o600, flush: true })
}

/** Reads the manifest; throws an error if it is not a backup of this service, was changed, or belongs to other keys. */
async function readManifest(folder: string, { vault, env }: SealingKeys): Promise<Manifest> {
  const [text, seal] = await Promise.all([readText(join(folder, 'manifest.json')), readText(join(folder, 'seal'))])
  if (text === undefined || seal === undefined) throw new Error(`${folder} is no backup, or its end was never written.`)
  const sealed = openSeal(vault, seal)
  if (sealed.manifest !== digest(text)) throw new Error(`The manifest of ${folder} is not the one that was written.`)
  if (sealed.salts !== hashSalts(env))
    throw new Error(
      'The salts (USERDATA_ENCRYPTION_SALT, INVITATION_SALT, AI_CRYPTO_SALT, PASSKEY_SALT, BACKUP_SALT) are not those of the backup.',
    )
  const read = manifest.safeParse(JSON.parse(text))
  if (!read.success) throw new Error(`The backup in ${folder} has another format, perhaps of a newer version.`)
  return read.data
}

const readText = (path: string) => readFile(path, 'utf8').catch(() => undefined)

function openSeal(vault: Vault, seal: string): { manifest: string; salts: string } {
  try {
    return JSON.parse(vault.open(seal, PURPOSE)) as { manifest: string; salts: string }
  } catch (cause) {
    throw new Error(
      'The seal of the backup does not open: APP_KEY, or app.key in DATA_DIR, is not that of its installation, or the seal was changed.',
      { cause },
    )
  }
}

/** Reads and checks all parts of a backup; throws an error about the first one that is not as it was written. */
export async function verifyBackup(folder: string, keys: SealingKeys, signal?: AbortSignal): Promise<Manifest> {
  const content = await readManifest(folder, keys)
  for (const each of listParts(content)) {
    signal?.throwIfAborted()
    await verifyPart(folder, each)
  }
  return content
}

/** Returns the path of a stored file in a backup. */
export const filePath = (key: string) => `files/${key}`

const listParts = ({ tables, files, state }: Manifest): Part[] => [
  ...tables,
  ...state,
  ...files.flatMap(({ key, bytes, sha256 }) => (sha256 === null ? [] : [{ path: filePath(key), bytes, sha256 }])),
]

async function verifyPart(folder: string, { path, bytes, sha256 }: Part): Promise<void> {
  const measure = new DigestMeter()
  measure.resume()
  await pipeline(createReadStream(join(folder, path)), measure).catch((cause: unknown) => {
    throw new Error(`${path} of the backup is missing or cannot be read.`, { cause })
  })
  if (measure.bytes !== bytes || measure.sha256 !== sha256)
    throw new Error(`${path} of the backup is not what was written: it was cut or changed.`)
}

/** Passes bytes through, and computes their number and digest. */
export class DigestMeter extends Transform {
  bytes = 0
  readonly #hash = createHash('sha256')

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length
    this.#hash.update(chunk)
    done(null, chunk)
  }

  /** The digest of all bytes, after the end of the stream. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** Lists files and folders that the service has beside the database, with their names in a backup. */
export const listStateFiles = (env: Env) => [
  { name: 'accounts.json', path: resolveAccountsPath(env) },
  { name: 'announcements', path: announcementsFolder(env) },
]
