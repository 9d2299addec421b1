import { z } from 'zod'
import type { AppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { listOwnLinks, type OwnLink } from '../../entities/apps/ext-app-link.sql.ts'
import { Problem } from '../core/problems.ts'
import { about, router, sessionUser } from '../core/trpc.ts'
import { buildReturnUrl, chooseRedirectUrl, claimForCaller, MAX_REQUEST } from './connect-request.ts'
import { buildLogoPath } from './logo-path.ts'

const consentPageInput = z.strictObject({
  connectRequest: z.string().min(1).max(MAX_REQUEST),
  redirectUrl: z
    .string()
    .max(2048)
    .optional()
    .describe("The address to return the browser to, which is one of the app's own URLs."),
})

interface ConsentView
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

/** Procedures of the consent page and of the list of links. */
export const consentPageRouter = router({
  asked: sessionUser
    .meta(about('Read a connect request, which only the caller can answer from then on.'))
    .input(consentPageInput)
    .query(async ({ ctx, input }): Promise<ConsentView> => {
      const { app: requestingApp, isAnswered } = await claimForCaller(ctx, input.connectRequest)
      if (isAnswered) throw new Problem('connect_request_invalid')
      const { redirectUrls, ...app } = requestingApp
      const redirectUrl = chooseRedirectUrl(redirectUrls, input.redirectUrl)
      const { id, name, description, url, publicKey, abilities, needsKeys, linkDays } = app
      return {
        id,
        name,
        description,
        url,
        publicKey,
        abilities,
        needsKeys,
        linkDays,
        redirectUrl,
        logo: buildLogoPath(ctx, app),
        username: ctx.caller.person.username,
        acceptedUrl: buildReturnUrl(ctx, redirectUrl, 'success'),
        declinedUrl: buildReturnUrl(ctx, redirectUrl, 'declined'),
      }
    }),

  links: sessionUser
    .meta(about("List the caller's links with all apps."))
    .query(({ ctx }): Promise<OwnLink[]> => ctx.services.sql(listOwnLinks, [ctx.caller.person.id, null])),
})
