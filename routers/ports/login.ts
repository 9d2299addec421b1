import { z } from 'zod'
import { email, personName, username } from '../identity/user-selector.ts'

/** Who somebody is, as a source says that has checked it. What they may do is never taken from there. */
export const identity = z.object({
  username,
  email,
  name: personName,
})
export type Identity = z.output<typeof identity>

/** What a person types as account: one spelling for each, so that throttles and sources mean the same. */
export const account = z.union([username, email])

/** Asks for an account and a password. */
export interface PasswordSource {
  /** Undefined for every way of not knowing them. Throws the problem `unavailable` where the source does not answer. */
  verify(account: string, password: string): Promise<Identity | undefined>
}

/** What the session keeps between leaving for a provider and coming back; good for one return only. */
export interface PendingLogin {
  state: string
  nonce: string
  verifier: string
  /** When it is too late to come back, in milliseconds. */
  until: number
}

/** Sends the browser elsewhere to sign in. */
export interface RedirectSource {
  begin(): Promise<{ url: string; pending: PendingLogin }>
  /** `query` is what stands behind the `?` of the address the browser came back to. */
  finish(query: string, pending: PendingLogin): Promise<Identity | undefined>
  /** Where to sign out at the provider, if it offers that. Never throws. */
  logoutUrl(): Promise<string | undefined>
}

/** Each header with all its values, none joined. */
export type DistinctHeaders = Record<string, string[] | undefined>

/** Believes a reverse proxy in front that has signed the person in. */
export interface HeaderSource {
  /** `remoteAddress` is the other end of the connection itself, never what a forwarding header says. */
  read(headers: DistinctHeaders, remoteAddress: string | undefined): Identity | undefined
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/** The sources that are configured. */
export interface LoginSources {
  password?: PasswordSource
  redirect?: RedirectSource
  header?: HeaderSource
}
