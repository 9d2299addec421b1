import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { verify } from '@node-rs/argon2'
import type { Log } from '../../routers/context.ts'
import type { PasswordSource } from '../../routers/login-source.ts'
import { Problem } from '../../routers/problems.ts'
import { type Account, AccountsError, hashPassword, passwordText, readAccounts } from './accounts.ts'

export interface LocalOptions {
  file: string
  /** Whether accounts with addresses that are nobody's, as in examples, may sign in. */
  allowExamples: boolean
}

/** Knows the accounts of a file, as it is at the time. Throws at once where the file is not valid. */
export async function createLocal({ file, allowExamples }: LocalOptions, log: Log): Promise<PasswordSource> {
  // Stands in for the hash of an unknown account, which takes as long then as a wrong password.
  const nobody = await hashPassword(randomUUID())
  const accounts = accountsOf(file, allowExamples)
  await accounts()

  return {
    async verify(name, password) {
      const known = await accounts().catch((error: unknown) => {
        log.error({ error }, 'the accounts file cannot be read')
        throw new Problem('unavailable', { cause: error })
      })
      const account = known.get(name.trim().toLowerCase())
      const matches = await verify(account?.hash ?? nobody, passwordText(password))
      if (!account || !matches) return undefined
      const { hash: _, ...identity } = account
      return identity
    },
  }
}

/** Reads the file again whenever it has changed. */
function accountsOf(file: string, allowExamples: boolean): () => Promise<Map<string, Account>> {
  let read: { version: string; accounts: Map<string, Account> } | undefined
  return async () => {
    const version = await versionOf(file)
    if (read?.version === version) return read.accounts
    const list = await readAccounts(file)
    if (!allowExamples && list.some(isExample))
      throw new AccountsError(file, 'Production does not take accounts of the example, with addresses at example.org.')
    read = { version, accounts: new Map(list.map((account) => [account.username, account])) }
    return read.accounts
  }
}

async function versionOf(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => undefined)
  return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : 'none'
}

/** The domains that RFC 2606 keeps for examples. */
const isExample = ({ email }: Account) => /[@.](example|test|invalid|example\.(com|net|org))$/.test(email)
