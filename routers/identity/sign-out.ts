import type { Context } from '../core/context.ts'
import type { Browser, SignIn } from '../ports/session.ts'

/** Ends the session of a call; says where to go on. */
export async function leave(ctx: Context & { browser: Browser }): Promise<{ redirectUri: string }> {
  const by = ctx.browser.session?.by
  await ctx.browser.end()
  ctx.caller.become({ type: 'guest' })
  return { redirectUri: (await signOutUri(ctx, by)) ?? '/login' }
}

/** Where to go so that signing in again takes more than a click. */
async function signOutUri({ services }: Context, by: SignIn | undefined): Promise<string | undefined> {
  if (by === undefined || by === 'password') return undefined
  const { redirect, header } = await services.loginSources()
  return by === 'redirect' ? redirect?.logoutUrl() : header?.logoutUrl
}
