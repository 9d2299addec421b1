import type { Identity, PasswordSource } from './login.ts'

/** Accounts whose password hashes this service stores. Changes are atomic across processes. */
export interface LocalAccounts extends PasswordSource {
  /** True if people sign in with local accounts. */
  readonly inUse: boolean
  has(username: string): Promise<boolean>
  /** Returns true if the username belongs to the subject. */
  knows(username: string, subject: string): Promise<boolean>
  /** Adds an account, and returns its subject; throws if it could not sign in. */
  add(person: Omit<Identity, 'subject'>, password: string): Promise<string>
  /** Renames an account, and returns true if it existed. */
  rename(from: string, to: string): Promise<boolean>
  /** Sets a password, and returns true if the account existed. */
  setPassword(username: string, password: string): Promise<boolean>
  /** Removes an account, and returns true if it existed. */
  remove(username: string): Promise<boolean>
}
