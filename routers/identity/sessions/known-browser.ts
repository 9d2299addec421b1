import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import { openSealed } from '../../core/sealed.ts'
import { DAY_MS } from '../../ports/days.ts'
import type { BrowserSession } from '../../ports/session.ts'

type BrowserContext = Pick<Context, 'services'> & { browser: BrowserSession }

/**
 * Contents of the browser's sealed cookie: an id, and the accounts it is known to with their expiry in milliseconds.
 */
const knownBrowser = z.object({ id: z.string(), accounts: z.record(z.string(), z.number()) })
type KnownBrowser = z.output<typeof knownBrowser>

const PURPOSE = 'known browser'
export const KNOWN_BROWSER_DAYS = 90
/** Maximum number of accounts: the cookie is sent with every request. */
const MAX_ACCOUNTS = 5

/** Returns the browser's id if this account has signed in there with its password. */
export function findBrowserId(ctx: BrowserContext, account: string): string | undefined {
  const knownBrowserState = readKnownBrowser(ctx)
  return knownBrowserState && hashAccount(account) in knownBrowserState.accounts ? knownBrowserState.id : undefined
}

/** Remembers in the browser that this account has signed in. */
export function rememberBrowser(ctx: BrowserContext, account: string): void {
  const { id, accounts } = readKnownBrowser(ctx) ?? { id: randomBytes(16).toString('base64url'), accounts: {} }
  const until = Date.now() + KNOWN_BROWSER_DAYS * DAY_MS
  const latestAccounts = Object.entries({ ...accounts, [hashAccount(account)]: until })
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_ACCOUNTS)
  const known: KnownBrowser = { id, accounts: Object.fromEntries(latestAccounts) }
  ctx.browser.setKnownAccounts(ctx.services.vault.seal(JSON.stringify(known), PURPOSE))
}

function readKnownBrowser({ browser, services }: BrowserContext): KnownBrowser | undefined {
  if (browser.knownAccounts === undefined) return undefined
  const opened = openSealed(services.vault, browser.knownAccounts, PURPOSE, knownBrowser)
  if (!opened) return undefined
  const current = Object.entries(opened.accounts).filter(([, until]) => until > Date.now())
  return { id: opened.id, accounts: Object.fromEntries(current) }
}

/** Shortens the hash to about 128 bits to keep the cookie small. */
const hashAccount = (account: string) => createHash('sha256').update(account).digest('base64url').slice(0, 22)
