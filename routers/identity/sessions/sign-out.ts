import type { LoginMethod } from '../../../entities/identity/session.ts'
import type { Context } from '../../core/context.ts'
import type { BrowserSession } from '../../ports/session.ts'

/** Ends the session of a call; says where to go on. */
export async function signOut(ctx: Context & { browser: BrowserSession }): Promise<{ redirectUri: string }> {
  const method = ctx.browser.session?.method
  await ctx.browser.destroy()
  ctx.callerContext.become({ type: 'guest' }, 'logout')
  return { redirectUri: (await signOutUri(ctx, method)) ?? '/login' }
}

/** The address that signs out at the login source, too; without it, one click would sign in again. */
async function signOutUri({ services }: Context, method: LoginMethod | undefined): Promise<string | undefined> {
  if (method === undefined || method === 'password') return undefined
  const { redirect, header } = await services.loginSources()
  return method === 'oidc' ? redirect?.logoutUrl() : header?.logoutUrl
}
