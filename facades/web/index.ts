import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { createEntityTag, matchesIfNoneMatch } from '../http/conditional.ts'
import { toFailure } from '../http/failure.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { readSearch } from '../http/request-url.ts'
import { sendFile } from '../http/send-file.ts'
import { serveAccountRoutes } from './account-routes.ts'
import { createSignOutLink } from './actions.ts'
import { serveAppPage, servePreview } from './app-page.ts'
import { serveDiagramPage } from './diagram-page.ts'
import { dataProtection, type PageLanguage } from './document.ts'
import { Html, html } from './html.ts'
import { serveLabels } from './label-files.ts'
import { sendPage } from './layout.ts'
import { serveSharePage } from './share-page.ts'

/** Registers the pages before the sign-in, and the front end behind them. */
export async function web(app: FastifyInstance, { resolveContext }: { resolveContext: ContextResolver }) {
  await servePictures(app, resolveContext)
  serveFiles(app, resolveContext)
  app.appSource.serve(app)
  const describeLanguage = serveLabels(app, resolveContext)
  serveAppPage(app, resolveContext, describeLanguage)
  serveSharePage(app, resolveContext, describeLanguage)
  serveAccountRoutes(app, resolveContext)
  servePreview(app)
  serveDiagramPage(app)
  // The earlier address of the settings.
  app.get('/profile', (_, reply) => reply.redirect('/settings'))
  serveDataProtection(app, resolveContext, describeLanguage)

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
      const language = describeLanguage(ctx)
      const data = await readData[view]?.(ctx, request as FastifyRequest<ConnectRequest>)
      if (data?.redirectTo !== undefined) return reply.header('cache-control', 'no-store').redirect(data.redirectTo)
      const title = language.translate(titles[view]).replace(':app', () => data?.request?.name ?? '')
      return sendPage(reply, language, { title, content: { ...visit, ...data }, isSignedIn: isSignedIn(ctx) })
    })
  }
}

const isSignedIn = ({ callerContext }: Context) => callerContext.current.type !== 'guest'

const paths = {
  start: '/',
  login: '/login',
  register: '/register',
  handshake: '/handshake',
  chat: '/chat',
  connect: '/connect/:connectRequest',
  authorize: '/oauth/authorize',
  invitation: '/invitation',
  logout: '/logout',
} as const

/** The labels of the titles by view. */
const titles = {
  login: 'page.login.title',
  register: 'page.register.title',
  handshake: 'page.handshake.title',
  unlock: 'page.unlock.title',
  connect: 'page.connect.title',
  authorize: 'page.authorize.title',
  invitation: 'page.invitation.title',
  logout: 'page.logout.title',
} as const

/** Returns the query that leads back to the page of consent to which an app or a program has sent the person. */
const writeReturnQuery = (page: string, { url }: FastifyRequest) =>
  page === 'connect' || page === 'authorize' ? `?redirectUri=${encodeURIComponent(url)}` : ''

interface ConnectRequest {
  Querystring: { redirectUrl?: string }
  Params: { connectRequest?: string }
}

interface PageData {
  /** The newest policy, which the first keys accept. */
  policy?: Awaited<ReturnType<Api['announcements']['latestPolicy']>> | undefined
  /** The request of an app. */
  request?: Awaited<ReturnType<Api['consentPage']['asked']>>
  /** The request of a program. */
  authorization?: Extract<Authorization, { view: object }>['view']
  /** The address of a program whose request needs no answer of the person, in place of a page. */
  redirectTo?: string
}

type Authorization = Awaited<ReturnType<Api['oauth']['request']>>

type ReadData = (ctx: Context, request: FastifyRequest<ConnectRequest>) => Promise<PageData>

const readPolicy: ReadData = async (ctx) => ({
  policy: await catchMissing(createCaller(ctx).announcements.latestPolicy()),
})

/** Reads the data of a page by its view. */
const readData: Partial<Record<string, ReadData>> = {
  register: readPolicy,
  handshake: readPolicy,
  async connect(ctx, { query: { redirectUrl }, params: { connectRequest = '' } }) {
    return { request: await createCaller(ctx).consentPage.asked({ connectRequest, redirectUrl }) }
  },
  async authorize(ctx, request) {
    const found = await createCaller(ctx).oauth.request({ query: readSearch(request) })
    return 'view' in found ? { authorization: found.view } : found
  },
}

/** Returns undefined for an announcement that does not exist, or lacks its text. */
const catchMissing = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (toFailure(error).code === 'not_found') return undefined
    throw error
  })

/** Serves the operator's privacy notice, which is a label of HTML. */
function serveDataProtection(
  app: FastifyInstance,
  resolveContext: ContextResolver,
  describeLanguage: (ctx: Context) => PageLanguage,
): void {
  app.get(dataProtection.path, async (request, reply) => {
    const ctx = await resolveContext(request, reply)
    const { locale, translate } = describeLanguage(ctx)
    if (!dataProtection.exists(translate)) throw new Problem('not_found')
    return sendPage(
      reply,
      { locale, translate },
      {
        title: translate('page.dataProtection'),
        content: html`<div class="prose">${new Html(translate(dataProtection.label))}</div>`,
        isSignedIn: isSignedIn(ctx),
      },
    )
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
