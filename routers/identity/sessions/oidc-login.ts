import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import type { AuthorizationState, Identity, RedirectSource } from '../../ports/login.ts'
import type { BrowserSession } from '../../ports/session.ts'

type BrowserContext = Context & { browser: BrowserSession }

const pendingLogin = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  until: z.number(),
  next: z.string().optional(),
})

const PENDING = 'pending login'

/** Signing in at a provider: what must outlast the way there and back is kept, sealed, by the browser. */
export const redirectLogin = {
  /** The address of the provider. */
  async begin(ctx: BrowserContext, next: string | undefined): Promise<string> {
    const { url, pending } = await (await findSource(ctx)).begin()
    ctx.browser.setLoginState(ctx.services.vault.seal(JSON.stringify({ ...pending, next }), PENDING))
    return url
  },

  async finish(
    ctx: BrowserContext,
    query: string,
  ): Promise<{ identity?: Identity | undefined; next?: string | undefined }> {
    const source = await findSource(ctx)
    const pending = read(ctx)
    // Good for one return, however it ends.
    ctx.browser.setLoginState(undefined)
    return pending ? { identity: await source.finish(query, pending), next: pending.next } : {}
  },
}

async function findSource({ services }: BrowserContext): Promise<RedirectSource> {
  const { redirect } = await services.loginSources()
  if (!redirect) throw new Problem('not_found', { detail: 'Nobody signs in at a provider here.' })
  return redirect
}

function read({ browser, services }: BrowserContext): (AuthorizationState & { next?: string | undefined }) | undefined {
  if (!browser.loginState) return undefined
  try {
    return pendingLogin.parse(JSON.parse(services.vault.open(browser.loginState, PENDING)))
  } catch {
    return undefined
  }
}
