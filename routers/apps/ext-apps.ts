import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  type AppToConnect,
  listApps,
  listCredentials,
  lockAppShared,
  showApp,
} from '../../entities/apps/ext-app.sql.ts'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { useConnectRequest } from '../../entities/apps/ext-app-connect-request.ts'
import { listOwnLinks, lockLink } from '../../entities/apps/ext-app-link.sql.ts'
import { ExtAppLink } from '../../entities/apps/ext-app-link.ts'
import { deleteToken } from '../../entities/identity/access-token.sql.ts'
import { AccessToken } from '../../entities/identity/access-token.ts'
import { generateSecret, hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { User } from '../../entities/identity/user.ts'
import { withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, host, router, sessionUser, userWith, withBodySize } from '../core/trpc.ts'
import type { OpenedRequest } from '../ports/connect-requests.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { DAY_MS } from '../ports/days.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import { action, rowAction, rowActionEnd } from '../verbs/action.ts'
import { translateConstraintError } from '../verbs/constraint-errors.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { createNotFoundProblem } from '../verbs/lock-row.ts'
import { defineReads, getRow } from '../verbs/read.ts'
import { administrator, sensitiveAdministrator } from '../verbs/write.ts'
import { buildCreateInput, buildUpdateInput, ifVersion } from '../verbs/write-inputs.ts'
import { rotateCredential, rotation } from './app-credential.ts'
import { makeKeyPair, parseKey } from './app-key.ts'
import { endAppLinks } from './app-links.ts'
import { createApp, deleteApp, type ExtAppRecord, updateApp } from './change-app.ts'
import {
  buildReturnUrl,
  type ConsentContext,
  chooseRedirectUrl,
  claimForCaller,
  MAX_REQUEST,
  openConnectRequest,
} from './connect-request.ts'
import { abilitiesOfApps, extApps } from './ext-app.ts'
import { assertReferenceForm } from './keychain-form.ts'
import { buildLogoPath } from './logo-path.ts'
import { appsFile, syncApps } from './sync-apps.ts'

const sealedText = z.string().regex(/^[A-Za-z0-9+/=|]+$/, 'must be a sealed text')

const consent = z.strictObject({
  connectRequest: z.string().min(1).max(MAX_REQUEST),
  passkey: sealedText
    .max(4096)
    .nullable()
    .default(null)
    .describe(
      "The person's passkey, which their browser encrypted for the key of the app. It is null for a link without keys.",
    ),
  abilities: abilitiesOfApps
    .optional()
    .describe('The abilities that the person grants: all that the app asks for, or fewer.'),
})
type Consent = z.output<typeof consent>

/** Links the user of an app to the consenting person, and replaces that person's previous link. */
async function linkApp(ctx: ConsentContext, input: Consent): Promise<AppToConnect> {
  const { request, app } = await openConnectRequest(ctx, input.connectRequest)
  assertOffered(app, input)
  const pair = input.passkey === null ? undefined : await makeKeyPair()
  await withChangeLog(ctx, async (em, changes) => {
    if (input.passkey !== null) await assertReferenceForm(em, ctx.caller.person.id)
    await lockUnchangedApp(em, app)
    await markAnswered(em, request, ctx.caller.person.id)
    changes.addEnded(await endPreviousLink(em, request, ctx.caller.person.id))
    const { token, text } = await addToken(em, app, { userId: ctx.caller.person.id, abilities: input.abilities })
    em.create(ExtAppLink, {
      app: em.getReference(ExtApp, Number(app.id)),
      externalId: request.extAppUserId,
      user: em.getReference(User, ctx.caller.person.id),
      token,
      passkey: input.passkey,
      apiToken: sealForApp(app.publicKey, text),
      privateKey: pair ? sealForApp(app.publicKey, pair.privateKey) : null,
    })
  }).catch(translateConstraintError)
  ctx.services.log.info({ ...describeActor(ctx), appId: Number(app.id) }, 'an external app was linked')
  return app
}

function assertOffered(app: AppToConnect, { passkey, abilities = [] }: Consent): void {
  if (app.needsKeys && passkey === null)
    throw new Problem('invalid', { issues: [{ path: ['passkey'], message: 'is needed by this app' }] })
  if (!abilities.every((ability) => app.abilities.includes(ability)))
    throw new Problem('invalid', { issues: [{ path: ['abilities'], message: 'must be some of those of the app' }] })
}

/** Locks the app, so that it is neither deleted nor given another key before the link is stored. */
async function lockUnchangedApp(em: EntityManager, { id, publicKey }: AppToConnect): Promise<void> {
  const [locked] = await runStatement(em, lockAppShared, [Number(id)])
  if (locked?.key !== publicKey) throw new Problem('connect_request_invalid')
}

async function markAnswered(em: EntityManager, { hash, expiresAt }: OpenedRequest, userId: number): Promise<void> {
  const [updated] = await runStatement(em, useConnectRequest, [hash, userId, expiresAt])
  if (!updated) throw new Problem('connect_request_invalid')
}

async function endPreviousLink(
  em: EntityManager,
  { appId, extAppUserId }: OpenedRequest,
  userId: number,
): Promise<string[]> {
  const [link] = await runStatement(em, lockLink, [Number(appId), extAppUserId])
  if (link && link.userId !== userId && !link.expired) throw new Problem('linked_elsewhere')
  if (!link) return []
  await runStatement(em, deleteToken, [link.tokenId])
  return [tokenCredential(link.tokenId)]
}

const NAME_LENGTH = 16

async function addToken(
  em: EntityManager,
  app: AppToConnect,
  { userId, abilities = app.abilities }: { userId: number; abilities?: Consent['abilities'] },
) {
  const secret = generateSecret()
  const token = em.create(AccessToken, {
    user: em.getReference(User, userId),
    name: [...app.name].slice(0, NAME_LENGTH).join('').trim(),
    hash: hashSecret(secret),
    holder: 'app',
    abilities: [...abilities],
    expiresAt: new Date(Date.now() + app.linkDays * DAY_MS),
  })
  await em.flush()
  return { token, text: writeToken({ id: token.id, secret }) }
}

const base64 = (bytes: Buffer | string) => Buffer.from(bytes).toString('base64')

/**
 * Encrypts a text for the app with AES-256-GCM and a key under RSA-OAEP with SHA-256, in the format of the browsers.
 */
function sealForApp(publicKey: string, plain: string): string {
  const [key, iv] = [randomBytes(32), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const wrapped = publicEncrypt({ key: parseKey(publicKey), padding, oaepHash: 'sha256' }, key)
  const text = [iv, cipher.getAuthTag(), sealed].map(base64).join('|')
  return [base64(wrapped), text].map(base64).join('|')
}

/** Builds the record of an app for a person with a connect request, who may not read the row itself. */
const toRecord = (ctx: Context, app: AppToConnect, connectRequest: string): ExtAppRecord => {
  const logo = buildLogoPath(ctx, app)
  const url = chooseRedirectUrl(app.redirectUrls)
  return {
    ...app,
    addressedAs: connectRequest,
    active: true,
    redirectOnConnectionAccepted: buildReturnUrl(ctx, url, 'success'),
    redirectOnConnectionDeclined: buildReturnUrl(ctx, url, 'declined'),
    logoProxyUrl: logo && ctx.services.settings.baseUrl + logo,
    relations: {},
  }
}

export const extAppsRouter = router({
  list: defineReads(extApps).list,

  get: userWith('read')
    .meta(exposeAs(extApps, 'get'))
    .input(z.strictObject({ id: z.string().max(MAX_REQUEST), include: z.array(z.never()).max(1).optional() }))
    .query(async ({ ctx, input: { id } }): Promise<ExtAppRecord> => {
      if (!resourceId.safeParse(id).success) {
        const { app } = await claimForCaller(requireBrowser(ctx, id), id)
        return toRecord(ctx, app, id)
      }
      return getRow(ctx, extApps, id)
    }),

  create: sensitiveAdministrator
    .meta({ ...exposeAs(extApps, 'create'), ...withBodySize('record') })
    .input(buildCreateInput(extApps))
    .mutation(({ ctx, input }) => createApp(ctx, input)),

  update: administrator
    .meta({ ...exposeAs(extApps, 'update'), ...withBodySize('record') })
    .use(dropUnchanged(extApps))
    .input(buildUpdateInput(extApps))
    .mutation(({ ctx, input }) => updateApp(ctx, input)),

  delete: administrator
    .meta(exposeAs(extApps, 'delete'))
    .input(z.strictObject({ id: resourceId, ifVersion }))
    .mutation(({ ctx, input }) => deleteApp(ctx, input)),

  establishConnection: action(extApps, 'establish-connection', sessionUser)
    .meta(about('Agree to a connect request: links the user of the app to the caller.'))
    .input(consent)
    .mutation(async ({ ctx, input }) => ({ data: [toRecord(ctx, await linkApp(ctx, input), input.connectRequest)] })),

  links: rowAction(extApps, 'link', sessionUser)
    .meta(about("List the caller's own links with an app."))
    .input(z.strictObject({ id: resourceId }))
    .query(async ({ ctx, input: { id } }) => ({
      meta: { links: await ctx.services.sql(listOwnLinks, [ctx.caller.person.id, Number(id)]) },
    })),

  endLinks: rowActionEnd(extApps, 'link', sessionUser)
    .meta(about("End the caller's links with an app, and its running calls for them."))
    .input(z.strictObject({ id: resourceId }))
    .mutation(async ({ ctx, input: { id } }) => {
      const ended = await endAppLinks(ctx, Number(id), { userId: ctx.caller.person.id })
      if (ended === 0) throw new Problem('not_found', { detail: 'You have no link with this app.' })
      return { meta: { ended } }
    }),

  rotateCredential: rowAction(extApps, 'rotate-credential', sensitiveAdministrator)
    .meta(about('Create another credential of an app. Its earlier credentials work for a limited time.'))
    .input(rotation)
    .mutation(async ({ ctx, input }) => ({ meta: { credential: await rotateCredential(ctx, input) } })),

  /** Brings the apps into line with the parsed file. */
  sync: host.input(appsFile).mutation(({ ctx, input }) => syncApps(ctx, input)),

  overview: adminSession.query(({ ctx }) => ctx.services.sql(listApps)),

  /** Returns an app with the metadata of its credentials. */
  show: adminSession.input(z.strictObject({ id: resourceId })).query(async ({ ctx: { services }, input }) => {
    const [app] = await services.sql(showApp, [Number(input.id)])
    if (!app) throw new Problem('not_found', { detail: `There is no app with the id ${input.id}.` })
    return { ...app, credentials: await services.sql(listCredentials, [app.id]) }
  }),
})

/** Requires a browser session: tokens cannot agree, so connect requests do not exist for them. */
function requireBrowser(ctx: ConsentContext, id: string): ConsentContext {
  if (!ctx.browser) throw createNotFoundProblem(extApps, id)
  return ctx
}
