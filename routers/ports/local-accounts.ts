import type { Identity, PasswordSource } from './login.ts'

/** The accounts whose passwords the service itself keeps, as hashes. What changes them is atomic over all processes. */
export interface LocalAccounts extends PasswordSource {
  /** Whether people sign in with them here. */
  readonly inUse: boolean
  has(username: string): Promise<boolean>
  /** Adds an account; throws where it could not sign in here. */
  add(person: Identity, password: string): Promise<void>
  /** Whether there is such an account, which then has the new password. */
  setPassword(username: string, password: string): Promise<boolean>
  /** Whether there was such an account. */
  remove(username: string): Promise<boolean>
}
