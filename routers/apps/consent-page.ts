import { z } from 'zod'
import type { AppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { listOwnLinks, type OwnLink } from '../../entities/apps/ext-app-link.sql.ts'
import { Problem } from '../core/problems.ts'
import { about, router, sessionUser } from '../core/trpc.ts'
import { backUrl, claim, MAX_REQUEST, redirectTo } from './connect-request.ts'
import { logoPath } from './logo-path.ts'

const visited = z.strictObject({
  connectRequest: z.string().min(1).max(MAX_REQUEST),
  redirectUrl: z.string().max(2048).optional().describe('Where the app wants the browser back: one of its own URLs.'),
})

interface Asked
  extends Pick<
    AppToConnect,
    'id' | 'name' | 'description' | 'url' | 'publicKey' | 'abilities' | 'needsKeys' | 'linkDays'
  > {
  username: string
  logo: string | null
  redirectUrl: string
  acceptedUrl: string
  declinedUrl: string
}

/** What the pages of a person need to know of external apps. */
export const consentPageRouter = router({
  asked: sessionUser
    .meta(about('Ask what a connect request asks for, which is for the caller alone from then on.'))
    .input(visited)
    .query(async ({ ctx, input }): Promise<Asked> => {
      const { app: asking, isAnswered } = await claim(ctx, input.connectRequest)
      if (isAnswered) throw new Problem('connect_request_invalid')
      const { redirectUrls, ...app } = asking
      const redirectUrl = redirectTo(redirectUrls, input.redirectUrl)
      const { id, name, description, url, publicKey, abilities, needsKeys, linkDays } = app
      return {
        ...{ id, name, description, url, publicKey, abilities, needsKeys, linkDays, redirectUrl },
        logo: logoPath(ctx, app),
        username: ctx.caller.person.username,
        acceptedUrl: backUrl(ctx, redirectUrl, 'success'),
        declinedUrl: backUrl(ctx, redirectUrl, 'declined'),
      }
    }),

  links: sessionUser
    .meta(about("List the caller's links with all apps."))
    .query(({ ctx }): Promise<OwnLink[]> => ctx.services.sql(listOwnLinks, [ctx.caller.person.id, null])),
})
