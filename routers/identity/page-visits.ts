import { z } from 'zod'
import type { UserType } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { about, anyone, router } from '../core/trpc.ts'

const pages = [
  'start',
  'login',
  'register',
  'handshake',
  'chat',
  'connect',
  'authorize',
  'invitation',
  'logout',
] as const
type Page = (typeof pages)[number]

/** The page that is shown; `unlock` has the address of the handshake. */
type View = Exclude<Page, 'start'> | 'unlock'

/** The page that each type of caller sees for each requested page, or the one they must visit first. */
const views: Record<Page, Record<UserType, View>> = {
  start: { guest: 'login', registering: 'register', user: 'chat', 'external-app': 'login' },
  login: { guest: 'login', registering: 'register', user: 'chat', 'external-app': 'login' },
  register: { guest: 'login', registering: 'register', user: 'chat', 'external-app': 'login' },
  handshake: { guest: 'login', registering: 'handshake', user: 'unlock', 'external-app': 'login' },
  chat: { guest: 'login', registering: 'register', user: 'chat', 'external-app': 'login' },
  connect: { guest: 'login', registering: 'register', user: 'connect', 'external-app': 'login' },
  authorize: { guest: 'login', registering: 'register', user: 'authorize', 'external-app': 'login' },
  invitation: { guest: 'invitation', registering: 'invitation', user: 'invitation', 'external-app': 'login' },
  logout: { guest: 'login', registering: 'logout', user: 'logout', 'external-app': 'login' },
}

export const pagesRouter = router({
  visit: anyone
    .meta(about('Read the page to show for the requested one, and its data.'))
    .input(z.strictObject({ page: z.enum(pages) }))
    .query(async ({ ctx, input }) => ({
      view: views[input.page][ctx.callerContext.current.type],
      ...(await readLoginOptions(ctx)),
    })),
})

async function readLoginOptions({ services }: Context) {
  const { password, redirect, header } = await services.login.sources()
  return {
    baseUrl: services.settings.baseUrl,
    login: { password: password !== undefined, elsewhere: redirect !== undefined || header !== undefined },
    mayPaste: services.settings.public.passkey.allowPaste,
    isPasskeyRestricted: services.settings.public.passkey.restrictCharacters,
  }
}
