import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { LocalAccounts } from '../../routers/ports/local-accounts.ts'
import type { Log } from '../../routers/ports/log.ts'
import { type Identity, personShape } from '../../routers/ports/login.ts'
import {
  type Account,
  AccountsError,
  hashPassword,
  putAccount,
  readAccounts,
  removeAccount,
  renameAccount,
  setAccountPassword,
  verifyPassword,
} from './accounts.ts'

export interface LocalOptions {
  file: string
  inUse: boolean
  /** True if accounts with example addresses, such as ada@example.org, may sign in. */
  allowExamples: boolean
}

export interface OpenedLocalAccounts extends LocalAccounts {
  /** Throws if the file is invalid, or has only accounts of the example. */
  assertUsable(): Promise<void>
}

/** Creates the source for the accounts of a file, which is read again when it changes. */
export function createLocalAccounts(options: LocalOptions, log: Log): OpenedLocalAccounts {
  const { file, inUse, allowExamples } = options
  const read = createAccountsReader(options, log)

  /** Logs an error of the file for the operator; callers only learn that the service is unavailable. */
  const hideErrors = <T>(task: Promise<T>): Promise<T> =>
    task.catch((error: unknown) => {
      if (error instanceof Problem) throw error
      log.error({ error }, 'the accounts file cannot be used')
      throw new Problem('unavailable', { detail: UNUSABLE, cause: error })
    })
  const find = async (username: string) => (await hideErrors(read())).get(normalizeUsername(username))
  // Verified for unknown accounts, so that they take as long as a wrong password.
  const createDummyHash = lazyPromise(() => hashPassword(randomUUID()))

  return {
    inUse,
    async assertUsable() {
      const list = await readAccounts(file)
      if (!allowExamples && list.length > 0 && list.every(isExample)) throw new AccountsError(file, ONLY_EXAMPLES)
    },
    async verify(name, password) {
      const account = await find(name)
      const dummyHash = await createDummyHash()
      const matches = await verifyPassword(account?.hash ?? dummyHash, password)
      if (!account || !matches) return undefined
      return toIdentity(account)
    },
    has: async (username) => (await find(username)) !== undefined,
    async knows(username, subject) {
      const account = await find(username)
      const identity = account && toIdentity(account)
      return identity !== undefined && [identity.subject, identity.formerSubject].includes(subject)
    },
    async add(person, password) {
      if (!allowExamples && isExample(person)) throw new Problem('invalid', { detail: NO_EXAMPLES })
      if (!z.object(personShape).safeParse(person).success) throw new Problem('invalid', { detail: NO_IDENTITY })
      return toIdentity(await hideErrors(putAccount(file, person, password))).subject
    },
    setPassword: async (username, password) =>
      (await find(username)) !== undefined &&
      hideErrors(setAccountPassword(file, normalizeUsername(username), password)),
    rename: (from, to) => hideErrors(renameAccount(file, from, to)),
    remove: (username) => hideErrors(removeAccount(file, normalizeUsername(username))),
  }
}

const UNUSABLE = 'The accounts cannot be read or changed at the moment. Please contact your administrator.'
const NO_EXAMPLES = 'An account with an address for examples, as at example.org, cannot sign in in production.'
const NO_IDENTITY = 'An account needs a username, an e-mail address and a name of one line.'
const ONLY_EXAMPLES = 'Production does not take accounts of the example, with addresses at example.org.'

function toIdentity({ hash: _, id, ...person }: Account): Identity {
  const byName = `local:username ${person.username}`
  return id === undefined
    ? { subject: byName, ...person }
    : { subject: `local:${id}`, formerSubject: byName, ...person }
}

const normalizeUsername = (input: string) => input.trim().toLowerCase().normalize('NFC')

/** Reads the file again whenever it has changed. */
function createAccountsReader({ file, allowExamples }: LocalOptions, log: Log): () => Promise<Map<string, Account>> {
  let latest: { version: string; accounts: Map<string, Account> } | undefined
  return async () => {
    const version = await readVersion(file)
    if (latest?.version === version) return latest.accounts
    const list = await readAccounts(file)
    const usable = allowExamples ? list : list.filter((account) => !isExample(account))
    const ignored = list.length - usable.length
    if (ignored > 0) log.warn({ ignored }, 'accounts of the example cannot sign in in production')
    latest = { version, accounts: new Map(usable.map((account) => [account.username, account])) }
    return latest.accounts
  }
}

async function readVersion(file: string): Promise<string> {
  const stats = await stat(file, { bigint: true }).catch(() => undefined)
  return stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : 'none'
}

/** Domains that RFC 2606 reserves for examples. */
const isExample = ({ email }: Pick<Account, 'email'>) =>
  /[@.](example|test|invalid|example\.(com|net|org))$/.test(email)
