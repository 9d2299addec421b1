import { z } from 'zod'
import type { AppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { listOwnLinks } from '../../entities/apps/ext-app-link.sql.ts'
import { listApps, listCredentials, showApp } from '../../entities/apps/ext-app-overview.sql.ts'
import { takes } from '../core/body-size.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, host, router, sessionUser, userWith } from '../core/trpc.ts'
import { exposes } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import { action, rowAction, rowActionEnd } from '../verbs/action.ts'
import { notFound } from '../verbs/lock.ts'
import { getRow, reads } from '../verbs/read.ts'
import { withoutUnchanged } from '../verbs/unchanged.ts'
import { administrator } from '../verbs/write.ts'
import { createInput, ifVersion, updateInput } from '../verbs/write-inputs.ts'
import { rotateCredential, rotation } from './app-credential.ts'
import { createApp, deleteApp, type ExtAppRecord, updateApp } from './change-app.ts'
import { claim, type Deciding, MAX_REQUEST } from './connect-request.ts'
import { endAppLinks } from './end-links.ts'
import { consent, establish } from './establish.ts'
import { extApps } from './ext-app.ts'
import { logoPath } from './logo-path.ts'
import { backUrl, redirectTo } from './redirects.ts'
import { appsFile, syncApps } from './sync-apps.ts'

/** What a person is told by a connect request, who has no business with the row itself. */
const toRecord = (ctx: Context, app: AppToConnect, connectRequest: string): ExtAppRecord => {
  const logo = logoPath(ctx, app)
  const url = redirectTo(app.redirectUrls)
  return {
    ...app,
    addressedAs: connectRequest,
    active: true,
    redirectOnConnectionAccepted: backUrl(ctx, url, 'success'),
    redirectOnConnectionDeclined: backUrl(ctx, url, 'declined'),
    logoProxyUrl: logo && ctx.services.settings.baseUrl + logo,
    relations: {},
  }
}

export const extAppsRouter = router({
  list: reads(extApps).list,

  get: userWith('read')
    .meta(exposes(extApps, 'get'))
    .input(z.strictObject({ id: z.string().max(MAX_REQUEST), include: z.array(z.never()).max(1).optional() }))
    .query(async ({ ctx, input: { id } }): Promise<ExtAppRecord> => {
      if (!resourceId.safeParse(id).success) {
        const { app } = await claim(inBrowser(ctx, id), id)
        return toRecord(ctx, app, id)
      }
      return getRow(ctx, extApps, id)
    }),

  create: administrator
    .meta({ ...exposes(extApps, 'create'), ...takes('record') })
    .input(createInput(extApps))
    .mutation(({ ctx, input }) => createApp(ctx, input)),

  update: administrator
    .meta({ ...exposes(extApps, 'update'), ...takes('record') })
    .use(withoutUnchanged(extApps))
    .input(updateInput(extApps))
    .mutation(({ ctx, input }) => updateApp(ctx, input)),

  delete: administrator
    .meta(exposes(extApps, 'delete'))
    .input(z.strictObject({ id: resourceId, ifVersion }))
    .mutation(({ ctx, input }) => deleteApp(ctx, input)),

  establishConnection: action(extApps, 'establish-connection', sessionUser)
    .meta(about('Agree to a connect request: links the user of the app to the caller.'))
    .input(consent)
    .mutation(async ({ ctx, input }) => ({ data: [toRecord(ctx, await establish(ctx, input), input.connectRequest)] })),

  links: rowAction(extApps, 'link', sessionUser)
    .meta(about("List the caller's own links with an app."))
    .input(z.strictObject({ id: resourceId }))
    .query(async ({ ctx, input: { id } }) => ({
      meta: { links: await ctx.services.sql(listOwnLinks, [ctx.caller.person.id, Number(id)]) },
    })),

  endAppLinks: rowActionEnd(extApps, 'link', sessionUser)
    .meta(about("End the caller's links with an app; what it has under way for them stops."))
    .input(z.strictObject({ id: resourceId }))
    .mutation(async ({ ctx, input: { id } }) => {
      const ended = await endAppLinks(ctx, Number(id), { userId: ctx.caller.person.id })
      if (ended === 0) throw new Problem('not_found', { detail: 'You have no link with this app.' })
      return { meta: { ended } }
    }),

  rotateCredential: rowAction(extApps, 'rotate-credential', administrator)
    .meta(about('Give an app another credential; those it has work for a while longer.'))
    .input(rotation)
    .mutation(async ({ ctx, input }) => ({ meta: { credential: await rotateCredential(ctx, input) } })),

  /** Brings the apps to what a file says that was read. */
  sync: host.input(appsFile).mutation(({ ctx, input }) => syncApps(ctx, input)),

  overview: host.query(({ ctx }) => ctx.services.sql(listApps)),

  /** An app with its credentials, without what would be one. */
  show: host.input(z.strictObject({ id: resourceId })).query(async ({ ctx: { services }, input }) => {
    const [app] = await services.sql(showApp, [Number(input.id)])
    if (!app) throw new Problem('not_found', { detail: `There is no app with the id ${input.id}.` })
    return { ...app, credentials: await services.sql(listCredentials, [app.id]) }
  }),
})

/** Whom a connect request is shown to: for a token, which can agree to none, there is none. */
function inBrowser(ctx: Deciding, id: string): Deciding {
  if (!ctx.browser) throw notFound(extApps, id)
  return ctx
}
