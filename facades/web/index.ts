import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { createEntityTag, matchesIfNoneMatch } from '../http/conditional.ts'
import { toFailure } from '../http/failure.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'
import { createSignOutLink } from './actions.ts'
import type { AppSource } from './app-files.ts'
import { serveAppPage, servePreview } from './app-page.ts'
import { Html, html } from './html.ts'
import { createTranslator, dataProtection, type Page, sendPage, type Translate } from './layout.ts'
import { connectBody } from './pages/connect.ts'
import { invitationBody } from './pages/invitation.ts'
import { handshakeBody, unlockBody } from './pages/keys.ts'
import { type Arrival, loginBody, logoutBody, registerBody } from './pages/sign-in.ts'

interface WebOptions {
  resolveContext: ContextResolver
  appSource: AppSource
}

/** Registers the pages before the sign-in, and the front end behind them. */
export async function web(app: FastifyInstance, { resolveContext, appSource }: WebOptions) {
  await servePictures(app, resolveContext)
  serveFiles(app, resolveContext)
  appSource.serve(app)
  serveAppPage(app, resolveContext, appSource)
  servePreview(app)
  // The earlier address of the settings.
  app.get('/profile', (_, reply) => reply.redirect('/settings'))
  serveDataProtection(app, resolveContext)

  for (const [page, path] of Object.entries(paths)) {
    if (page === 'chat') continue
    const preHandler = page === 'logout' ? [createSignOutLink(resolveContext)] : []
    app.get(path, { preHandler }, async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const visit = await createCaller(ctx).pages.visit({ page: page as keyof typeof paths })
      const { view } = visit
      const target = paths[view === 'unlock' ? 'handshake' : view]
      if (target !== path || view === 'chat')
        return reply.header('cache-control', 'no-store').redirect(target + writeReturnQuery(page, request))
      const translate = createTranslatorFor(ctx)
      const { query, params } = request as FastifyRequest<PageRequest>
      const content = await views[view](translate, visit, { ctx, query, params, siteName: app.site.name })
      return sendPage(reply, translate, ctx.locale, { ...content, isSignedIn: isSignedIn(ctx) })
    })
  }
}

const createTranslatorFor = ({ services, locale }: Context) =>
  createTranslator(services.labels[locale as keyof typeof services.labels] ?? {})

const isSignedIn = ({ callerContext }: Context) => callerContext.current.type !== 'guest'

const paths = {
  start: '/',
  login: '/login',
  register: '/register',
  handshake: '/handshake',
  chat: '/chat',
  connect: '/connect/:connectRequest',
  invitation: '/invitation',
  logout: '/logout',
} as const

/** Returns the query that leads back to the consent page, to which an app sent the person. */
const writeReturnQuery = (page: string, { url }: FastifyRequest) =>
  page === 'connect' ? `?redirectUri=${encodeURIComponent(url)}` : ''

interface PageRequest {
  Querystring: Arrival & { redirectUrl?: string }
  Params: { connectRequest?: string }
}

type Visit = Awaited<ReturnType<Api['pages']['visit']>>
type PageContent = Omit<Page, 'isSignedIn'>
interface PageContext {
  ctx: Context
  siteName: string
  query: PageRequest['Querystring']
  params: PageRequest['Params']
}
type Write = (translate: Translate, visit: Visit, context: PageContext) => PageContent | Promise<PageContent>

/** Page contents by view. */
const views: Record<Exclude<Visit['view'], 'chat'>, Write> = {
  login: (translate, { login: ways, baseUrl }, { query: arrival, siteName }) => ({
    title: translate('page.login.title'),
    module: 'login',
    body: loginBody(translate, { ways, arrival, baseUrl, siteName }),
  }),
  async register(translate, _, { ctx, query }) {
    const policy = await readLatestPolicy(ctx)
    const { announcementBody } = await importAnnouncements()
    return {
      title: translate('page.register.title'),
      body: registerBody(translate, query, policy && announcementBody(policy)),
    }
  },
  async handshake(translate, { mayPaste: canPaste, isPasskeyRestricted: isRestricted }, { ctx }) {
    const policy = await readLatestPolicy(ctx)
    const { announcementBody } = await importAnnouncements()
    const content = policy && { ...policy, body: announcementBody(policy) }
    const body = handshakeBody(translate, { canPaste, isRestricted }, content)
    return { title: translate('page.handshake.title'), module: 'handshake', body }
  },
  unlock: (translate, { mayPaste: canPaste }) => ({
    title: translate('page.unlock.title'),
    module: 'unlock',
    body: unlockBody(translate, canPaste),
  }),
  async connect(translate, { mayPaste: canPaste }, { ctx, query: { redirectUrl }, params: { connectRequest = '' } }) {
    const request = await createCaller(ctx).consentPage.asked({ connectRequest, redirectUrl })
    return {
      title: translate('page.connect.title').replace(':app', () => request.name),
      module: 'connect',
      body: connectBody(translate, request, canPaste),
    }
  },
  invitation: (translate) => ({
    title: translate('page.invitation.title'),
    module: 'invitation',
    body: invitationBody(translate),
  }),
  logout: (translate) => ({ title: translate('page.logout.title'), module: 'logout', body: logoutBody(translate) }),
}

/** Markdown support is loaded with the first page that needs it. */
const importAnnouncements = () => import('./pages/announcements.ts')

const readLatestPolicy = (ctx: Context) => catchMissing(createCaller(ctx).announcements.latestPolicy())

/** Returns undefined for an announcement that does not exist, or lacks its text. */
const catchMissing = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (toFailure(error).code === 'not_found') return undefined
    throw error
  })

/** Serves the operator's privacy notice, which is a label of HTML. */
function serveDataProtection(app: FastifyInstance, resolveContext: ContextResolver): void {
  app.get(dataProtection.path, async (request, reply) => {
    const ctx = await resolveContext(request, reply)
    const translate = createTranslatorFor(ctx)
    if (!dataProtection.exists(translate)) throw new Problem('not_found')
    return sendPage(reply, translate, ctx.locale, {
      title: translate('page.dataProtection'),
      body: html`<div class="prose">${new Html(translate(dataProtection.label))}</div>`,
      isSignedIn: isSignedIn(ctx),
    })
  })
}

async function servePictures(app: FastifyInstance, resolveContext: ContextResolver): Promise<void> {
  for (const [path, of] of [
    ['/req/profile/picture/:id', 'users'],
    ['/req/rooms/picture/:id', 'rooms'],
  ] as const)
    app.get<{ Params: { id: string }; Querystring: { size?: 'small' } }>(path, async (request, reply) => {
      const input = { id: request.params.id, size: request.query.size }
      const picture = Buffer.from(await createCaller(await resolveContext(request, reply))[of].picture(input))
      const etag = createEntityTag(picture)
      reply.headers({ etag, 'cache-control': 'private, max-age=300', 'content-security-policy': "default-src 'none'" })
      if (matchesIfNoneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send()
      return reply.type('image/webp').send(picture)
    })
}

/** Serves stored files at the addresses used in pages. */
function serveFiles(app: FastifyInstance, resolveContext: ContextResolver): void {
  app.get<{ Params: { identifier: string } }>('/proxy/storage/:identifier', async (request, reply) => {
    const { identifier } = request.params
    return sendFile(
      request,
      reply,
      await createCaller(await resolveContext(request, reply)).attachments.stored({ identifier }),
    )
  })
}
