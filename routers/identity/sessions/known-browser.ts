import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import type { BrowserSession } from '../../ports/session.ts'

type BrowserContext = Pick<Context, 'services'> & { browser: BrowserSession }

/** What a browser keeps, sealed: an id, and until when (in milliseconds) it is known to which accounts. */
const knownBrowser = z.object({ id: z.string(), accounts: z.record(z.string(), z.number()) })
type KnownBrowser = z.output<typeof knownBrowser>

const PURPOSE = 'known browser'
export const KNOWN_BROWSER_DAYS = 90
/** A cookie goes with every request. */
const MAX_ACCOUNTS = 5

/** The id of a browser in which this account has signed in with its password before. */
export function browserIdFor(ctx: BrowserContext, account: string): string | undefined {
  const known = read(ctx)
  return known && digest(account) in known.accounts ? known.id : undefined
}

/** Lets the browser keep that this account has signed in. */
export function rememberBrowser(ctx: BrowserContext, account: string): void {
  const { id, accounts } = read(ctx) ?? { id: randomBytes(16).toString('base64url'), accounts: {} }
  const until = Date.now() + KNOWN_BROWSER_DAYS * 86_400_000
  const latest = Object.entries({ ...accounts, [digest(account)]: until })
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_ACCOUNTS)
  const known: KnownBrowser = { id, accounts: Object.fromEntries(latest) }
  ctx.browser.setKnownAccounts(ctx.services.vault.seal(JSON.stringify(known), PURPOSE))
}

function read({ browser, services }: BrowserContext): KnownBrowser | undefined {
  if (browser.knownAccounts === undefined) return undefined
  try {
    const { id, accounts } = knownBrowser.parse(JSON.parse(services.vault.open(browser.knownAccounts, PURPOSE)))
    const current = Object.entries(accounts).filter(([, until]) => until > Date.now())
    return { id, accounts: Object.fromEntries(current) }
  } catch {
    return undefined
  }
}

/** Of 128 bits, which keeps the cookie short. */
const digest = (account: string) => createHash('sha256').update(account).digest('base64url').slice(0, 22)
