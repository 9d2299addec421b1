import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { type AppToConnect, shareApp } from '../../entities/apps/ext-app.sql.ts'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { useConnectRequest } from '../../entities/apps/ext-app-connect-request.sql.ts'
import { lockLink } from '../../entities/apps/ext-app-link.sql.ts'
import { ExtAppLink } from '../../entities/apps/ext-app-link.ts'
import { deleteToken } from '../../entities/identity/access-token.sql.ts'
import { AccessToken } from '../../entities/identity/access-token.ts'
import { hashSecret, mintSecret, writeToken } from '../../entities/identity/token-format.ts'
import { User } from '../../entities/identity/user.ts'
import { changing } from '../core/changes.ts'
import { actorOf } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { OpenedRequest } from '../ports/connect-requests.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { translateConstraintError } from '../verbs/constraint-errors.ts'
import { makeKeyPair, parseKey } from './app-key.ts'
import { type Deciding, MAX_REQUEST, openConnectRequest } from './connect-request.ts'
import { abilitiesOfApps } from './ext-app.ts'

const sealedText = z.string().regex(/^[A-Za-z0-9+/=|]+$/, 'must be a sealed text')

export const consent = z.strictObject({
  connectRequest: z.string().min(1).max(MAX_REQUEST),
  passkey: sealedText
    .max(4096)
    .nullable()
    .default(null)
    .describe("The person's passkey, sealed by their browser for the key of the app; null for a link without keys."),
  abilities: abilitiesOfApps.optional().describe('What the app may do: all it asks for, or less.'),
})
type Consent = z.output<typeof consent>

/** Links the user of an app to the person who agrees; a link of the same person that is there is replaced. */
export async function establish(ctx: Deciding, given: Consent): Promise<AppToConnect> {
  const { request, app } = await openConnectRequest(ctx, given.connectRequest)
  assertOffered(app, given)
  const pair = given.passkey === null ? undefined : await makeKeyPair()
  await changing(ctx, async (em, changes) => {
    await holdApp(em, app)
    await answer(em, request, ctx.caller.person.id)
    changes.addEnded(await endEarlier(em, request, ctx.caller.person.id))
    const { token, text } = await addToken(em, app, { userId: ctx.caller.person.id, abilities: given.abilities })
    em.create(ExtAppLink, {
      app: em.getReference(ExtApp, Number(app.id)),
      externalId: request.extAppUserId,
      user: em.getReference(User, ctx.caller.person.id),
      token,
      passkey: given.passkey,
      apiToken: sealForApp(app.publicKey, text),
      privateKey: pair ? sealForApp(app.publicKey, pair.privateKey) : null,
    })
  }).catch(translateConstraintError)
  ctx.services.log.info({ ...actorOf(ctx), appId: Number(app.id) }, 'an external app was linked')
  return app
}

function assertOffered(app: AppToConnect, { passkey, abilities = [] }: Consent): void {
  if (app.needsKeys && passkey === null)
    throw new Problem('invalid', { issues: [{ path: ['passkey'], message: 'is needed by this app' }] })
  if (!abilities.every((ability) => app.abilities.includes(ability)))
    throw new Problem('invalid', { issues: [{ path: ['abilities'], message: 'must be some of those of the app' }] })
}

/** Nobody removes the app, or changes its key, before the link is there. */
async function holdApp(em: EntityManager, { id, publicKey }: AppToConnect): Promise<void> {
  const [held] = await runStatement(em, shareApp, [Number(id)])
  if (held?.key !== publicKey) throw new Problem('connect_request_invalid')
}

async function answer(em: EntityManager, { hash, expiresAt }: OpenedRequest, userId: number): Promise<void> {
  const [answered] = await runStatement(em, useConnectRequest, [hash, userId, expiresAt])
  if (!answered) throw new Problem('connect_request_invalid')
}

async function endEarlier(
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
const DAY_MS = 86_400_000

async function addToken(
  em: EntityManager,
  app: AppToConnect,
  { userId, abilities = app.abilities }: { userId: number; abilities?: Consent['abilities'] },
) {
  const secret = mintSecret()
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

/** Seals a text so that only the app can open it: AES-256-GCM, and its key by RSA-OAEP with SHA-256, in the form of the browsers. */
function sealForApp(publicKey: string, plain: string): string {
  const [key, iv] = [randomBytes(32), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const wrapped = publicEncrypt({ key: parseKey(publicKey), padding, oaepHash: 'sha256' }, key)
  const text = [iv, cipher.getAuthTag(), sealed].map(base64).join('|')
  return [base64(wrapped), text].map(base64).join('|')
}
