import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { limitCredentials } from '../../entities/apps/credential-owner.sql.ts'
import { ExtApp, ExtAppCredential } from '../../entities/apps/ext-app.ts'
import { generateSecret, hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { resourceId } from '../resource/ids.ts'
import { lockRow } from '../verbs/lock-row.ts'
import { credentialEnd, extApps } from './ext-app.ts'

/** A new credential of an app. Its text is returned once and cannot be restored from its hash. */
export interface NewCredential {
  id: number
  text: string
}

/** Adds a credential to an app. */
export async function addCredential(
  em: EntityManager,
  appId: number,
  expiresAt: string | null,
): Promise<NewCredential> {
  const secret = generateSecret()
  const app = em.getReference(ExtApp, appId)
  const credential = em.create(ExtAppCredential, {
    app,
    hash: hashSecret(secret),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  })
  await em.flush()
  return { id: credential.id, text: writeToken({ id: credential.id, secret, kind: 'app' }) }
}

const MINUTE_MS = 60_000
const WEEK_MINUTES = 7 * 24 * 60

const overlapMinutes = z
  .int()
  .min(0)
  .max(WEEK_MINUTES)
  .default(60)
  .describe('The number of minutes for which earlier credentials still work. Send 0 if one has leaked.')

export const rotation = z.strictObject({ id: resourceId, overlapMinutes, expiresAt: credentialEnd.default(null) })

/** Adds a credential to an app and lets its earlier credentials expire. */
export async function rotateCredential(ctx: Context, input: z.output<typeof rotation>): Promise<string> {
  const { id, overlapMinutes, expiresAt } = input
  const appId = Number(id)
  const credential = await withChangeLog(ctx, async (em) => {
    await lockRow(ctx, em, extApps, { id, verb: 'update' })
    await runStatement(em, limitCredentials, [appId, new Date(Date.now() + overlapMinutes * MINUTE_MS)])
    return addCredential(em, appId, expiresAt)
  })
  const details = { ...describeActor(ctx), appId, credentialId: credential.id, overlapMinutes, expiresAt }
  ctx.services.log.info(details, 'the credential of an external app was rotated')
  return credential.text
}
