import { randomUUID } from 'node:crypto'
import { chown, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lock } from 'proper-lockfile'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { createBulkhead } from '../../routers/core/load/concurrency.ts'
import { makeFolder } from '../../routers/core/make-folder.ts'
import { Problem } from '../../routers/core/problems.ts'
import { personShape } from '../../routers/ports/login.ts'
import type { Env } from '../config/settings.ts'

const accountSchema = z.strictObject({
  /** Permanent id of the person. Accounts that were written by hand may lack it. */
  id: z.uuid().optional(),
  ...personShape,
  hash: z.string().regex(/^\$argon2id\$v=19\$[\w=,]+\$[\w+/]+\$[\w+/]+$/, 'must be an argon2id hash'),
})
export type Account = z.output<typeof accountSchema>

const isUnique = (key: 'id' | 'username' | 'email') => (list: Account[]) => {
  const values = list.flatMap((entry) => entry[key] ?? [])
  return new Set(values).size === values.length
}

const personSchema = z.object(personShape)

const accountsSchema = z
  .array(accountSchema)
  .refine(isUnique('id'), 'no two accounts may have one id')
  .refine(isUnique('username'), 'no two accounts may have one username')
  .refine(isUnique('email'), 'no two accounts may have one e-mail address')

export class AccountsError extends Error {
  override name = 'AccountsError'

  constructor(file: string, problems: string) {
    super(`${file} is not a valid list of accounts.\n${problems}`)
  }
}

/** Returns the path of the file with local accounts. */
export const resolveAccountsPath = (env: Env): string => env.ACCOUNTS_FILE ?? join(env.DATA_DIR, 'accounts.json')

/** Reads the accounts of a JSON or YAML file; none if the file is missing. Throws with all errors in it. */
export async function readAccounts(file: string): Promise<Account[]> {
  const text = await readFile(file, 'utf8').catch(fallbackIfMissing(''))
  return validateAccounts(file, parseAccounts(file, text) ?? [])
}

/** Adds an account with a new id, or replaces the one with its username and keeps its id. */
export async function putAccount(
  file: string,
  person: z.input<typeof personSchema>,
  password: string,
): Promise<Account> {
  return putHashedAccount(file, { ...personSchema.parse(person), hash: await hashPassword(password) })
}

/** Adds an account with a hashed password. The file is replaced atomically. */
export async function putHashedAccount(file: string, account: Account): Promise<Account> {
  const entry = { ...account, id: account.id ?? randomUUID() }
  const list = await updateAccounts(file, (list) => {
    const before = list.find(({ username }) => username === entry.username)
    const others = list.filter((other) => other !== before)
    if (others.some(({ email }) => email === entry.email))
      throw new Problem('conflict', { detail: 'No two accounts may have one e-mail address.' })
    return [...others, { ...entry, ...(before?.id && { id: before.id }) }]
  })
  return list.find(({ username }) => username === entry.username) as Account
}

/** Renames an account; returns false if there is none of this name. */
export async function renameAccount(file: string, from: string, to: string): Promise<boolean> {
  if (!(await readAccounts(file)).some((entry) => entry.username === from)) return false
  await updateAccounts(file, (list) => {
    if (list.some((entry) => entry.username === to))
      throw new Problem('conflict', { detail: 'There is an account with this username already.' })
    return list.map((entry) => (entry.username === from ? { ...entry, username: to } : entry))
  })
  return true
}

/** Sets a password; returns false if there is no such account. */
export async function setAccountPassword(file: string, username: string, password: string): Promise<boolean> {
  const hash = await hashPassword(password)
  let hasAccount = false
  await updateAccounts(file, (list) => {
    hasAccount = list.some((entry) => entry.username === username)
    return list.map((entry) => (entry.username === username ? { ...entry, hash } : entry))
  })
  return hasAccount
}

/** Removes an account; returns false if there is none. The file is not written then, as it may be read-only. */
export async function removeAccount(file: string, username: string): Promise<boolean> {
  if (!(await readAccounts(file)).some((entry) => entry.username === username)) return false
  await updateAccounts(file, (list) => list.filter((entry) => entry.username !== username))
  return true
}

/** Normalizes letters that keyboards encode in several ways. */
const normalizePassword = (password: string) => password.normalize('NFC')

/** Hashing blocks a thread of the pool, so two hashes run at a time and up to 50 wait. */
const hashingQueue = createBulkhead(2, 50)

/** Loads the library with the first password, since most login sources need no hashes here. */
const loadArgon2 = () => import('@node-rs/argon2')

/** Throws if the native part of the library is missing. */
export const assertHashingWorks = async () => void (await loadArgon2())

/** Uses the library's default: argon2id with 19 MiB and two passes. */
export const hashPassword = (password: string) =>
  hashingQueue(async () => (await loadArgon2()).hash(normalizePassword(password)))

export const verifyPassword = (hash: string, password: string) =>
  hashingQueue(async () => (await loadArgon2()).verify(hash, normalizePassword(password)))

/** Edits the file under a lock. Accounts without an id get one. */
async function updateAccounts(file: string, edit: (list: Account[]) => Account[]): Promise<Account[]> {
  await makeFolder(dirname(file))
  const target = await realpath(file).catch(fallbackIfMissing(file))
  const unlock = await lock(target, {
    realpath: false,
    retries: { retries: 100, minTimeout: 20, maxTimeout: 100 },
    // By default the library throws in a timer, which would end the process. The file is replaced atomically anyway.
    onCompromised: () => {},
  })
  try {
    const edited = edit(await readAccounts(target)).map((entry) => ({ id: randomUUID(), ...entry }))
    const list = validateAccounts(file, edited)
    await replaceFile(target, target.endsWith('.json') ? `${JSON.stringify(list, null, 2)}\n` : stringify(list))
    return list
  } finally {
    // A lost lock is released already.
    await unlock().catch(() => {})
  }
}

/** Replaces a file and keeps its owner and mode, so that a command run by root does not lock the service out. */
async function replaceFile(file: string, text: string): Promise<void> {
  const before = await stat(file).catch(fallbackIfMissing(undefined))
  const temporary = `${file}.${randomUUID()}`
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: before ? before.mode & 0o777 : 0o600, flush: true })
    if (before) await chown(temporary, before.uid, before.gid).catch(() => {})
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function parseAccounts(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch {
    // The parser's message quotes the line, which may contain a hash.
    throw new AccountsError(file, 'It is neither JSON nor YAML.')
  }
}

function validateAccounts(file: string, list: unknown): Account[] {
  const result = accountsSchema.safeParse(list)
  if (!result.success) throw new AccountsError(file, z.prettifyError(result.error))
  return result.data
}

const fallbackIfMissing =
  <Fallback>(fallback: Fallback) =>
  (error: NodeJS.ErrnoException): Fallback => {
    if (error.code === 'ENOENT') return fallback
    throw error
  }
