import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import type { ContextOf } from '../http/procedures.ts'
import { type Page, type Translate, translator } from './layout.ts'
import { handshakeBody, unlockBody } from './pages/keys.ts'
import { profileBody } from './pages/profile.ts'
import { type Arrival, loginBody, logoutBody, registerBody } from './pages/sign-in.ts'
import { sendPage } from './send-page.ts'

export interface WebOptions {
  contextOf: ContextOf
}

/** The pages of the first-login ceremony and of a person's own settings. */
export async function web(app: FastifyInstance, { contextOf }: WebOptions) {
  await servePictures(app, contextOf)

  const page = (path: string, write: (ctx: Context, translate: Translate, request: FastifyRequest) => Promise<Shown>) =>
    app.get(path, async (request, reply) => {
      const ctx = await contextOf(request, reply)
      const translate = translator(ctx.services.labels[ctx.locale as keyof typeof ctx.services.labels] ?? {})
      return show(reply, ctx, translate, await write(ctx, translate, request))
    })

  page('/', async ({ caller }) => (caller.current.type === 'guest' ? '/login' : '/profile'))

  page('/login', async ({ caller, services: { loginSources, settings } }, translate, { query }) => {
    if (caller.current.type === 'user') return '/profile'
    if (caller.current.type === 'registering') return '/register'
    const { password, redirect, header } = await loginSources()
    const ways = { password: password !== undefined, elsewhere: redirect !== undefined || header !== undefined }
    const body = loginBody(translate, ways, query as Arrival, settings.baseUrl)
    return { title: translate('page.login.title'), module: 'login', body }
  })

  page('/register', async (ctx, translate) => {
    if (ctx.caller.current.type === 'guest') return '/login'
    return hasKeys(ctx) ? '/profile' : { title: translate('page.register.title'), body: registerBody(translate) }
  })

  page('/handshake', async (ctx, translate) => {
    if (ctx.caller.current.type === 'guest') return '/login'
    const mayPaste = ctx.services.settings.public.passkey.allowPaste
    if (hasKeys(ctx))
      return { title: translate('page.unlock.title'), module: 'unlock', body: unlockBody(translate, mayPaste) }
    return { title: translate('page.handshake.title'), module: 'handshake', body: handshakeBody(translate, mayPaste) }
  })

  page('/profile', async (ctx, translate) => {
    if (ctx.caller.current.type === 'guest') return '/login'
    if (!hasKeys(ctx)) return '/register'
    const { allowUserTokenCreation: tokens, public: settings } = ctx.services.settings
    const { canChange: password } = await createCaller(ctx).password.state()
    const { passkey, avatars } = settings
    const allowed = { tokens, password, paste: passkey.allowPaste, pictureBytes: avatars.maxFileSize }
    const body = profileBody(translate, allowed)
    return { title: translate('page.profile.title'), module: 'profile', body, wide: true }
  })

  page('/logout', async ({ caller }, translate) =>
    caller.current.type === 'guest'
      ? '/login'
      : { title: translate('page.logout.title'), module: 'logout', body: logoutBody(translate) },
  )
}

async function servePictures(app: FastifyInstance, contextOf: ContextOf): Promise<void> {
  app.get<{ Params: { id: string } }>('/req/profile/picture/:id', async (request, reply) => {
    const { users } = createCaller(await contextOf(request, reply))
    const picture = await users.picture({ id: request.params.id })
    reply.header('cache-control', 'private, max-age=300').header('content-security-policy', "default-src 'none'")
    return reply.type('image/webp').send(Buffer.from(picture))
  })
}

/** A page, or the address of another one. */
type Shown = Omit<Page, 'signedIn'> | string

function show(reply: FastifyReply, ctx: Context, translate: Translate, shown: Shown): FastifyReply {
  if (typeof shown === 'string') return reply.header('cache-control', 'no-store').redirect(shown)
  return sendPage(reply, translate, ctx.locale, { ...shown, signedIn: ctx.caller.current.type !== 'guest' })
}

/** Without them a session is still registering. */
const hasKeys = ({ caller }: Context) => caller.current.type === 'user'
