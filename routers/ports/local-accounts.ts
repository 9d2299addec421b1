import type { Identity, PasswordSource } from './login.ts'

/** The accounts whose passwords the service itself keeps, as hashes. What changes them is atomic over all processes. */
export interface LocalAccounts extends PasswordSource {
  /** Whether people sign in with them here. */
  readonly inUse: boolean
  has(username: string): Promise<boolean>
  /** Whether the account of this username is that of the subject. */
  knows(username: string, subject: string): Promise<boolean>
  /** Adds an account, and returns its subject; throws where it could not sign in here. */
  add(person: Omit<Identity, 'subject'>, password: string): Promise<string>
  /** Whether there was such an account, which has the other username now. */
  rename(from: string, to: string): Promise<boolean>
  /** Whether there is such an account, which then has the new password. */
  setPassword(username: string, password: string): Promise<boolean>
  /** Whether there was such an account. */
  remove(username: string): Promise<boolean>
}
